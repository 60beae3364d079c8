"""The request that a view gets: the caller's own, at the view's address."""

import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.test import AsyncClient, Client, RequestFactory, override_settings

from handfast.django.invocation.inner_request import Address, make_request
from tests.django.depot.models import Depot, Tag
from tests.django.invocation.calling import call, outer, refusal, told

STACK = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "tests.django.invocation.endpoint.Tenants",
]


@pytest.fixture
def served() -> Iterator[None]:
    """The endpoint behind middleware of the usual kinds."""
    with override_settings(ROOT_URLCONF="tests.django.invocation.endpoint", MIDDLEWARE=STACK):
        yield


def through(client: Client, name: str, arguments: Any = None, **headers: str) -> Any:
    body = json.dumps([name, arguments or {}])
    return client.post("/mcp/", body, content_type="application/json", headers=headers).json()


# --- the address -----------------------------------------------------------------------------------------------------


def test_a_view_sees_the_request_that_its_url_would_get() -> None:
    assert call("depots__seen__list", {"depot_pk": 3, "which": "a-b"}) == {
        "method": "GET",
        "path": "/api/depots/3/seen/a-b/",
        "path_info": "/api/depots/3/seen/a-b/",
        "full_path": "/api/depots/3/seen/a-b/",
        "uri": "http://depot.example/api/depots/3/seen/a-b/",
        "get": {},
        "accept": "application/json",
        "headers": [],
        "cookies": {},
        "address": "127.0.0.1",
        "tenant": None,
        "language": "en-us",
        "match": ["near", "api/depots/<int:depot_pk>/seen/<slug:which>/", ["depot_pk", "extra", "which"]],
        "class": "WSGIRequest",
        "body": "",
    }


def test_a_body_is_json_with_its_own_headers() -> None:
    assert call("seen__create", {"given": {"a": [1, "ä"]}}) == {
        "data": {"given": {"a": [1, "ä"]}},
        "content_type": "application/json",
        "length": 24,
        "post": {},
        "files": [],
    }


def test_a_path_with_a_script_name_and_odd_characters_is_written_as_django_would() -> None:
    Tag.objects.create(name="über 1%/2")
    request = outer(SCRIPT_NAME="/app")
    assert told(refusal("tags__retrieve", {"name": "über 1%/2"}, request))[0] == "invalid_input"
    Tag.objects.create(name="über 1%")
    inner = make_request(request, Address("GET", "/api/tags/%C3%BCber%201%25/", "a=1", "application/json"), None)
    assert (inner.path, inner.path_info, inner.get_full_path()) == (
        "/app/api/tags/über 1%/",
        "/api/tags/über 1%/",
        "/app/api/tags/%C3%BCber%201%25/?a=1",
    )
    assert call("tags__retrieve", {"name": "über 1%"}, request)["name"] == "über 1%"


@override_settings(SECURE_PROXY_SSL_HEADER=("HTTP_X_FORWARDED_PROTO", "https"))
def test_links_of_pages_and_rows_lead_to_the_host_that_the_caller_used() -> None:
    for name in "abc":
        Depot.objects.create(name=name, slug=name)
    request = outer(HTTP_HOST="shop.example:8443", HTTP_X_FORWARDED_PROTO="https")
    assert call("depots__list", {"page": 2}, request)["previous"] == "https://shop.example:8443/api/depots/"
    made = call("linked__create", {"code": "c", "depot": "a"}, request)
    assert made["url"].startswith("https://shop.example:8443/api/linked/")
    assert made["depot"] == f"https://shop.example:8443/api/depots/{Depot.objects.get(name='a').pk}/"


def test_what_is_only_true_of_the_outer_request_stays_there() -> None:
    request: Any = outer()
    request.csrf_processing_done = request._dont_enforce_csrf_checks = True
    request.tenant = "acme"
    _ = (request.headers, request.body, request.accepted_types)
    inner: Any = make_request(request, Address("DELETE", "/api/", "", "application/json"), None)
    assert not hasattr(inner, "csrf_processing_done")
    assert not hasattr(inner, "_dont_enforce_csrf_checks")
    assert (inner.tenant, inner.body, inner.headers["Accept"]) == ("acme", b"", "application/json")
    assert [str(accepted) for accepted in inner.accepted_types] == ["application/json"]
    assert (inner.content_type, "CONTENT_TYPE" in inner.META, inner.environ is inner.META) == ("", False, True)


# --- headers ---------------------------------------------------------------------------------------------------------


def test_headers_of_the_outer_body_and_of_its_answer_are_not_the_views() -> None:
    sent = {
        "HTTP_CONTENT_ENCODING": "gzip",
        "HTTP_IF_NONE_MATCH": '"1"',
        "HTTP_IF_MATCH": '"2"',
        "HTTP_X_HTTP_METHOD_OVERRIDE": "DELETE",
        "HTTP_X_CUSTOM": "kept",
        "REMOTE_ADDR": "203.0.113.9",
        "HTTP_COOKIE": "a=1",
    }
    seen = call("seen__list", {}, outer(**sent))
    assert seen["headers"] == ["If-Match", "X-Custom"]
    assert (seen["address"], seen["cookies"], seen["get"]) == ("203.0.113.9", {"a": "1"}, {})


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        ("application/json, text/event-stream", "1.0"),
        ("application/json; version=2.0, text/event-stream", "2.0"),
        ("application/json;q=0.9;version=2.0", "2.0"),
        ("text/event-stream; version=2.0", "1.0"),
    ],
)
def test_a_version_in_the_accept_header_counts(accept: str, version: str) -> None:
    assert call("accept-version__list", {}, outer(HTTP_ACCEPT=accept)) == {"version": version}


def test_a_version_in_the_path_is_an_argument() -> None:
    assert call("path-version__list") == {"version": "v1"}
    assert call("path-version__list", {"version": "v2"}) == {"version": "v2"}
    assert refusal("path-version__list", {"version": "v3"}).code == "not_found"


def test_a_version_in_the_namespace_comes_with_the_url() -> None:
    assert call("spaced__it__list") == {"version": "v2"}


# --- who calls -------------------------------------------------------------------------------------------------------


def test_the_caller_that_access_found_is_the_views_caller() -> None:
    ada = User.objects.create(username="ada")
    request: Any = outer(ada)
    request._force_auth_token = "a token of hers"
    assert call("basic__list", {}, request) == {"user": "ada", "auth": "a token of hers"}


def test_without_one_the_views_own_authenticators_read_the_headers() -> None:
    User.objects.create_user("ada", password="difference")
    given = base64.b64encode(b"ada:difference").decode()
    assert call("basic__list", {}, outer(HTTP_AUTHORIZATION=f"Basic {given}")) == {"user": "ada", "auth": None}
    assert told(refusal("basic__list")) == (
        "permission_error",
        (
            "The API does not let this caller do that: Authentication credentials were not provided."
            " Ask the operator for the right to."
        ),
        {"status": 401},
    )


def test_the_view_cannot_change_who_called_the_endpoint() -> None:
    ada = User.objects.create(username="ada")
    request: Any = outer(ada)
    request.user = "the middleware's"
    call("basic__list", {}, request)
    assert request.user == "the middleware's"
    assert request.META["REQUEST_METHOD"] == "POST"
    assert (request.path, request.GET.dict()) == ("/mcp/", {"session": "outer"})
    assert json.loads(request.body)["method"] == "tools/call"


@pytest.mark.usefixtures("served")
def test_a_session_needs_its_token_for_a_write() -> None:
    ada = User.objects.create(username="ada")
    depot = Depot.objects.create(name="North", slug="north", owner=ada)
    arguments = {"code": "c1", "depot": depot.pk}
    for client in (Client(enforce_csrf_checks=True), Client()):
        client.force_login(ada)
        assert through(client, "session-crates__list") == {"data": []}
        assert through(client, "session-crates__create", arguments)["error"] == [
            "permission_error",
            (
                "The API does not let this caller do that: CSRF Failed: CSRF cookie not set."
                " Ask the operator for the right to."
            ),
        ]
    token = get_token(RequestFactory().get("/"))
    client.cookies["csrftoken"] = token
    assert "data" in through(client, "session-crates__create", arguments, **{"X-CSRFToken": token})
    assert through(client, "session-crates__list")["data"][0]["code"] == "c1"


@pytest.mark.usefixtures("served")
def test_a_row_by_its_name_is_not_looked_for_before_a_session_has_shown_its_token() -> None:
    ada = User.objects.create(username="ada")
    depot = Depot.objects.create(name="North", slug="north", owner=ada)
    client = Client()
    client.force_login(ada)
    for named in ({"name": "North"}, {"name": "nowhere"}):
        refused = through(client, "session-crates__create", {"code": "c1", "depot": named})["error"]
        assert refused[0] == "permission_error"
    token = get_token(RequestFactory().get("/"))
    client.cookies["csrftoken"] = token
    made = through(
        client, "session-crates__create", {"code": "c1", "depot": {"name": "North"}}, **{"X-CSRFToken": token}
    )
    assert made["data"]["depot"] == depot.pk


@pytest.mark.usefixtures("served")
def test_what_middleware_found_out_is_there_for_the_view() -> None:
    seen = through(Client(), "seen__list", **{"X-Tenant": "acme", "Accept-Language": "de"})["data"]
    assert (seen["tenant"], seen["language"]) == ("acme", "de")


@pytest.mark.usefixtures("served")
def test_under_asgi_the_view_sees_the_same() -> None:
    async def ask() -> Any:
        body = json.dumps(["depots__seen__list", {"depot_pk": 3, "which": "a"}])
        answer = await AsyncClient().post("/mcp/?x=1", body, content_type="application/json")
        return answer.json()["data"]

    seen = asyncio.run(ask())
    assert (seen["class"], seen["path"], seen["method"], seen["get"]) == (
        "ASGIRequest",
        "/api/depots/3/seen/a/",
        "GET",
        {},
    )


def test_a_request_that_no_server_made_will_do() -> None:
    request = HttpRequest()
    request.META |= {"SERVER_NAME": "localhost", "SERVER_PORT": "80", "HTTP_ACCEPT": "*/*"}
    assert call("seen__create", {"given": 1}, request)["data"] == {"given": 1}
    assert call("seen__list", {}, request)["uri"] == "http://localhost/api/seen/"
