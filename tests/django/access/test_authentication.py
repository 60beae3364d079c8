"""Authenticators are asked once for a request, and what they answered holds for every view that has them."""

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory
from rest_framework.authentication import BasicAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from handfast.django.access.authentication import Authentication
from tests.django.access.guarded import Broken, ByKey

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
