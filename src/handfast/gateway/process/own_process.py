"""Resources of the gateway's own process: raises the limit on open files, and returns freed memory to the system."""

import contextlib
import ctypes
import gc
from typing import Final

_ENOUGH = 65_536  # clients, upstream connections and pipes of the largest settings; more only costs the kernel memory
_BESIDES = 128  # the store, the catalog, pipes of children, what is loaded
_M_MMAP_THRESHOLD: Final = -3  # of glibc's mallopt
_M_TRIM_THRESHOLD: Final = -1
# By default glibc learns to keep freed buffers of any size, which then lie in pieces between small ones: five seconds
# of abandoned bodies left twice the memory in use. If it returned every buffer at once, copying a megabyte would take
# ten times as long, in page faults.
_LARGE_BUFFER: Final = 4 * 1024 * 1024


def raise_open_files(*, connections: int, calls: int) -> str | None:
    """Raises the soft limit as far as possible; returns a warning if it is too low for what the settings allow."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):  # macOS has a second, lower limit of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    needed = connections + calls + _BESIDES  # a call may be a connection to a server
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return None
    return (
        f"only {soft} files may be open at once, and {connections} connections with {calls} calls need {needed}."
        " Raise the limit (ulimit -n), or lower limits.connections."
    )


def settle_memory() -> None:
    """Sets up memory so that large messages of one caller cost others neither time nor room.

    Returns large buffers to the system when they are freed, and leaves what is loaded out of every garbage collection.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library than glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGE_BUFFER)
        libc.mallopt(_M_TRIM_THRESHOLD, _LARGE_BUFFER)
    gc.freeze()  # without this every full collection stops the loop to look at all modules again
