"""Which web pages may speak to the endpoint: its own, and those that are named."""

from typing import Any

import pytest
from django.http import HttpRequest
from django.test import RequestFactory, override_settings

from handfast.django.endpoint.refusal import HttpRefusal
from handfast.django.endpoint.trusted_pages import check_page


def request(host: str = "api.example.com", origin: str | None = None, **more: Any) -> HttpRequest:
    headers = {"host": host} if origin is None else {"host": host, "origin": origin}
    return RequestFactory().post("/mcp", headers=headers, **more)


def status_of(request: HttpRequest, *allowed: str) -> int:
    try:
        check_page(request, allowed)
    except HttpRefusal as problem:
        return problem.status
    return 200


def test_no_origin_is_no_page() -> None:
    assert status_of(request()) == 200


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
    assert status_of(request(host, origin, secure=is_secure)) == status


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
    assert status_of(request(origin=origin), allowed) == status
    with override_settings(CSRF_TRUSTED_ORIGINS=[allowed]):
        assert status_of(request(origin=origin)) == status


@override_settings(ALLOWED_HOSTS=["api.example.com"])
def test_hosts_are_djangos_to_allow() -> None:
    assert status_of(request()) == 200
    assert status_of(request("evil.example")) == 400
    assert status_of(request("evil.example", "http://evil.example")) == 400
