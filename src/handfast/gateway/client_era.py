"""Which era a client's request over HTTP is of."""

from handfast.gateway.http_exchange import HttpExchange
from handfast.wire.eras import META_VERSION, MODERN_REVISION
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.scan import NotJson


def is_modern(http: HttpExchange, message: Message) -> bool:
    """By what the message says of itself; by its header alone it may be modern too, and lack what it must say."""
    try:
        if message.may_mention(META_VERSION) and META_VERSION in message.meta():
            return True
    except (AmbiguousKeys, NotJson):
        return False
    # A client that falls back to the handshake may still send the header of its first attempt.
    if message.method == "initialize" or not message.is_request:
        return False
    return http.header(b"mcp-protocol-version") == MODERN_REVISION.encode()
