"""The protocol's two eras: legacy revisions open with a handshake, modern ones say who they are in every request."""

from typing import Final

from handfast.wire.codes import HEADER_MISMATCH, METHOD_NOT_FOUND
from handfast.wire.message import Message

MODERN_REVISION: Final = "2026-07-28"
LEGACY_REVISION: Final = "2025-11-25"  # what handfast itself asks a legacy server for
META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
# HeaderMismatch, MissingRequiredClientCapability, UnsupportedProtocolVersion.
_BAD_REQUEST: Final = frozenset((HEADER_MISMATCH, -32021, -32022))


def http_status(answer: Message) -> int:
    """The HTTP status that 2026-07-28 asks for with an answer: errors of the envelope have one of their own."""
    if not answer.has_error:
        return 200
    code = answer.error_code()
    if code == METHOD_NOT_FOUND:
        return 404
    return 400 if code in _BAD_REQUEST else 200
