"""The endpoint's urls: `path("mcp/", include("handfast.django.urls"))`."""

from django.urls import path

from handfast.django.endpoint import endpoint

app_name = "handfast"
urlpatterns = [path("", endpoint, name="mcp")]
