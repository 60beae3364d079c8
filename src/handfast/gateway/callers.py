"""Who calls: the one name that tasks, states, turns and room are counted by.

An authenticated actor is the caller as it is. Without one, a session is its own caller, and requests without a session
are those of one caller where the peer's address and the client's `clientInfo` are the same.
"""

from hashlib import sha256
from typing import Protocol

from handfast.wire.eras import META_CLIENT
from handfast.wire.message import Message


class Peer(Protocol):
    """The connection that a request came on."""

    @property
    def peer(self) -> str: ...
    @property
    def actor(self) -> str: ...


def caller_of(http: Peer, message: Message) -> str:
    """The caller of a request without a session. Raises: AmbiguousKeys, NotJson."""
    return http.actor or name_caller(http.peer, bytes(message.meta().get(META_CLIENT, b"")))


def name_caller(peer: str, client: bytes) -> str:
    """A digest, because a client may call itself anything of any length."""
    return sha256(b"%b %b" % (peer.encode(), client)).hexdigest()
