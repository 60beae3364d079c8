"""Requests that stand in for those of views: the caller's, and nothing of the message."""

import io
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from django.test import RequestFactory

from handfast.django.access.probe_request import stand_in


def over_wsgi() -> HttpRequest:
    made: WSGIRequest = RequestFactory().post(
        "/mcp/?a=1", b'{"a":1}', "application/json", secure=True, headers={"Authorization": "Bearer x"}
    )
    return made


def over_asgi() -> HttpRequest:
    headers = [(b"host", b"testserver"), (b"authorization", b"Bearer x"), (b"content-type", b"application/json")]
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": "/mcp/",
        "query_string": b"a=1",
        "scheme": "https",
    }
    return ASGIRequest({**scope, "headers": [*headers, (b"content-length", b"7")]}, io.BytesIO(b'{"a":1}'))


@pytest.mark.parametrize("made", [over_wsgi, over_asgi])
@pytest.mark.parametrize("read_first", [True, False])
def test_it_has_the_callers_headers_and_no_body_of_its_own(made: Any, read_first: bool) -> None:
    request = made()
    request.session = session = {"of": "the caller"}
    if read_first:
        assert (request.headers["Content-Type"], request.POST, request.GET["a"]) == ("application/json", {}, "1")
        assert request.body == b'{"a":1}'
    other: Any = stand_in(request, "DELETE")
    assert (other.method, other.META["REQUEST_METHOD"]) == ("DELETE", "DELETE")
    assert (other.body, other.GET, other.POST) == (b"", {}, {})
    assert (other.headers["Authorization"], "Content-Type" in other.headers) == ("Bearer x", False)
    assert (other.session is session, other.is_secure(), other.get_host()) == (True, True, "testserver")


@pytest.mark.parametrize("made", [over_wsgi, over_asgi])
def test_what_is_put_on_it_stays_there(made: Any) -> None:
    request = made()
    other: Any = stand_in(request, "GET")
    other.user, other.META["X"] = "somebody", "1"
    assert (hasattr(request, "user"), "X" in request.META, request.method) == (False, False, "POST")
    assert (request.body, request.GET["a"]) == (b'{"a":1}', "1")
