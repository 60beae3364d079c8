"""The endpoint's urls: `path("mcp/", include("handfast.django.urls"))`; with `"mcp"` the slash can be left out."""

from django.urls import re_path

from handfast.django.endpoint import endpoint

app_name = "handfast"
# A slash may follow: below "mcp", both /mcp and /mcp/ lead here, and Django has no reason to redirect a POST. It is
# written as a group, since a pattern that begins with a slash is warned about (urls.W002).
urlpatterns = [re_path(r"^(?:/)?\Z", endpoint, name="mcp")]
