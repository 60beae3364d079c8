"""Urls of the help desk, as it documents them."""

from django.urls import include, path

urlpatterns = [
    path("helpdesk/", include("helpdesk.urls")),
    path("mcp/", include("handfast.django.urls")),
]
