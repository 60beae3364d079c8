"""Headers that repeat what the body says: compared on the way in, written on the way out."""

from handfast.core.call import rules
from handfast.core.call.exchange import Status
from handfast.core.words.redaction import scrub_name
from handfast.gateway.calls.conversation import Conversation
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.http.exchange import Headers, HttpExchange
from handfast.wire.codes import HEADER_MISMATCH
from handfast.wire.headers import find_mismatch, find_param_mismatch, render_headers, render_params
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.replies import error_reply
from handfast.wire.scan import NotJson


def refuse_mismatch(server: ServerSide, http: HttpExchange, message: Message) -> bytes | None:
    """Returns the error for HTTP 400 if a header contradicts the body; headers that are missing do not matter.

    A server may go by either, so both must agree. The refusal is recorded, that of a call as that call.
    """
    text = find_mismatch(http.by_name.get, message)
    if text is None:
        return None
    tool = message.called_tool()
    if tool is None:
        server.journal.diagnose(server.name, rules.MESSAGE_HEADER_MISMATCH, text)
    else:
        policy = server.policy_of(tool)
        call = server.path.open(server=server.name, tool=scrub_name(tool), policy=policy, caller=http.caller)
        server.path.conclude(call, Status.BLOCKED, rule=rules.MESSAGE_HEADER_MISMATCH, reason=text, refusal=())
    return error_reply(message.id, HEADER_MISMATCH, text)


def refuse_param_mismatch(
    server: ServerSide, conversation: Conversation, headers: Headers, message: Message
) -> bytes | None:
    """As `refuse_mismatch`, for the arguments of a call that the conversation let pass."""
    text = param_mismatch(server, headers, message)
    if text is None or message.id is None:
        return None
    pending = conversation.open_requests.pop(message.id)
    return conversation.fail(message.id, pending, text, code=HEADER_MISMATCH, rule=rules.MESSAGE_HEADER_MISMATCH)


def param_mismatch(server: ServerSide, headers: Headers, message: Message) -> str | None:
    """Returns an error text if an argument and the header that repeats it differ."""
    schema = _input_schema(server, message)
    return None if schema is None else find_param_mismatch(headers, _arguments(message), schema)


def modern_headers(server: ServerSide, message: Message) -> Headers:
    """All headers that a modern request needs."""
    try:
        headers = render_headers(message)
        schema = _input_schema(server, message)
        return headers if schema is None else headers + render_params(_arguments(message), schema)
    except (AmbiguousKeys, NotJson):
        return []  # the server will say what is wrong with the message


def _input_schema(server: ServerSide, message: Message) -> bytes | None:
    name = message.called_tool()
    found = server.learner.contracts.find(name) if name is not None else None
    return None if found is None else found.contract.input_schema


def _arguments(message: Message) -> bytes | None:
    arguments = message.params().get("arguments")
    return None if arguments is None else bytes(arguments)
