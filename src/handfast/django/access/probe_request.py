"""A request that stands in for the one that a view would get: the caller's headers and session, and nothing else."""

from django.http import HttpRequest, QueryDict
from django.utils.datastructures import MultiValueDict

_OF_THE_MESSAGE = ("CONTENT_LENGTH", "CONTENT_TYPE", "HTTP_CONTENT_LENGTH", "HTTP_CONTENT_TYPE")


def stand_in(request: HttpRequest, method: str) -> HttpRequest:
    """For asking who calls and what they may. What authenticators put on it is not on the caller's own request."""
    # Not copy(): a WSGI request leaves out its `environ` there, and with it whether it came over HTTPS.
    other = type(request).__new__(type(request))
    other.__dict__.update(request.__dict__)
    other.__dict__.pop("headers", None)  # made from META when they are first asked for
    meta = {key: value for key, value in request.META.items() if key not in _OF_THE_MESSAGE}
    nothing = QueryDict("")
    # The body is a message to us and not to any view, and so is what stands in the address.
    other.__dict__.update(
        method=method,
        META={**meta, "REQUEST_METHOD": method, "QUERY_STRING": ""},
        GET=nothing,
        _body=b"",
        _post=nothing,
        _files=MultiValueDict(),
    )
    return other
