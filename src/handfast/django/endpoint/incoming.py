"""The checks of one POST: a trusted host and origin, media types, a body within its bounds, and the headers."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, UnreadablePostError
from django.utils.http import is_same_domain

from handfast.toolkit.protocol.requests import Headers
from handfast.wire.codes import INVALID_REQUEST, REQUEST_TOO_LARGE

_JSON: Final = "application/json"
_TAKES_JSON: Final = frozenset((_JSON, "application/*", "*/*"))
_OWN: Final = "HTTP_MCP_"


class HttpRefusal(Exception):
    """The request is refused with a status and an error that says what to do; its id is not known yet."""

    def __init__(
        self, status: int, text: str, *, code: int = INVALID_REQUEST, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.code = code
        self.headers: Mapping[str, str] = headers or {}


def check_page(request: HttpRequest, allowed: Iterable[str]) -> None:
    """Refuses unknown hosts and pages of other origins; without an Origin it is not a page. Raises: HttpRefusal."""
    try:
        host = request.get_host()
    except DisallowedHost:
        # The status with which Django itself answers where a middleware reads the host first.
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
    """Whether an entry matches; as in CSRF_TRUSTED_ORIGINS it is whole, or has `*.` for a domain and all below it."""
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


def check_media(request: HttpRequest) -> None:
    """Refuses requests that are not plain JSON, or want another answer. Raises: HttpRefusal."""
    meta = request.META
    if not _takes_json(meta.get("HTTP_ACCEPT") or "*/*"):
        raise HttpRefusal(406, f"Answers are {_JSON}. Send an Accept header that takes it, or none.")
    if meta.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != _JSON:
        raise HttpRefusal(415, f"The body must be JSON. Send it with Content-Type: {_JSON}.")
    if meta.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() != "identity":
        raise HttpRefusal(415, "The body is encoded. Send it as it is, without Content-Encoding.")


@lru_cache(maxsize=64)  # a client sends the same one every time
def _takes_json(accept: str) -> bool:
    for each in accept.split(","):
        kind, *parameters = [part.strip().lower() for part in each.split(";")]
        if kind in _TAKES_JSON and not any(_is_never(parameter) for parameter in parameters):
            return True
    return False


def _is_never(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and value.strip(" 0.") == ""


def read_body(request: HttpRequest, limit: int) -> bytes:
    """The body, within the limit. Raises: HttpRefusal."""
    limit, setting = _bound(limit)
    declared = request.META.get("CONTENT_LENGTH") or ""
    try:
        if not declared:
            return _read_unmeasured(request, limit, setting)
        if not (declared.isascii() and declared.isdigit()):
            raise HttpRefusal(400, "The Content-Length is not a number. Send the length of the body.")
        if int(declared) > limit:
            raise _too_large(limit, setting)
        return request.body
    except UnreadablePostError:
        raise HttpRefusal(400, "The body broke off before its end. Send the request again.") from None


def _read_unmeasured(request: HttpRequest, limit: int, setting: str) -> bytes:
    """A body without a Content-Length: complete under ASGI; under WSGI Django sees nothing of one sent in chunks."""
    body = request.read(limit + 1)
    if len(body) > limit:
        raise _too_large(limit, setting)
    if not body and "HTTP_TRANSFER_ENCODING" in request.META:
        raise HttpRefusal(411, "This server cannot read a body in chunks. Send it with a Content-Length.")
    return body


def _bound(limit: int) -> tuple[int, str]:
    """The smaller of our bound and Django's own, which holds for every body of the project."""
    everywhere = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if everywhere is not None and everywhere < limit:
        return everywhere, "DATA_UPLOAD_MAX_MEMORY_SIZE"
    return limit, "HANDFAST['MAX_BODY_BYTES']"


def _too_large(limit: int, setting: str) -> HttpRefusal:
    text = f"The body is over the limit of {limit} bytes. Send a smaller one, or raise {setting}."
    return HttpRefusal(413, text, code=REQUEST_TOO_LARGE)


def own_headers(request: HttpRequest) -> Headers:
    """The headers of the protocol. One that was sent twice arrives joined by a comma, and so matches no body."""
    return [
        (name[5:].replace("_", "-").lower().encode(), value.encode("latin-1", "replace"))
        for name, value in request.META.items()
        if name.startswith(_OWN)
    ]
