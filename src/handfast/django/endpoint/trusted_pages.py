"""Host and Origin: without them any web page could speak to the endpoint through its visitor (DNS rebinding)."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest
from django.utils.http import is_same_domain

from handfast.django.endpoint.refusal import HttpRefusal


def check_page(request: HttpRequest, allowed: Iterable[str]) -> None:
    """No Origin means no web page. Raises: HttpRefusal."""
    try:
        host = request.get_host()
    except DisallowedHost:
        # The status that Django itself has for it, where a middleware asks first.
        text = "This Host is not served here. Add it to ALLOWED_HOSTS if it should be."
        raise HttpRefusal(400, text) from None
    origin = request.META.get("HTTP_ORIGIN")
    if origin is None or origin == f"{request.scheme}://{host}":
        return
    if _is_among(origin, (*allowed, *settings.CSRF_TRUSTED_ORIGINS)):
        return
    text = "Pages of this Origin may not use the endpoint. Add it to HANDFAST['ALLOWED_ORIGINS'] if they should."
    raise HttpRefusal(403, text)


def _is_among(origin: str, allowed: Iterable[str]) -> bool:
    """As CSRF_TRUSTED_ORIGINS are written: whole, or with `*.` for every name below a domain."""
    try:
        said = urlsplit(origin)
    except ValueError:
        return False
    for each in allowed:
        scheme, _, domain = each.partition("://")
        if origin == each:
            return True
        if domain.startswith("*.") and said.scheme == scheme and is_same_domain(said.netloc, domain[1:]):
            return True
    return False
