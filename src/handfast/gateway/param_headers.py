"""What a tool wants repeated in headers: compared on the way in, written on the way out."""

import msgspec

from handfast.gateway.http_exchange import Headers
from handfast.gateway.server_side import ServerSide
from handfast.wire.headers import find_param_mismatch, render_headers, render_params
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.scan import NotJson


def param_mismatch(server: ServerSide, headers: Headers, message: Message) -> str | None:
    """What to say when an argument and the header that repeats it differ."""
    schema = _input_schema(server, message)
    return None if schema is None else find_param_mismatch(headers, _arguments(message), schema)


def modern_headers(server: ServerSide, message: Message) -> Headers:
    """All headers that a modern request needs."""
    try:
        headers = render_headers(message)
        schema = _input_schema(server, message)
        return headers if schema is None else headers + render_params(_arguments(message), schema)
    except (AmbiguousKeys, NotJson):
        return []  # the server will say what is wrong with it


def _input_schema(server: ServerSide, message: Message) -> bytes | None:
    if message.method != "tools/call":
        return None
    try:
        name = msgspec.json.decode(message.params()["name"], type=str)
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    found = server.learner.contracts.find(name)
    return None if found is None else found.contract.input_schema


def _arguments(message: Message) -> bytes | None:
    arguments = message.params().get("arguments")
    return None if arguments is None else bytes(arguments)
