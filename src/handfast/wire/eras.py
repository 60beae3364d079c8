"""The two eras: legacy revisions begin with a handshake, modern ones name revision and client in every request."""

from collections.abc import Mapping
from typing import Final

import msgspec

from handfast import __version__
from handfast.wire.codes import HEADER_MISMATCH, METHOD_NOT_FOUND
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.scan import NotJson

MODERN_REVISION: Final = "2026-07-28"
_MODERN_HEADER: Final = MODERN_REVISION.encode()
LEGACY_REVISION: Final = "2025-11-25"  # the revision that handfast itself requests from a legacy server
LEGACY_REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", LEGACY_REVISION)
META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
META_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
META_SERVER: Final = "io.modelcontextprotocol/serverInfo"
# The `_meta` of requests that handfast sends on its own account.
MODERN_META: Final[Mapping[str, object]] = {
    META_VERSION: MODERN_REVISION,
    META_CAPABILITIES: {},
    META_CLIENT: {"name": "handfast", "version": __version__},
}
# HeaderMismatch, MissingRequiredClientCapability, UnsupportedProtocolVersion.
_UNSUPPORTED_VERSION: Final = -32022
_BAD_REQUEST: Final = frozenset((HEADER_MISMATCH, -32021, _UNSUPPORTED_VERSION))


def says_modern(message: Message) -> bool:
    """Whether a message names its protocol revision in `_meta`."""
    try:
        return message.may_mention(META_VERSION) and META_VERSION in message.meta()
    except (AmbiguousKeys, NotJson):
        return False


def is_modern(message: Message, version: bytes | None, session: bytes | None = None) -> bool:
    """Whether a message over HTTP comes from a modern client, by the message and its version and session headers.

    In a session it is legacy. Else it is modern if its `_meta` says so, or its header alone, which later checks refuse.
    """
    if session is not None:
        return False
    if says_modern(message):
        return True
    # A client that falls back to the handshake may still send the header of its first attempt.
    if message.method == "initialize" or not message.is_request:
        return False
    return version == _MODERN_HEADER


def opens_modern(message: Message) -> bool | None:
    """Whether a stdio client is modern, by the first message that it sends; None if that message does not show it."""
    if says_modern(message):
        return True
    return False if message.method == "initialize" else None


class _Supported(msgspec.Struct):
    supported: list[str]


class _VersionError(msgspec.Struct):
    data: _Supported


class _VersionRefused(msgspec.Struct):
    error: _VersionError


def is_discovery(answer: Message) -> bool:
    """Whether an answer to `server/discover` names the modern revision as supported; an error may do so too."""
    try:
        if answer.error_code() == _UNSUPPORTED_VERSION:
            return MODERN_REVISION in msgspec.json.decode(answer.raw, type=_VersionRefused).error.data.supported
        versions = (answer.result() or {}).get("supportedVersions", msgspec.Raw(b"[]"))
        return MODERN_REVISION in msgspec.json.decode(versions, type=list[str])
    except (AmbiguousKeys, NotJson, msgspec.DecodeError):
        return False


def http_status(answer: Message) -> int:
    """The HTTP status that 2026-07-28 prescribes for an answer: errors of the envelope have their own status."""
    if not answer.has_error:
        return 200
    code = answer.error_code()
    if code == METHOD_NOT_FOUND:
        return 404
    return 400 if code in _BAD_REQUEST else 200
