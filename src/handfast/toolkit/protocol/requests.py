"""One message of a client, read and judged as far as its own era asks: what is left is a request to be answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from handfast.core.call.strict_json import Ambiguous, decode_judged
from handfast.toolkit.protocol.replies import HEARD, Fault, Reply, failed, refused
from handfast.wire.codes import INVALID_PARAMS, INVALID_REQUEST, UNSUPPORTED_VERSION
from handfast.wire.eras import LEGACY_REVISIONS, MODERN_REVISION, is_modern
from handfast.wire.members import member
from handfast.wire.message import BadMessage, Message, read_message
from handfast.wire.modern_request import find_ambiguity, find_fault, find_legacy_method

Headers = list[tuple[bytes, bytes]]  # the names in lower case

SUPPORTED: Final[Sequence[str]] = (MODERN_REVISION, *reversed(LEGACY_REVISIONS))
_KNOWN: Final = frozenset(revision.encode() for revision in SUPPORTED)
_LEGACY: Final = frozenset(revision.encode() for revision in LEGACY_REVISIONS)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that says all it must."""

    message: Message
    is_modern: bool
    headers: Headers


def version_of(headers: Headers) -> bytes | None:
    return next((value for name, value in headers if name == b"mcp-protocol-version"), None)


def read_request(raw: bytes, headers: Headers) -> Asked | Reply:
    """The request, or what to answer in its place."""
    try:
        message = read_message(raw)
    except BadMessage as problem:
        return refused(problem.id, problem.code, problem.reason)
    if not message.is_version_2:
        return refused(message.id, INVALID_REQUEST, 'The message is not of JSON-RPC 2.0. Send "jsonrpc": "2.0".')
    if isinstance(message.id, float):
        return refused(None, INVALID_REQUEST, "The id must be a string or a whole number.")
    version = version_of(headers)
    if not message.is_request:
        return _heard(message, version)
    if is_modern(message, version):
        return _find_modern_fault(message, headers) or Asked(message, True, headers)
    return _find_legacy_fault(message, version) or Asked(message, False, headers)


def _heard(message: Message, version: bytes | None) -> Reply:
    if version is not None and version not in _KNOWN:
        return _unsupported(message, version)
    if message.is_answer and version == MODERN_REVISION.encode():
        text = "A modern server asks nothing, so there is nothing to answer. Send a request."
        return refused(None, INVALID_REQUEST, text)
    return HEARD


def _find_modern_fault(message: Message, headers: Headers) -> Reply | None:
    if fault := find_fault(message, headers, SUPPORTED):
        return Reply(400, fault)
    if missing := find_legacy_method(message):
        return Reply(404, missing)
    return _find_ambiguity(message)


def _find_legacy_fault(message: Message, version: bytes | None) -> Reply | None:
    # A client that falls back to the handshake may still send the header of its first attempt.
    if version is not None and version not in _LEGACY and message.method != "initialize":
        return _unsupported(message, version)
    if fault := find_ambiguity(message):
        return Reply(400, fault)
    meta = member(message.params(), "_meta")
    if meta is not None and not meta.startswith(b"{"):
        return failed(message.id, Fault(INVALID_PARAMS, "params._meta must be an object."), is_modern=False)
    return _find_ambiguity(message)


def _find_ambiguity(message: Message) -> Reply | None:
    """Anywhere but in the arguments of a call: those are judged on the one path, which puts a refusal on record."""
    try:
        if message.method == "tools/call":
            for name, value in message.params().items():
                if name != "arguments":
                    decode_judged(bytes(value))
        else:
            decode_judged(message.raw)
    except Ambiguous as problem:
        return refused(message.id, INVALID_REQUEST, f"The request is ambiguous: {problem}. Send plain JSON.")
    return None


def _unsupported(message: Message, version: bytes) -> Reply:
    text = "This MCP-Protocol-Version is not spoken here. Choose one of those in data.supported."
    data = {"supported": list(SUPPORTED), "requested": version.decode("latin-1")}
    return refused(message.id, UNSUPPORTED_VERSION, text, data=data)
