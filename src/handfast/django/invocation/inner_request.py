"""Makes the request for a tool's url from the one that the agent sent: the same caller, another address."""

from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final
from urllib.parse import unquote

from django.http import HttpRequest, QueryDict
from django.utils.datastructures import MultiValueDict

# Attributes of the outer request alone. All others are copied: middleware has set them for views to use.
_OF_THE_OUTER: Final = (
    *("GET", "POST", "FILES", "_post", "_files", "_body", "_stream", "_read_started", "_post_parse_error"),
    *("_upload_handlers", "_encoding", "content_type", "content_params"),
    *("headers", "accepted_types", "accepted_types_by_precedence"),
    # A session needs its CSRF token for this call too, although the endpoint is exempt.
    *("csrf_processing_done", "_dont_enforce_csrf_checks"),
)
# Headers about the outer body and the form of its answer. Preconditions (If-Match) stay: they can prevent a write.
# Headers that ask for another method are dropped: a tool is one method.
_DROPPED_HEADERS: Final = (
    *("CONTENT_TYPE", "CONTENT_LENGTH", "HTTP_CONTENT_TYPE", "HTTP_CONTENT_LENGTH", "HTTP_CONTENT_ENCODING"),
    *("HTTP_CONTENT_DISPOSITION", "HTTP_CONTENT_MD5", "HTTP_CONTENT_DIGEST", "HTTP_TRANSFER_ENCODING", "HTTP_EXPECT"),
    *("HTTP_ACCEPT_ENCODING", "HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_RANGE", "HTTP_IF_RANGE"),
    *("HTTP_X_HTTP_METHOD_OVERRIDE", "HTTP_X_HTTP_METHOD", "HTTP_X_METHOD_OVERRIDE"),
    *("REQUEST_URI", "RAW_URI"),
)


@dataclass(frozen=True, slots=True)
class Address:
    """What is asked of the view: the method, the path as in a url, the query, and the media type of the answer."""

    method: str
    path: str
    query: str
    accept: str


@dataclass(frozen=True, slots=True)
class Content:
    """A body, or only its type and length, as a request has them in its headers."""

    content_type: str
    length: int
    stream: BytesIO | None = None  # None: the request makes the body when it is read


def make_request(
    outer: HttpRequest, address: Address, content: Content | None, cls: type[HttpRequest] | None = None
) -> HttpRequest:
    """Makes the inner request: of the class of the outer one, or of `cls` where the request makes its body itself."""
    kind = cls or type(outer)
    inner: Any = kind.__new__(kind)  # Any: attributes that Django sets on its requests in passing
    held: dict[str, Any] = inner.__dict__  # Any: as above
    held.update(outer.__dict__)
    for name in _OF_THE_OUTER:
        held.pop(name, None)
    path_info = unquote(address.path) if "%" in address.path else address.path
    meta = _meta(outer, address, content, path_info)
    held.update(
        method=address.method,
        path_info=path_info,
        path=f"{meta.get('SCRIPT_NAME', '').rstrip('/')}{path_info}",
        META=meta,
        GET=QueryDict(address.query, encoding="utf-8"),
        content_type=content.content_type.partition(";")[0] if content else "",
        content_params={},
        _encoding="utf-8",
        resolver_match=None,
    )
    if cls is None:
        held["_stream"] = (content.stream if content else None) or BytesIO()
        held["_read_started"] = False
    if not hasattr(kind, "POST"):  # a request that no server made
        held.update(POST=QueryDict(), FILES=MultiValueDict())
    _tell_server(held, address)
    return inner  # type: ignore[no-any-return]  # made from its own class right here


def _meta(outer: HttpRequest, address: Address, content: Content | None, path_info: str) -> dict[str, Any]:
    """The META of the inner request, made from the outer one. Any: a server may put anything there."""
    meta = dict(outer.META)
    for name in _DROPPED_HEADERS:
        meta.pop(name, None)
    meta["HTTP_ACCEPT"] = _accept(outer.META.get("HTTP_ACCEPT", ""), address.accept)
    meta["REQUEST_METHOD"] = address.method
    meta["PATH_INFO"] = path_info
    meta["QUERY_STRING"] = address.query
    if content is not None:
        meta["CONTENT_TYPE"] = content.content_type
        meta["CONTENT_LENGTH"] = str(content.length)
    return meta


def _accept(said: str, wanted: str) -> str:
    """The Accept header for the view; a version that the caller added to this media type stays."""
    if ";" not in said:
        return wanted
    for accepted in said.split(","):
        kind, *parameters = (part.strip() for part in accepted.split(";"))
        kept = [one for one in parameters if not one.lower().startswith(("q=", "indent="))]
        if kind == wanted and kept:
            return "; ".join([kind, *kept])
    return wanted


def _tell_server(held: dict[str, Any], address: Address) -> None:  # Any: as above
    """Updates the server's description of the request: `environ` under WSGI, `scope` under ASGI."""
    if "environ" in held:
        held["environ"] = held["META"]
        held["META"]["wsgi.input"] = held.get("_stream")
    if "scope" in held:
        held["scope"] = {
            **held["scope"],
            "method": address.method,
            "path": held["path"],
            "raw_path": address.path.encode(),
            "query_string": address.query.encode(),
        }
