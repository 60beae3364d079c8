"""The urls that a project includes: one address, whatever it is mounted under."""

from django.urls import include, path, resolve, reverse

from handfast.django import urls
from handfast.django.endpoint import endpoint

urlpatterns = [path("agents/mcp/", include(urls))]


def test_the_endpoint_is_where_the_project_puts_it() -> None:
    address = reverse("handfast:mcp", urlconf=__name__)
    assert address == "/agents/mcp/"
    assert resolve(address, urlconf=__name__).func is endpoint
