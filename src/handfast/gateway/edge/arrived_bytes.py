"""What the system knows of a connection that is not being read: how much waits, and whether more can come."""

import asyncio
import select
import sys
from math import inf

# Each loop says in its own way that a connection is closed.
_CLOSED = (OSError, ValueError, AttributeError)

if sys.platform == "linux":
    from fcntl import ioctl
    from termios import FIONREAD

    def count_arrived(transport: asyncio.Transport) -> float:
        """Bytes that can be read at once."""
        try:
            found = ioctl(transport.get_extra_info("socket").fileno(), FIONREAD, bytes(4))
        except _CLOSED:
            return inf
        return int.from_bytes(found, sys.byteorder)

    def has_closed(transport: asyncio.Transport) -> bool:
        """Whether the client has closed its side, also where there is something left to read."""
        try:
            asked = select.poll()
            asked.register(transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
            return bool(asked.poll(0))
        except _CLOSED:
            return True
else:

    def count_arrived(transport: asyncio.Transport) -> float:  # noqa: ARG001 - nothing tells it here
        """As many bytes as anybody asks for."""
        return inf

    def has_closed(transport: asyncio.Transport) -> bool:  # noqa: ARG001
        """It is found out by reading."""
        return False
