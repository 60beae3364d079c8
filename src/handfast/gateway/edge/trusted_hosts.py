"""Host and Origin checks: without them any web page could speak to a gateway on this machine (DNS rebinding)."""

import re

from handfast.core.call import rules
from handfast.gateway.http.exchange import HttpProblem
from handfast.gateway.settings import Settings
from handfast.gateway.settings.blocks import HOST, PORT

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))
_AUTHORITY = re.compile(f"(?P<name>{HOST})(:{PORT})?")
_ORIGIN = re.compile(f"https?://(?P<name>{HOST})(:{PORT})?")


def check_host(given: bytes | None, settings: Settings) -> None:
    """Raises: HttpProblem 403."""
    host = (given or b"").decode("latin-1").lower()
    found = _AUTHORITY.fullmatch(host)
    if found is not None:
        name = found["name"]
        allowed = {known.lower() for known in settings.allowed_hosts}
        if name in _LOOPBACK or host in allowed or name in allowed:
            return
        own = settings.listen_address[0].lower()
        if name.strip("[]") == own and own not in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
            return
    text = "This Host is not served here. Add it to allowed_hosts if it should be."
    raise HttpProblem(403, text, rule=rules.REQUEST_UNKNOWN_HOST)


def check_origin(given: bytes | None, settings: Settings) -> None:
    """Refuses foreign origins; a request without one is not from a browser page. Raises: HttpProblem 403."""
    if given is None:
        return
    origin = given.decode("latin-1").lower()
    if any(origin == known.lower() for known in settings.allowed_origins):
        return
    found = _ORIGIN.fullmatch(origin)
    if found is None or found["name"] not in _LOOPBACK:
        text = "Pages of this Origin may not use the gateway. Add it to allowed_origins if they should."
        raise HttpProblem(403, text, rule=rules.REQUEST_UNKNOWN_ORIGIN)
