"""Which era a client's request over HTTP is of."""

from handfast.gateway.http_exchange import HttpExchange
from handfast.wire.eras import MODERN_REVISION, says_modern
from handfast.wire.message import Message


def is_modern(http: HttpExchange, message: Message) -> bool:
    """By what the message says of itself; by its header alone it may be modern too, and lack what it must say."""
    if says_modern(message):
        return True
    # A client that falls back to the handshake may still send the header of its first attempt.
    if message.method == "initialize" or not message.is_request:
        return False
    return http.header(b"mcp-protocol-version") == MODERN_REVISION.encode()
