"""The HTTP headers of 2026-07-28 that repeat what the body says, checked where the server cannot see them itself."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from handfast.core.call.strict_json import Ambiguous, decode_arguments
from handfast.wire.codes import HEADER_MISMATCH, INVALID_PARAMS
from handfast.wire.eras import META_CAPABILITIES, META_VERSION, MODERN_REVISION
from handfast.wire.members import text_member
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.methods import ABOUT, MUST_NAME
from handfast.wire.replies import error_reply
from handfast.wire.scan import NotJson

# A property of an input schema that carries this is repeated in the header Mcp-Param-{its value}.
_MARK: Final = "x-mcp-header"
_LARGEST_SCHEMA: Final = 256 * 1024  # that is read with every call; a tool's takes a hundredth of it
_MARKED_TYPES: Final = ("string", "integer", "boolean")  # compared, not looked up: a schema may say anything there
_PLAIN: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?|")  # spaces at the ends would be lost on the way
_VERSION_KEY: Final = META_VERSION.encode()
_NONE_GIVEN: Final = (None, None, None)
_DIFFERS: Final = "The header {} differs from the body. Send both with the same value."
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2


def check_envelope(message: Message) -> bytes | None:
    """The error to answer with HTTP 400 when a modern request does not say what each of them must."""
    try:
        meta = message.meta()
    except (AmbiguousKeys, NotJson):
        return None  # the conversation refuses it with a better word
    missing = [key for key in (META_VERSION, META_CAPABILITIES) if key not in meta]
    if not missing:
        return None
    text = f"params._meta lacks {' and '.join(missing)}. Add what is missing and send the request again."
    return error_reply(message.id, INVALID_PARAMS, text)


def check_modern_headers(headers: list[tuple[bytes, bytes]], message: Message) -> bytes | None:
    """The error to answer with HTTP 400 when a header is missing or says something else than the body."""
    given = dict(headers)
    try:
        expected = {b"mcp-protocol-version": text_member(message.meta(), META_VERSION), b"mcp-method": message.method}
        if message.method in MUST_NAME:
            expected[b"mcp-name"] = text_member(message.params(), MUST_NAME[message.method])
    except (AmbiguousKeys, NotJson):
        return None  # the conversation refuses it with a better word
    for name, value in expected.items():
        if value is not None and decode_header(given.get(name, b"")) != value:
            text = f"The header {name.decode()} is missing or differs from the body. Send both with the same value."
            return error_reply(message.id, HEADER_MISMATCH, text)
    return None


def find_mismatch(header: Callable[[bytes], bytes | None], message: Message) -> str | None:
    """What to say when a header is there and says something else than the body."""
    given = header(b"mcp-method"), header(b"mcp-name"), header(b"mcp-protocol-version")
    if given == _NONE_GIVEN:
        return None
    method, name, version = given
    said = message.method
    try:
        if method is not None and (said is None or _decoded(method) != said):
            return _DIFFERS.format("Mcp-Method")
        if name is not None and (said is None or said in ABOUT):
            called = text_member(message.params(), ABOUT.get(said or "", ""))
            if called is None or _decoded(name) != called:
                return _DIFFERS.format("Mcp-Name")
        if version is not None and (_VERSION_KEY in message.raw or b"\\" in message.raw):
            named = text_member(message.meta(), META_VERSION)
            if named is not None and _decoded(version) != named:
                return _DIFFERS.format("MCP-Protocol-Version")
    except (AmbiguousKeys, NotJson):
        pass  # the conversation refuses it with a better word
    return None


def render_headers(message: Message) -> list[tuple[bytes, bytes]]:
    """The headers that say again what a modern request says. Raises: AmbiguousKeys, NotJson."""
    headers = [
        (b"mcp-protocol-version", MODERN_REVISION.encode()),
        (b"mcp-method", encode_header(message.method or "")),
    ]
    name = text_member(message.params(), ABOUT.get(message.method or "", ""))
    if name is not None:
        headers.append((b"mcp-name", encode_header(name)))
    return headers


def render_params(arguments: bytes | None, schema: bytes) -> list[tuple[bytes, bytes]]:
    """The headers for the arguments that the input schema wants in one."""
    declared = _read_marked(schema)
    if declared is None:
        return []
    try:
        given = decode_arguments(arguments or b"{}")
    except Ambiguous:
        return []
    found = ((token, _value_at(given, path)) for path, token in _marked(declared))
    return [
        (b"mcp-param-" + token.lower().encode(), encode_header(_spelt(value)))
        for token, value in found
        if isinstance(value, str | int | float)
    ]


def _read_marked(schema: bytes) -> object:
    """The schema, if it may want arguments in headers; of one that is too large for a call to read it does not."""
    if len(schema) > _LARGEST_SCHEMA or _MARK.encode() not in schema:
        return None
    try:
        return msgspec.json.decode(schema)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _spelt(value: str | int | float) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def find_param_mismatch(headers: list[tuple[bytes, bytes]], arguments: bytes | None, schema: bytes) -> str | None:
    """What to say when an argument that the input schema wants in a header is not there, or not the same there."""
    declared = _read_marked(schema)
    if declared is None:
        return None
    try:
        given = decode_arguments(arguments or b"{}")
    except Ambiguous:
        given = None  # cannot be compared, so no header can agree with it
    for path, token in _marked(declared):
        name = b"mcp-param-" + token.lower().encode()
        if not _agrees([value for key, value in headers if key == name], _value_at(given, path)):
            return (
                f"The header Mcp-Param-{token} is missing or differs from the argument. Send both with the same value."
            )
    return None


def _marked(schema: object) -> Iterator[tuple[tuple[str, ...], str]]:
    """Properties under nothing but properties; a mark anywhere else means nothing."""
    waiting: list[tuple[tuple[str, ...], object]] = [((), schema)]
    while waiting:
        path, found = waiting.pop()
        if not isinstance(found, dict):
            continue
        token = found.get(_MARK)
        if path and isinstance(token, str) and _TOKEN.fullmatch(token) and found.get("type") in _MARKED_TYPES:
            yield path, token
        properties = found.get("properties")
        if isinstance(properties, dict):
            waiting += [((*path, name), inner) for name, inner in properties.items()]


def _value_at(arguments: object, path: tuple[str, ...]) -> object:
    for name in path:
        if not isinstance(arguments, dict):
            return None
        arguments = arguments.get(name)
    return arguments


def _agrees(sent: list[bytes], value: object) -> bool:
    """An argument that is absent, null, or not a scalar has no header; any other has one, and it says the same."""
    if not isinstance(value, str | int | float):
        return not sent
    text = _decoded(sent[0]) if len(sent) == 1 else None
    if text is None or isinstance(value, str):
        return text == value
    if isinstance(value, bool):
        return text == ("true" if value else "false")
    try:
        return msgspec.json.decode(text, type=int | float) == value  # 42.0 is 42
    except msgspec.DecodeError:
        return False


def encode_header(text: str) -> bytes:
    """What is not plain visible ASCII, or looks as if it were encoded, travels as =?base64?…?=."""
    if _PLAIN.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text.encode()
    return b"=?base64?" + base64.b64encode(text.encode(errors="surrogatepass")) + b"?="


def decode_header(value: bytes) -> str:
    """A header's value, empty when it cannot be read; what is not plain ASCII travels as =?base64?…?=."""
    return _decoded(value) or ""


def _decoded(value: bytes) -> str | None:
    """None for what may be read in more than one way: a byte beyond ASCII is one letter or half of one."""
    if not value.isascii():
        return None
    if not (value.startswith(b"=?base64?") and value.endswith(b"?=")):
        return value.decode().strip(" \t")
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
