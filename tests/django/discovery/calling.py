"""Calls a tool as its url would be called, with nothing but what discovery says of it."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from rest_framework.response import Response
from rest_framework.test import APIRequestFactory

from handfast.django.discovery import QueryParameter, ViewTool, discover

TOOLS = {tool.name: tool for tool in discover()}


def call(tool: ViewTool, arguments: Mapping[str, Any]) -> tuple[int, Any]:
    """The status and the decoded answer."""
    target = tool.path.target(arguments)
    query = [pair for one in tool.query if one.name in arguments for pair in _pairs(one, arguments[one.name])]
    body = None if tool.body is None else {name: arguments[name] for name in tool.body if name in arguments}
    request = APIRequestFactory().generic(
        tool.method,
        f"{target.path}?{urlencode(query)}",
        "" if body is None else json.dumps(body),
        content_type="application/json",
    )
    response = tool.callback(request, **target.kwargs)
    assert isinstance(response, Response)
    content = response.render().content
    return response.status_code, json.loads(content) if content else None


def _pairs(one: QueryParameter, value: object) -> list[tuple[str, str]]:
    values = [_text(item) for item in value] if isinstance(value, list) else [_text(value)]
    return [(one.name, ",".join(values))] if one.style == "comma" else [(one.name, text) for text in values]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
