"""Authenticators are asked once for a request, and what they answered holds for every view that has them."""

import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest
from django.test import RequestFactory
from rest_framework.authentication import BasicAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from handfast.django.access.authentication import Authentication, make_probe_request
from tests.django.access.guarded import Broken, ByKey


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
    other: Any = make_probe_request(request, "DELETE")
    assert (other.method, other.META["REQUEST_METHOD"]) == ("DELETE", "DELETE")
    assert (other.body, other.GET, other.POST) == (b"", {}, {})
    assert (other.headers["Authorization"], "Content-Type" in other.headers) == ("Bearer x", False)
    assert (other.session is session, other.is_secure(), other.get_host()) == (True, True, "testserver")


@pytest.mark.parametrize("made", [over_wsgi, over_asgi])
def test_what_is_put_on_it_stays_there(made: Any) -> None:
    request = made()
    other: Any = make_probe_request(request, "GET")
    other.user, other.META["X"] = "somebody", "1"
    assert (hasattr(request, "user"), "X" in request.META, request.method) == (False, False, "POST")
    assert (request.body, request.GET["a"]) == (b'{"a":1}', "1")


pytestmark = pytest.mark.usefixtures("database")


def bearing(text: str) -> Authentication:
    ByKey.asked = 0
    return Authentication(RequestFactory().post("/mcp/", headers={"Authorization": text}))


def test_each_set_is_asked_once_for_reads_and_once_for_writes() -> None:
    ada = User.objects.create(username="ada")
    answers = bearing("Bearer key-ada")
    for method in ("GET", "HEAD", "POST", "DELETE", "GET", "PUT"):
        known = answers.known((ByKey,), method)
        assert (known.user, known.auth, type(known.authenticator)) == (ada, "a key", ByKey)
    assert ByKey.asked == 2
    assert answers.known((BasicAuthentication, ByKey), "GET").user == ada
    assert ByKey.asked == 3


def test_an_answer_is_put_on_a_request_as_if_it_had_asked() -> None:
    ada = User.objects.create(username="ada")
    request = Request(RequestFactory().get("/"))
    bearing("Bearer key-ada").known((ByKey,), "GET").put_on(request)
    assert (request.user, request.auth, type(request.successful_authenticator)) == (ada, "a key", ByKey)
    assert request._request.user == ada


def test_nobody_is_an_answer_too() -> None:
    known = bearing("Basic").known((ByKey,), "GET")
    assert (known.user.is_anonymous, known.auth, known.authenticator, known.error) == (True, None, None, None)


@pytest.mark.parametrize("authenticator", [ByKey, Broken])
def test_a_refusal_is_raised_again_wherever_it_is_put(authenticator: type[ByKey]) -> None:
    known = bearing("Bearer key-eve").known((authenticator,), "GET")
    for _ in range(2):
        with pytest.raises(AuthenticationFailed):
            known.put_on(Request(RequestFactory().get("/")))
