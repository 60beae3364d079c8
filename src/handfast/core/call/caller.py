"""The caller of a request: one object that goes with it from the client's connection to its record. Pure."""

from collections.abc import Hashable
from functools import lru_cache
from hashlib import sha256
from ipaddress import ip_address

import msgspec

from handfast.core.access.identity import Identity


class Caller(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The party for which a request is made.

    An authenticated caller is its actor. Without authentication each session is one caller, and requests without a
    session belong to the same caller if their peer address and clientInfo are the same.
    """

    actor: str = ""  # from authentication; a client cannot choose it
    session: str = ""  # the id of its session
    peer: str = ""  # the address of its connection, without the port, which every connection changes
    client: bytes = b""  # its clientInfo, as it was sent
    _digest: str = ""
    identity: Identity | None = None  # of a caller who signed in; its rights are those of the request it came with

    @property
    def key(self) -> Hashable:
        """The key for counting turns and refusals; it is not stored, so it needs no digest of the client's name."""
        if self.actor:
            return self.actor
        return (self.session,) if self.session else (self.peer, self.client)

    @property
    def name(self) -> str:
        """The name under which this caller's own things are kept. Sessions of one actor have different names.

        The prefixes keep apart actors, digests and session ids, which clients may choose at some servers.
        """
        if self.session:
            return f"session {self.session}"
        return f"actor {self.actor}" if self.actor else self._digest_of_client()

    @property
    def address(self) -> str:
        """The key for counting room: shared by all callers at one network address, whatever their clientInfo.

        An actor counts as itself from any address. On loopback, where all have one address, clientInfo counts too.
        """
        if self.actor:
            return self.actor
        return network_of(self.peer) or (
            self._digest_of_client() if self.peer or self.client or self._digest else self.session
        )

    @property
    def label(self) -> str:
        """The caller's label in records: never a session id itself, which a reader of the records could use."""
        if self.actor or not (self.session or self.peer or self.client):
            return self.actor
        return sha256(self.name.encode()).hexdigest()[:16]

    @property
    def is_one_client(self) -> bool:
        """Whether one client makes all its requests. Without a session, equal clients at one address are one caller."""
        return bool(self.session)

    def introduced(self, client: bytes) -> "Caller":
        """The same caller with its clientInfo, which counts only for a caller without actor and session."""
        if self.actor or self.session or client == self.client:
            return self
        return Caller(peer=self.peer, client=client)

    def in_session(self, session: str) -> "Caller":
        """The same caller in a session. Keeps a digest of its clientInfo, which may be too long to hold that long."""
        digest = self._digest_of_client() if self.peer or self.client else self._digest
        return Caller(actor=self.actor, session=session, peer=self.peer, _digest=digest, identity=self.identity)

    def signed_in(self, identity: Identity) -> "Caller":
        """The caller on the same connection as this one, once it has shown who it is."""
        return Caller(actor=identity.actor, peer=self.peer, identity=identity)

    def with_rights_of(self, request: "Caller") -> "Caller":
        """The same caller with the rights of one of its requests: in one session the tokens may change."""
        if self.identity is request.identity:
            return self
        return msgspec.structs.replace(self, identity=request.identity)

    def _digest_of_client(self) -> str:
        """A digest of address and clientInfo, whose length a client chooses; computed on first use."""
        if not self._digest:
            digest = sha256(b"%b %b" % (self.peer.encode(), self.client)).hexdigest()
            msgspec.structs.force_setattr(self, "_digest", digest)
        return self._digest


ANYONE = Caller()


@lru_cache(maxsize=1024)
def network_of(peer: str) -> str:
    """The network that connections of one client are counted by; empty for loopback, where a proxy or a user connects.

    An IPv6 client has at least a /64 network to itself, so a /64 counts as one.
    """
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return ""  # a socket without addresses is on this machine
    mapped = getattr(address, "ipv4_mapped", None) or address
    if mapped.is_loopback:
        return ""
    return str(mapped) if mapped.version == 4 else mapped.packed[:8].hex()
