"""An endpoint that tells who calls and what they are shown, behind Django's own middleware."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.test import Client
from django.test.utils import override_settings
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from handfast.django.access import CallerRefused, identify_caller, label, usable_tools
from handfast.django.discovery import discover
from tests.django.access import guarded

TOOLS = discover(guarded.__name__)
STOCK = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]


@csrf_exempt
def endpoint(request: HttpRequest) -> JsonResponse:
    try:
        caller = identify_caller(request)
    except CallerRefused as refused:
        return JsonResponse({"refused": refused.message}, status=refused.status, headers=refused.headers)
    shown = [tool.name for tool in usable_tools(caller, TOOLS, request)]
    body = json.loads(request.body)  # still there, whatever was asked on the way
    return JsonResponse({"label": label(caller), "user": request.user.get_username(), "shown": shown, "body": body})


urlpatterns = [path("mcp/", endpoint)]


@contextmanager
def serving(*authenticators: str) -> Iterator[Client]:
    """A client of the endpoint, in a project with these default authenticators."""
    defaults = {"DEFAULT_AUTHENTICATION_CLASSES": authenticators, "DEFAULT_PERMISSION_CLASSES": []}
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=STOCK, REST_FRAMEWORK=defaults):
        yield Client()


def ask(client: Client, headers: Mapping[str, str] | None = None) -> Any:
    """What the endpoint says, in JSON."""
    message = {"method": "tools/list"}
    answer = client.post("/mcp/?a=1", message, content_type="application/json", headers=headers)
    assert (answer.status_code, answer.json().pop("body", None)) in [(200, message), (401, None)]
    return answer
