"""How a gateway keeps its memory, so that large messages of one caller cost others neither time nor room."""

import contextlib
import ctypes
import gc
from typing import Final

_M_MMAP_THRESHOLD: Final = -3  # of glibc's mallopt
_M_TRIM_THRESHOLD: Final = -1
# Left to itself glibc learns to keep freed buffers of any size, which then lie in pieces between small ones: five
# seconds of abandoned bodies left twice the memory in use. Where each buffer is given back at once, copying a megabyte
# takes ten times as long, in page faults.
_LARGE_BUFFER: Final = 4 * 1024 * 1024


def settle_memory() -> None:
    """Give large buffers back to the system when they are freed, and leave out what stays from every collection."""
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGE_BUFFER)
        libc.mallopt(_M_TRIM_THRESHOLD, _LARGE_BUFFER)
    gc.freeze()  # without this every full collection stops the loop to look at all modules again
