"""Which era of the protocol a server speaks, as far as its relay and its endpoint need to know."""

from typing import Protocol


class EraRefused(Exception):
    """The server will not have this era's way of beginning."""


class ServerEra(Protocol):
    """What is known of one server's era, or can be found out by asking it."""

    async def is_modern(self) -> bool:
        """Whether it answers requests of the modern revision. Raises: UpstreamFailed."""

    async def is_only_modern(self) -> bool:
        """Whether it will have no handshake. Raises: UpstreamFailed."""

    def note_refused_handshake(self) -> None:
        """The server refused a handshake."""
