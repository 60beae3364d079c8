"""Who calls: one object that goes with a request from the client's connection to its record. Pure."""

from collections.abc import Hashable
from functools import lru_cache
from hashlib import sha256
from ipaddress import ip_address

import msgspec


class Caller(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """For whom a request is made.

    Authenticated it is its actor. Without that a session is its own caller, and requests without a session are those of
    one caller where the peer's address and what the client calls itself are the same.
    """

    actor: str = ""  # as authentication gives it; a client cannot write it
    session: str = ""  # the id of its session
    peer: str = ""  # the address of its connection, without the port, which every connection changes
    client: bytes = b""  # its clientInfo, as it was sent
    _digest: str = ""

    @property
    def key(self) -> Hashable:
        """What turns and refusals are counted by; no digest is made of a name that is kept nowhere."""
        if self.actor:
            return self.actor
        return (self.session,) if self.session else (self.peer, self.client)

    @property
    def name(self) -> str:
        """What belongs to this caller alone is kept under it. Sessions of one actor are told apart.

        A client can choose the id of a session where its server takes any, so no id is another's actor or digest.
        """
        if self.session:
            return f"session {self.session}"
        return f"actor {self.actor}" if self.actor else self._digest_of_client()

    @property
    def address(self) -> str:
        """Whose room counts together: all callers at one address, whatever they call themselves.

        On loopback everybody has the same address, and an actor is one wherever it comes from.
        """
        if self.actor:
            return self.actor
        return network_of(self.peer) or (
            self._digest_of_client() if self.peer or self.client or self._digest else self.session
        )

    @property
    def label(self) -> str:
        """What records tell it apart by: no id of a session, which would let their reader use it."""
        if self.actor or not (self.session or self.peer or self.client):
            return self.actor
        return sha256(self.name.encode()).hexdigest()[:16]

    def introduced(self, client: bytes) -> "Caller":
        """The same caller with its clientInfo, which tells apart only those that have nothing else."""
        if self.actor or self.session or client == self.client:
            return self
        return Caller(peer=self.peer, client=client)

    def in_session(self, session: str) -> "Caller":
        """Its clientInfo, which may be long, is not kept for as long as a session is."""
        digest = self._digest_of_client() if self.peer or self.client else self._digest
        return Caller(actor=self.actor, session=session, peer=self.peer, _digest=digest)

    def _digest_of_client(self) -> str:
        """A client may call itself anything of any length. Made when it is first asked for."""
        if not self._digest:
            digest = sha256(b"%b %b" % (self.peer.encode(), self.client)).hexdigest()
            msgspec.structs.force_setattr(self, "_digest", digest)
        return self._digest


ANYONE = Caller()


@lru_cache(maxsize=1024)
def network_of(peer: str) -> str:
    """What one client's connections are counted by; nothing for this machine, where a proxy or a person starts them.

    Of IPv6 a client has at least 64 bits for itself, so those count as one.
    """
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return ""  # a socket without addresses is on this machine
    mapped = getattr(address, "ipv4_mapped", None) or address
    if mapped.is_loopback:
        return ""
    return str(mapped) if mapped.version == 4 else mapped.packed[:8].hex()
