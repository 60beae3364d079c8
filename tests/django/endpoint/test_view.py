"""The view inside Django: who gets in, which methods, and that whatever goes wrong is JSON."""

import json
import logging
from typing import Any

import pytest
from django.core.signals import got_request_exception
from django.http import HttpRequest
from django.test import Client, override_settings

from handfast.django.endpoint import endpoint
from tests.django.endpoint.offered import Json, body, modern
from tests.django.project.models import Contact

URL = "/mcp/"
STOCK = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
PING = body("ping")
PONG = {"jsonrpc": "2.0", "id": 1, "result": {}}


def post(raw: bytes = PING, **headers: str) -> Any:  # Any: a response of Django's test client
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    return client.post(URL, raw, content_type="application/json", headers=names)


def error_of(response: Any) -> Json:  # Any: as above
    assert response["Content-Type"] == "application/json"
    message: Json = json.loads(response.content)
    assert (message["jsonrpc"], message["id"]) == ("2.0", None)
    error: Json = message["error"]
    return error


def test_a_post_is_answered_with_json() -> None:
    response = post()
    assert (response.status_code, response["Content-Type"], response.json()) == (200, "application/json", PONG)


@override_settings(MIDDLEWARE=STOCK, DEBUG=True)
def test_neither_csrf_nor_any_stock_middleware_stands_in_the_way() -> None:
    assert post().json() == PONG


@override_settings(
    MIDDLEWARE=[
        *STOCK,
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
    ],
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
)
def test_a_project_that_wants_everybody_logged_in_does_not_send_clients_to_its_login_page() -> None:
    assert post().json() == PONG


def test_the_view_leaves_transactions_to_the_tools() -> None:
    assert endpoint._non_atomic_requests == {"default"}  # type: ignore[attr-defined]  # as Django's decorator marks it


def test_what_wants_no_answer_gets_a_status_alone() -> None:
    response = post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    assert (response.status_code, response.content, response.has_header("Content-Type")) == (202, b"", False)


# --- tools ----------------------------------------------------------------------------------------------------------


def call(arguments: object, *, is_modern: bool) -> Any:  # Any: a response of Django's test client
    params = {"name": "contacts__create", "arguments": arguments}
    raw, headers = modern("tools/call", params) if is_modern else (body("tools/call", params), [])
    return post(raw, **{name.decode(): value.decode() for name, value in headers})


@pytest.mark.requirement("000-3")
@pytest.mark.requirement("000-13")
@pytest.mark.parametrize(("is_modern", "status"), [(False, 200), (True, 400)])
def test_a_wrapped_payload_is_an_error_of_the_protocol_and_stores_nothing(
    database: None, is_modern: bool, status: int
) -> None:
    response = call({"data": {"email": "agent@example.com", "first_name": "Agent"}}, is_modern=is_modern)
    text = (
        "Argument 'data' is not a declared field and its value is a nested object.\n"
        "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
        'Unwrap \'data\': send "email", "first_name" directly, not inside "data".\n'
        'Declared fields: ["email", "first_name", "last_name", "notes", "status", "password"].'
    )
    expected = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": text}}
    assert (response.status_code, response.json()) == (status, expected)
    assert not Contact.objects.exists()


@pytest.mark.parametrize("is_modern", [False, True])
@override_settings(HANDFAST={"ERRORS": "result", "ACTIVITY": "off"})
def test_or_a_result_where_the_project_says_so(database: None, is_modern: bool) -> None:
    response = call({"data": {"email": "agent@example.com"}}, is_modern=is_modern)
    result = response.json()["result"]
    assert (response.status_code, result["isError"], "structuredContent" in result) == (200, True, False)
    assert result["content"][0]["text"].startswith("Argument 'data' is not a declared field")
    assert not Contact.objects.exists()


@pytest.mark.requirement("000-20")
@pytest.mark.parametrize("is_modern", [False, True])
def test_a_flat_call_stores_a_row_and_names_what_it_passed_over(database: None, is_modern: bool) -> None:
    response = call({"email": "agent@example.com", "first_name": "Agent", "bogus": 1}, is_modern=is_modern)
    result = response.json()["result"]
    assert (result["structuredContent"]["email"], result["isError"]) == ("agent@example.com", False)
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert [block["text"] for block in result["content"][1:]] == ["Ignored arguments: bogus"]
    assert Contact.objects.get().first_name == "Agent"


def test_a_token_that_is_not_good_is_told_with_a_challenge(database: None) -> None:
    response = post(authorization="Bearer hfa_nonsense")
    assert (response.status_code, error_of(response)["code"]) == (401, -32600)
    assert response["WWW-Authenticate"].startswith('Bearer error="invalid_token"')


# --- methods ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "TRACE", "QUERY"])
def test_only_post_is_answered(method: str) -> None:
    response = Client().generic(method, URL)
    assert (response.status_code, response["Allow"], error_of(response)["code"]) == (405, "POST, OPTIONS", -32600)


def test_head_is_told_the_same_without_words() -> None:
    response = Client().head(URL)
    assert (response.status_code, response["Allow"], response.content) == (405, "POST, OPTIONS", b"")


def test_options_says_what_there_is() -> None:
    response = Client().options(URL)
    assert (response.status_code, response["Allow"], response.content) == (204, "POST, OPTIONS", b"")


# --- who gets in -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("debug", [False, True])
def test_a_host_that_is_not_allowed_is_told_so_in_json(debug: bool) -> None:
    with override_settings(ALLOWED_HOSTS=["example.com"], DEBUG=debug):
        response = post(host="evil.example")
    assert (response.status_code, error_of(response)["code"]) == (400, -32600)


def test_another_sites_page_is_turned_away_before_its_message_is_read() -> None:
    response = post(b"nonsense", origin="https://evil.example")
    assert (response.status_code, error_of(response)["code"]) == (403, -32600)


@override_settings(HANDFAST={"ALLOWED_ORIGINS": ["https://app.example"]})
def test_a_page_that_is_named_gets_in() -> None:
    assert post(origin="https://app.example").json() == PONG


# --- whatever goes wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("debug", [False, True])
@override_settings(HANDFAST={"BOGUS": 1}, MIDDLEWARE=STOCK)
def test_what_nobody_foresaw_is_json_with_an_id_that_is_in_the_log(
    debug: bool, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[HttpRequest] = []

    def watch(request: HttpRequest, **_: object) -> None:
        seen.append(request)

    got_request_exception.connect(watch)
    try:
        with override_settings(DEBUG=debug), caplog.at_level(logging.ERROR, logger="handfast.django"):
            response = post()
    finally:
        got_request_exception.disconnect(watch)
    error = error_of(response)
    assert (response.status_code, error["code"]) == (500, -32603)
    assert error["message"] == "The server failed. Report the request id in data to the operator."
    (record,) = [record for record in caplog.records if record.name == "handfast.django"]
    assert record.getMessage() == f"A request failed with ImproperlyConfigured (request {error['data']['request_id']})"
    assert record.exc_info is not None
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("raw", "status", "code"),
    [(b"\xff\xfe", 400, -32700), (b"", 400, -32700), (b"x" * 2_621_441, 413, -31004)],
)
@pytest.mark.parametrize("debug", [False, True])
@override_settings(MIDDLEWARE=STOCK)
def test_bodies_that_cannot_be_read_are_json_too(debug: bool, raw: bytes, status: int, code: int) -> None:
    with override_settings(DEBUG=debug):
        response = Client().generic("POST", URL, raw, headers={"content-type": "application/json; charset=nonsense"})
    assert (response.status_code, error_of(response)["code"]) == (status, code)


@pytest.mark.parametrize("charset", ["utf-16", "nonsense", "'"])
def test_a_charset_changes_nothing_json_is_utf_8(charset: str) -> None:
    headers = {"content-type": f"application/json; charset={charset}"}
    response = Client().generic("POST", URL, PING, headers=headers)
    assert response.json() == PONG
