"""A project with other urls for the time of one test."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import clear_url_caches, include, path
from django.views.decorators.csrf import csrf_exempt


@csrf_exempt
@login_not_required
def endpoint(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


def ours(view: Any = endpoint) -> Any:  # Any: what include() takes in the place of a module
    return path("mcp/", include(([path("", view)], "handfast")))


@contextmanager
def project(*patterns: Any, **settings: Any) -> Iterator[None]:
    """A project with these urls."""
    urls: Any = ModuleType("urls_of_one_test")
    urls.urlpatterns = list(patterns)
    sys.modules[urls.__name__] = urls
    try:
        with override_settings(ROOT_URLCONF=urls.__name__, **settings):
            clear_url_caches()
            yield
    finally:
        del sys.modules[urls.__name__]
        clear_url_caches()
