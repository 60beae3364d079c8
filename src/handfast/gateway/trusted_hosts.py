"""Host and Origin checks: without them any web page could speak to a gateway on this machine (DNS rebinding)."""

from urllib.parse import urlsplit

from handfast.gateway.http_exchange import HttpProblem
from handfast.gateway.settings import Settings

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))


def check_host(given: bytes | None, settings: Settings) -> None:
    """Raises: HttpProblem 403."""
    host = (given or b"").decode("latin-1").lower()
    name = _without_port(host)
    allowed = {known.lower() for known in settings.allowed_hosts}
    if name in _LOOPBACK or host in allowed or name in allowed:
        return
    own = settings.listen_address[0].lower()
    if name.strip("[]") == own and own not in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return
    raise HttpProblem(403, "This Host is not served here. Add it to allowed_hosts if it should be.")


def check_origin(given: bytes | None, settings: Settings) -> None:
    """No Origin means no browser page. Raises: HttpProblem 403."""
    if given is None:
        return
    origin = given.decode("latin-1").lower()
    if any(origin == known.lower() for known in settings.allowed_origins):
        return
    try:
        parts = urlsplit(origin)
        is_local = parts.scheme in ("http", "https") and parts.hostname in ("localhost", "127.0.0.1", "::1")
    except ValueError:
        is_local = False
    if is_local:
        return
    raise HttpProblem(403, "Pages of this Origin may not use the gateway. Add it to allowed_origins if they should.")


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]
