"""Who calls: the one name that tasks, states, turns and room are counted by.

An authenticated actor is the caller as it is. Without one, a session is its own caller, and requests without a session
are those of one caller where the peer's address and the client's `clientInfo` are the same.
"""

from functools import lru_cache
from hashlib import sha256
from ipaddress import ip_address
from typing import NamedTuple, Protocol

from handfast.wire.eras import META_CLIENT
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.scan import NotJson


class Peer(Protocol):
    """The connection that a request came on."""

    @property
    def peer(self) -> str: ...
    @property
    def actor(self) -> str: ...


class Holder(NamedTuple):
    """Whose a task is."""

    name: str  # who was given it: the session, else the caller
    address: str  # whose room it takes


def caller_of(http: Peer, message: Message) -> str:
    """The caller of a request without a session. Raises: AmbiguousKeys, NotJson."""
    return http.actor or name_caller(http.peer, bytes(message.meta().get(META_CLIENT, b"")))


def address_of(peer: str, caller: str) -> str:
    """Whose room counts together: all callers at one address, whatever they call themselves.

    On loopback everybody has the same address, and an authenticated actor is one wherever it comes from: there it is
    the caller itself. Of IPv6 a client has at least 64 bits for itself, so those count as one.
    """
    return _network_of(peer) or caller


@lru_cache(maxsize=1024)
def _network_of(peer: str) -> str:
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return ""  # a socket without addresses is on this machine
    mapped = getattr(address, "ipv4_mapped", None) or address
    if mapped.is_loopback:
        return ""
    return str(mapped) if mapped.version == 4 else mapped.packed[:8].hex()


def address_of_request(http: Peer, message: Message) -> str:
    """Whose room a request without a session counts towards. Raises: AmbiguousKeys, NotJson."""
    return http.actor or address_of(http.peer, caller_of(http, message))


def address_of_peer(http: Peer) -> str:
    """Whose room it is where nothing but the connection is known: of a session that was opened before a restart."""
    return http.actor or address_of(http.peer, name_caller(http.peer, b""))


def address_of_opener(http: Peer, opening: Message) -> str:
    """Whose room a session counts towards, from its initialize."""
    if http.actor:
        return http.actor
    try:
        client = bytes(opening.params().get("clientInfo", b""))
    except (AmbiguousKeys, NotJson):
        client = b""  # it is refused where it is read
    return address_of(http.peer, name_caller(http.peer, client))


def name_caller(peer: str, client: bytes) -> str:
    """A digest, because a client may call itself anything of any length."""
    return sha256(b"%b %b" % (peer.encode(), client)).hexdigest()
