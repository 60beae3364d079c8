"""Identifies the caller, from its connection and from what the request says about its client."""

from typing import Protocol

from handfast.core.call.caller import Caller
from handfast.wire.eras import META_CLIENT
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.scan import NotJson


class Peer(Protocol):
    """The connection that a request came on."""

    @property
    def caller(self) -> Caller:
        """The caller, as far as it is known without reading the request."""


def caller_of(http: Peer, message: Message) -> Caller:
    """The caller of a request without a session. Raises: AmbiguousKeys, NotJson."""
    return http.caller.introduced(bytes(message.meta().get(META_CLIENT, b"")))


def opener_of(http: Peer, opening: Message) -> Caller:
    """The caller that opens a session, from its initialize."""
    try:
        client = bytes(opening.params().get("clientInfo", b""))
    except (AmbiguousKeys, NotJson):
        client = b""  # the request is refused where it is parsed
    return http.caller.introduced(client)
