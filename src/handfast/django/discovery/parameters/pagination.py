"""Pages of a list: the parameters that choose one, and the schema of what comes back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rest_framework import pagination
from rest_framework.views import APIView

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.problems import DiscoveryProblems, ProblemId, dotted_name
from handfast.django.discovery.schemas.json_schemas import from_openapi, object_schema, query_parameters
from handfast.django.discovery.tool import QueryParameter
from handfast.django.discovery.views.overridden import is_own_way, is_untouched

_LINK: Final[Json] = {"type": ["string", "null"], "format": "uri"}
_COUNT: Final[Json] = {"type": "integer"}
_ITEMS: Final = "all-items"  # no class can have this name


@dataclass(frozen=True, slots=True)
class Pages:
    """How a list is paged; `of` makes the schema of the answer from that of all its items."""

    parameters: tuple[QueryParameter, ...]
    of: Callable[[Json], Json]


def read_pages(view: APIView, findings: DiscoveryProblems) -> Pages:
    """Reads the pagination class of a view, where the view leaves paging to it."""
    if not all(is_untouched(type(view), name) for name in ("paginate_queryset", "get_paginated_response", "paginator")):
        return Pages((), lambda _: {})
    cls = getattr(view, "pagination_class", None)
    return Pages((), lambda items: items) if cls is None else _pages(cls(), view, findings)


def _pages(paginator: Any, view: APIView, findings: DiscoveryProblems) -> Pages:  # Any: a paginator of any class
    match paginator:
        case pagination.PageNumberPagination():
            parameters, size, by = _by_number(paginator), paginator.page_size, paginator.page_size_query_param
        case pagination.LimitOffsetPagination():
            parameters, size, by = _by_offset(paginator), paginator.default_limit, paginator.limit_query_param
        case pagination.CursorPagination():
            parameters, size, by = _by_cursor(paginator), paginator.page_size, paginator.page_size_query_param
        case _:
            written = query_parameters(paginator.get_schema_operation_parameters(view))
            return Pages(tuple(written), _page_schema(paginator, findings))
    if not size and not by:
        return Pages((), lambda items: items)
    page = _page_schema(paginator, findings)
    if size and _always_cuts(type(paginator)):
        return Pages(tuple(parameters), page)
    return Pages(tuple(parameters), lambda items: _either(page, items))


def _always_cuts(cls: type) -> bool:
    """Whether every answer is a page: no code of the project decides it for each call."""
    return all(is_own_way(cls, name) for name in ("paginate_queryset", "get_page_size", "get_limit"))


def _either(page: Callable[[Json], Json], items: Json) -> Json:
    """The schema of one page or of all items; the schema of the items is written once."""
    once = {"$ref": f"#/$defs/{_ITEMS}"}
    cut = page(once)
    return {"anyOf": [cut, once], "$defs": {_ITEMS: items}} if cut and items else {}


def _page_schema(paginator: Any, findings: DiscoveryProblems) -> Callable[[Json], Json]:  # Any: as above
    cls = type(paginator)
    if is_own_way(cls, "get_paginated_response"):
        has_count = not isinstance(paginator, pagination.CursorPagination)
        return lambda items: _page({"count": _COUNT} if has_count else {}, items)
    if not is_own_way(cls, "get_paginated_response_schema"):
        return lambda items: from_openapi(paginator.get_paginated_response_schema(items))
    findings.add(
        ProblemId.PAGES_UNKNOWN,
        "Makes its pages itself and does not say what they look like.",
        hint="Write get_paginated_response_schema(), beside get_paginated_response().",
        where=dotted_name(cls),
    )
    return lambda _: {}


def _page(first: Json, items: Json) -> Json:
    properties = {**first, "next": dict(_LINK), "previous": dict(_LINK), "results": items}
    return object_schema(properties, properties)


def _by_number(paginator: pagination.PageNumberPagination) -> list[QueryParameter]:
    page = _whole(1, description="Which page, from 1.")
    size = _size(paginator.page_size_query_param, paginator.page_size, paginator.max_page_size)
    return [QueryParameter(paginator.page_query_param, page), *size]


def _by_offset(paginator: pagination.LimitOffsetPagination) -> list[QueryParameter]:
    offset = _whole(0, description="How many items to skip.")
    size = _size(paginator.limit_query_param, paginator.default_limit, paginator.max_limit)
    return [*size, QueryParameter(paginator.offset_query_param, offset)]


def _by_cursor(paginator: pagination.CursorPagination) -> list[QueryParameter]:
    key = paginator.cursor_query_param
    cursor = {"type": "string", "description": f"The `{key}` in the `next` or `previous` link of another page."}
    size = _size(paginator.page_size_query_param, paginator.page_size, paginator.max_page_size)
    return [QueryParameter(key, cursor), *size]


def _size(name: str | None, default: int | None, most: int | None) -> list[QueryParameter]:
    if not name:
        return []
    bounds: Json = ({"maximum": most} if most else {}) | ({"default": default} if default else {})
    return [QueryParameter(name, _whole(1, description="How many items on a page.", **bounds))]


def _whole(least: int, **more: object) -> Json:
    return {"type": "integer", "minimum": least, **more}
