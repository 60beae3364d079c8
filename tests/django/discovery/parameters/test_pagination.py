"""Pages of every pagination class: their parameters, and the schema that their answers meet."""

from typing import Any

import pytest
from rest_framework import generics, pagination
from rest_framework.response import Response

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.parameters.pagination import Pages, read_pages
from handfast.django.discovery.problems import DiscoveryProblem, DiscoveryProblems, ProblemId

ITEMS: Json = {"type": "array", "items": {"type": "integer"}}
LINK: Json = {"type": ["string", "null"], "format": "uri"}


def pages(cls: Any, findings: DiscoveryProblems | None = None, base: Any = generics.ListAPIView) -> Pages:
    view = type("Some", (base,), {"pagination_class": cls})()
    return read_pages(view, findings or DiscoveryProblems())


def named(found: Pages) -> dict[str, Json]:
    return {parameter.name: parameter.schema for parameter in found.parameters}


def page(**first: Json) -> Json:
    properties = {**first, "next": LINK, "previous": LINK, "results": ITEMS}
    return {"type": "object", "properties": properties, "required": list(properties)}


COUNTED = page(count={"type": "integer"})
PAGE: Json = {"type": "integer", "minimum": 1, "description": "Which page, from 1."}
SIZE: Json = {"type": "integer", "minimum": 1, "description": "How many items on a page."}


def either(cut: Json) -> Json:
    reference = {"$ref": "#/$defs/all-items"}
    inside = {**cut, "properties": {**cut["properties"], "results": reference}}
    return {"anyOf": [inside, reference], "$defs": {"all-items": ITEMS}}


class Numbered(pagination.PageNumberPagination):
    page_size: int | None = 20


class Sized(Numbered):
    page_query_param = "p"
    page_size_query_param = "size"
    max_page_size = 50


class OnRequest(Sized):
    page_size = None


class Never(Numbered):
    page_size = None


class Switched(Sized):
    def paginate_queryset(self, *args: Any, **kwargs: Any) -> Any:
        return None


class Offsets(pagination.LimitOffsetPagination):
    default_limit = 10
    max_limit = 100


class Cursors(pagination.CursorPagination):
    page_size = 5


def test_no_class_is_the_list_itself() -> None:
    found = pages(None)
    assert (found.parameters, found.of(ITEMS)) == ((), ITEMS)


@pytest.mark.parametrize(
    ("cls", "parameters", "schema"),
    [
        (Numbered, {"page": PAGE}, COUNTED),
        (Sized, {"p": PAGE, "size": {**SIZE, "maximum": 50, "default": 20}}, COUNTED),
        (OnRequest, {"p": PAGE, "size": {**SIZE, "maximum": 50}}, either(COUNTED)),
        (Never, {}, ITEMS),
        (Switched, {"p": PAGE, "size": {**SIZE, "maximum": 50, "default": 20}}, either(COUNTED)),
        (
            Offsets,
            {
                "limit": {**SIZE, "maximum": 100, "default": 10},
                "offset": {"type": "integer", "minimum": 0, "description": "How many items to skip."},
            },
            COUNTED,
        ),
        (
            Cursors,
            {
                "cursor": {
                    "type": "string",
                    "description": "The `cursor` in the `next` or `previous` link of another page.",
                }
            },
            page(),
        ),
    ],
)
def test_pages_of_the_framework_are_known(cls: Any, parameters: dict[str, Json], schema: Json) -> None:
    found = pages(cls)
    assert (named(found), found.of(ITEMS)) == (parameters, schema)


class Enveloped(Numbered):
    def get_paginated_response(self, data: Any) -> Response:
        return Response({"items": data})

    def get_paginated_response_schema(self, schema: Json) -> Json:
        return {"type": "object", "properties": {"items": schema, "more": {"type": "string", "nullable": True}}}


class Silent(Numbered):
    def get_paginated_response(self, data: Any) -> Response:
        return Response({"items": data})


class Own(pagination.BasePagination):
    def get_paginated_response(self, data: Any) -> Response:
        return Response({"items": data})

    def get_paginated_response_schema(self, schema: Json) -> Json:
        return {"type": "object", "properties": {"items": schema}}

    def get_schema_operation_parameters(self, view: Any) -> list[Json]:
        return [{"name": "from", "in": "query", "schema": {"type": "string"}}]


def test_pages_of_the_projects_own_are_what_they_say() -> None:
    enveloped = {
        "type": "object",
        "properties": {"items": ITEMS, "more": {"type": ["string", "null"]}},
    }
    assert (named(pages(Enveloped)), pages(Enveloped).of(ITEMS)) == ({"page": PAGE}, enveloped)
    assert (named(pages(Own)), pages(Own).of(ITEMS)) == (
        {"from": {"type": "string"}},
        {"type": "object", "properties": {"items": ITEMS}},
    )


def test_pages_that_say_nothing_are_open_and_a_problem() -> None:
    findings = DiscoveryProblems()
    assert pages(Silent, findings).of(ITEMS) == {}
    assert list(findings) == [
        DiscoveryProblem(
            ProblemId.PAGES_UNKNOWN,
            "Makes its pages itself and does not say what they look like.",
            "Write get_paginated_response_schema(), beside get_paginated_response().",
            f"{__name__}.Silent",
        )
    ]


class Wrapped(generics.ListAPIView[Any]):
    def get_paginated_response(self, data: Any) -> Response:
        return Response({"wrapped": data})


def test_a_view_that_makes_its_pages_itself_is_open() -> None:
    found = pages(Numbered, base=Wrapped)
    assert (found.parameters, found.of(ITEMS)) == ((), {})
