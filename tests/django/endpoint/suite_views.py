"""What the official suite calls by name, as views of a REST API."""

from typing import Any, Final

from django.urls import path
from rest_framework.decorators import api_view
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response

from handfast.django.decorators import mcp_tool

_KEYWORDS: Final[dict[str, Any]] = {  # Any: JSON Schema; the suite wants to see every part of it again
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
_REGION: Final[dict[str, Any]] = {  # Any: as above
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
}


@mcp_tool(name="test_error_handling", input={"type": "object", "properties": {}})
@api_view(["POST"])
def fail(request: Request) -> Response:
    raise APIException


@mcp_tool(name="json_schema_2020_12_tool", input=_KEYWORDS)
@api_view(["POST"])
def describe(request: Request) -> Response:
    return Response(request.data)


@mcp_tool(name="a_region", input=_REGION)
@api_view(["POST"])
def region(request: Request) -> Response:
    return Response(request.data)


urlpatterns = [path("suite/fail/", fail), path("suite/describe/", describe), path("suite/region/", region)]
