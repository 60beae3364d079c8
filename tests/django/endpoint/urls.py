"""The project's urls, with the endpoint among them."""

from django.urls import re_path

from handfast.django.endpoint import endpoint
from tests.django.endpoint.suite_views import urlpatterns as suite
from tests.django.project.urls import urlpatterns as project

urlpatterns = [re_path(r"^mcp/?$", endpoint), *project, *suite]
