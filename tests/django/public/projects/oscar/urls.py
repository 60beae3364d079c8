"""Urls of the shop's API, as it documents them."""

from django.urls import include, path

urlpatterns = [
    path("api/", include("oscarapi.urls")),
    path("mcp/", include("handfast.django.urls")),
]
