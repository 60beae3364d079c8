"""How many files and sockets may be open: as many as the system lets us have, and a warning where that is too few."""

import contextlib

_ENOUGH = 65_536  # clients, upstream connections and pipes of the largest settings; more only costs the kernel memory
_BESIDES = 128  # the store, the catalog, pipes of children, what is loaded


def raise_open_files(wanted_calls: int) -> str | None:
    """Raise the soft limit as far as it goes; what to tell the operator when that is too low for so many calls."""
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
    needed = 2 * wanted_calls + _BESIDES  # a call is a connection on either side
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return None
    return (
        f"only {soft} files may be open at once, and {wanted_calls} calls in progress need {needed}."
        " Raise the limit (ulimit -n), or lower limits.concurrent_calls."
    )
