"""How many files and sockets may be open: as many as the system lets us have, and a warning where that is too few."""

import contextlib

_ENOUGH = 65_536  # clients, upstream connections and pipes of the largest settings; more only costs the kernel memory
_BESIDES = 128  # the store, the catalog, pipes of children, what is loaded


def raise_open_files(*, connections: int, calls: int) -> str | None:
    """Raise the soft limit as far as it goes; what to tell the operator when that is too low for what is allowed."""
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
