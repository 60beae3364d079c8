"""What comes in: media types, the body within its bounds, and the protocol's own headers."""

from io import BytesIO
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, UnreadablePostError
from django.test import RequestFactory, override_settings

from handfast.django.endpoint.incoming import HttpRefusal, check_media, check_page, own_headers, read_body
from handfast.wire.codes import REQUEST_TOO_LARGE


def request_of_page(host: str = "api.example.com", origin: str | None = None, **more: Any) -> HttpRequest:
    headers = {"host": host} if origin is None else {"host": host, "origin": origin}
    return RequestFactory().post("/mcp", headers=headers, **more)


def status_of(request_of_page: HttpRequest, *allowed: str) -> int:
    try:
        check_page(request_of_page, allowed)
    except HttpRefusal as problem:
        return problem.status
    return 200


def test_no_origin_is_no_page() -> None:
    assert status_of(request_of_page()) == 200


@pytest.mark.parametrize(
    ("host", "is_secure", "origin", "status"),
    [
        ("api.example.com", True, "https://api.example.com", 200),
        ("api.example.com", True, "http://api.example.com", 403),
        ("api.example.com", False, "http://api.example.com", 200),
        ("api.example.com:8000", False, "http://api.example.com:8000", 200),
        ("api.example.com:8000", False, "http://api.example.com", 403),
        ("api.example.com", True, "https://evil.example", 403),
        ("api.example.com", True, "https://api.example.com.evil.example", 403),
        ("api.example.com", True, "null", 403),
        ("api.example.com", True, "", 403),
        ("api.example.com", True, "https://[", 403),
    ],
)
def test_an_origin_must_be_the_requests_own(host: str, is_secure: bool, origin: str, status: int) -> None:
    assert status_of(request_of_page(host, origin, secure=is_secure)) == status


@pytest.mark.parametrize(
    ("allowed", "origin", "status"),
    [
        ("https://app.example", "https://app.example", 200),
        ("https://app.example", "https://app.example:444", 403),
        ("https://app.example", "http://app.example", 403),
        ("https://*.example.org", "https://a.example.org", 200),
        ("https://*.example.org", "https://a.b.example.org", 200),
        ("https://*.example.org", "http://a.example.org", 403),
        ("https://*.example.org", "https://example.org.evil", 403),
        ("https://*.example.org", "https://badexample.org", 403),
        ("null", "null", 200),
    ],
)
def test_or_one_that_is_named_here_or_trusted_by_the_project(allowed: str, origin: str, status: int) -> None:
    assert status_of(request_of_page(origin=origin), allowed) == status
    with override_settings(CSRF_TRUSTED_ORIGINS=[allowed]):
        assert status_of(request_of_page(origin=origin)) == status


@override_settings(ALLOWED_HOSTS=["api.example.com"])
def test_hosts_are_djangos_to_allow() -> None:
    assert status_of(request_of_page()) == 200
    assert status_of(request_of_page("evil.example")) == 400
    assert status_of(request_of_page("evil.example", "http://evil.example")) == 400


JSON = "application/json"


def request(body: bytes = b"{}", content_type: str = JSON, **headers: str) -> HttpRequest:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return RequestFactory().post("/mcp", body, content_type=content_type, headers=names)


def asgi_request(body: bytes, **headers: bytes) -> ASGIRequest:
    sent = [(name.replace("_", "-").encode(), value) for name, value in headers.items()]
    scope: Any = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "headers": sent}  # ASGI's own
    return ASGIRequest(scope, BytesIO(body))


def media_status(request: HttpRequest) -> int:
    try:
        check_media(request)
    except HttpRefusal as problem:
        return problem.status
    return 200


# --- media types -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("application/json-patch+json", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
    ],
)
def test_a_body_must_say_that_it_is_json(content_type: str, status: int) -> None:
    assert media_status(request(content_type=content_type)) == status


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json, text/event-stream", 200),
        ("application/json", 200),
        ("text/event-stream;q=0.5 , APPLICATION/JSON;q=0.1", 200),
        ("*/*", 200),
        ("application/*", 200),
        ("", 200),
        ("text/event-stream", 406),
        ("text/html", 406),
        ("application/json;q=0", 406),
        ("application/json; q=0.000, text/html", 406),
    ],
)
def test_an_answer_must_be_welcome_as_json(accept: str, status: int) -> None:
    assert media_status(request(accept=accept)) == status


def test_a_client_that_does_not_say_takes_anything() -> None:
    assert media_status(request()) == 200


@pytest.mark.parametrize(("encoding", "status"), [("gzip", 415), ("identity", 200)])
def test_a_body_comes_as_it_is(encoding: str, status: int) -> None:
    assert media_status(request(content_encoding=encoding)) == status


# --- the body --------------------------------------------------------------------------------------------------------


def refusal_of(request: HttpRequest, limit: int) -> HttpRefusal:
    with pytest.raises(HttpRefusal) as problem:
        read_body(request, limit)
    return problem.value


@pytest.mark.parametrize("make", [request, asgi_request])
def test_a_body_within_the_bound_is_read_whole(make: Any) -> None:
    assert read_body(make(b"x" * 100), 100) == b"x" * 100


def test_a_body_over_the_bound_is_not_read_at_all() -> None:
    asked = request(b"x" * 101)
    problem = refusal_of(asked, 100)
    text = "The body is over the limit of 100 bytes. Send a smaller one, or raise HANDFAST['MAX_BODY_BYTES']."
    assert (problem.status, problem.code, problem.text) == (413, REQUEST_TOO_LARGE, text)
    assert asked.read() == b"x" * 101


def test_nor_is_one_in_chunks_read_further_than_the_bound() -> None:
    asked = asgi_request(b"x" * 1000, transfer_encoding=b"chunked")
    assert refusal_of(asked, 100).status == 413
    assert len(asked.read()) == 1000 - 101


@override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=50)
def test_the_bound_of_the_whole_project_holds_here_too_and_is_named() -> None:
    problem = refusal_of(request(b"x" * 51), 100)
    assert (problem.status, "or raise DATA_UPLOAD_MAX_MEMORY_SIZE" in problem.text) == (413, True)
    assert refusal_of(asgi_request(b"x" * 51), 100).status == 413
    assert read_body(request(b"x" * 50), 100) == b"x" * 50


@override_settings(DATA_UPLOAD_MAX_MEMORY_SIZE=None)
def test_a_project_without_a_bound_leaves_ours() -> None:
    assert refusal_of(request(b"x" * 101), 100).status == 413


def test_a_body_in_chunks_that_wsgi_does_not_show_is_asked_for_with_its_length() -> None:
    environ = {"REQUEST_METHOD": "POST", "wsgi.input": BytesIO(b"{}"), "HTTP_TRANSFER_ENCODING": "chunked"}
    assert refusal_of(WSGIRequest(environ), 100).status == 411


@pytest.mark.parametrize("length", ["x", "-1", "1.5", "²"])
def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    environ = {"REQUEST_METHOD": "POST", "wsgi.input": BytesIO(b"{}"), "CONTENT_LENGTH": length}
    assert refusal_of(WSGIRequest(environ), 100).status == 400


class _Broken(BytesIO):
    def read(self, *_: Any) -> bytes:
        raise OSError("gone")


def test_a_body_that_breaks_off_is_refused() -> None:
    environ = {"REQUEST_METHOD": "POST", "wsgi.input": _Broken(), "CONTENT_LENGTH": "5"}
    asked = WSGIRequest(environ)
    assert refusal_of(asked, 100).status == 400
    with pytest.raises(UnreadablePostError):
        asked.read()


def test_whoever_read_the_body_before_leaves_it_to_us() -> None:
    asked = request(b'{"a":1}')
    assert asked.body == read_body(asked, 100) == b'{"a":1}'


# --- headers ---------------------------------------------------------------------------------------------------------


def test_the_protocols_headers_are_as_they_were_sent() -> None:
    asked = request(mcp_protocol_version="2026-07-28", mcp_name="=?base64?w6k=?=", mcp_param_region="eu", x_other="1")
    assert sorted(own_headers(asked)) == [
        (b"mcp-name", b"=?base64?w6k=?="),
        (b"mcp-param-region", b"eu"),
        (b"mcp-protocol-version", b"2026-07-28"),
    ]


def test_a_header_that_came_twice_agrees_with_nothing() -> None:
    scope_headers = [(b"mcp-method", b"ping"), (b"mcp-method", b"ping")]
    scope: Any = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "headers": scope_headers}
    assert own_headers(ASGIRequest(scope, BytesIO())) == [(b"mcp-method", b"ping,ping")]
