"""The urls that a project includes: one address, whatever it is mounted under, with a slash or without."""

import pytest
from django.core.checks.urls import check_url_config
from django.test import Client, override_settings
from django.urls import include, path, resolve, reverse

from handfast.django import urls
from handfast.django.endpoint import endpoint
from handfast.django.mounted import find_mounts

urlpatterns = [path("agents/mcp/", include(urls))]


class Either:
    """Stands for a module."""

    urlpatterns = (path("mcp", include(urls)),)


PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'


def test_the_endpoint_is_where_the_project_puts_it() -> None:
    address = reverse("handfast:mcp", urlconf=__name__)
    assert address == "/agents/mcp/"
    assert resolve(address, urlconf=__name__).func is endpoint


@pytest.mark.parametrize("is_debug", [True, False])
@pytest.mark.parametrize("appends", [True, False])
def test_below_a_path_without_a_slash_both_addresses_are_served(appends: bool, is_debug: bool) -> None:
    """Most people write `/mcp`. Django would redirect that, and a redirect loses what was posted."""
    common = ["django.middleware.common.CommonMiddleware"]
    with override_settings(ROOT_URLCONF=Either, APPEND_SLASH=appends, DEBUG=is_debug, MIDDLEWARE=common):
        answers = [Client().post(address, PING, content_type="application/json") for address in ("/mcp", "/mcp/")]
        assert [(answer.status_code, answer.json()) for answer in answers] == [
            (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
        ] * 2
        assert Client().post("/mcpx", PING, content_type="application/json").status_code == 404
        assert [mount.address for mount in find_mounts()] == ["/mcp"]
        assert list(check_url_config(None)) == []


def test_whoever_was_redirected_is_told_the_address() -> None:
    """By a redirect a POST becomes a GET, and that is all that arrives."""
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=["django.middleware.common.CommonMiddleware"]):
        followed = Client().get("/agents/mcp", follow=True)
    assert followed.status_code == 405
    assert followed.json()["error"]["message"].endswith(
        "If you did, a redirect has made it a GET: use the address with its slash."
    )
