"""Which era of the protocol a server speaks, as far as its relay and its endpoint need to know."""

import asyncio
from collections.abc import Awaitable
from typing import Final, Protocol

from handfast.wire.eras import is_discovery
from handfast.wire.message import Message

_PROBE_SECONDS: Final = 10.0  # a server that is silent for so long does not know the method


class EraRefused(Exception):
    """The server does not accept the handshake of this era."""


class ServerEra(Protocol):
    """What is known of one server's era, or can be found out by asking it."""

    async def is_modern(self) -> bool:
        """Whether it answers requests of the modern revision. Raises: UpstreamFailed."""

    async def is_only_modern(self) -> bool:
        """Whether it accepts no handshake. Raises: UpstreamFailed."""

    def note_refused_handshake(self) -> None:
        """Notes that the server refused a handshake."""


async def find_modern(answer: Awaitable[Message]) -> bool:
    """Whether a server speaks the modern revision, by its answer to `server/discover`. Raises: TimeoutError."""
    async with asyncio.timeout(_PROBE_SECONDS):
        return is_discovery(await answer)
