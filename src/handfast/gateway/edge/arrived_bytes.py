"""How much of what a client has sent waits in the system to be read."""

import asyncio
import sys
from math import inf

if sys.platform == "win32":

    def count_arrived(transport: asyncio.Transport) -> float:  # noqa: ARG001 - nothing tells it here
        """As many bytes as anybody asks for."""
        return inf
else:
    from fcntl import ioctl
    from termios import FIONREAD

    def count_arrived(transport: asyncio.Transport) -> float:
        """Bytes that can be read at once."""
        try:
            found = ioctl(transport.get_extra_info("socket").fileno(), FIONREAD, bytes(4))
        except (OSError, ValueError, AttributeError):  # it is closed, which each loop says in its own way
            return inf
        return int.from_bytes(found, sys.byteorder)
