"""Calls of the warehouse's tools, with an outer request as an MCP endpoint would have it."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import RequestFactory, override_settings

from handfast.core.answers.errors import ToolError
from handfast.django.discovery import survey
from handfast.django.discovery.tool import ViewTool
from handfast.django.invocation import invoke, invoke_each


@cache
def tools() -> dict[str, ViewTool]:
    with override_settings(ROOT_URLCONF="tests.django.depot.urls"):
        return {tool.name: tool for tool in survey("tests.django.depot.urls").tools}


def outer(user: Any = None, **headers: str) -> HttpRequest:
    """What the endpoint got: a JSON-RPC message, from whom `access` says that it is."""
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})
    accept = {"HTTP_ACCEPT": "application/json, text/event-stream"}
    factory = RequestFactory(**{"SERVER_NAME": "depot.example", **accept, **headers})  # type: ignore[arg-type]  # headers
    request: Any = factory.post("/mcp/?session=outer", message, content_type="application/json")
    if user is not None:
        request._force_auth_user = user
    made: HttpRequest = request
    return made


def call(name: str, arguments: Mapping[str, Any] | None = None, request: HttpRequest | None = None) -> Any:
    return invoke(tools()[name], arguments or {}, request or outer())


def call_each(name: str, items: list[Any], request: HttpRequest | None = None) -> Any:
    return invoke_each(tools()[name], items, request or outer())


def attempted(name: str, arguments: Mapping[str, Any] | None = None, request: HttpRequest | None = None) -> Any:
    """What a call gives, or how it is refused."""
    try:
        return call(name, arguments, request)
    except ToolError as error:
        return error


def refusal(name: str, arguments: Mapping[str, Any] | None = None, request: HttpRequest | None = None) -> ToolError:
    """How a call is refused."""
    outcome = attempted(name, arguments, request)
    assert isinstance(outcome, ToolError), outcome
    return outcome


def each_refusal(name: str, items: list[Any], request: HttpRequest | None = None) -> ToolError:
    """How a list is refused."""
    with pytest.raises(ToolError) as refused:
        call_each(name, items, request)
    return refused.value


def told(error: ToolError) -> tuple[str, str, dict[str, object]]:
    """All that an agent gets of an error."""
    return error.code, error.message, error.details
