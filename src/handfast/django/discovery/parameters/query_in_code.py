"""Parameters of a query that only code knows: `request.query_params.get("status")` in a view, a filter, a paginator."""

import dis
import inspect
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any, Final

from rest_framework.settings import api_settings

from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.tool import QueryParameter
from handfast.django.discovery.views.bare_view import AskedView
from handfast.django.discovery.views.operations import Operation
from handfast.django.discovery.views.overridden import is_framework, is_own_way, names_in, with_inner

_QUERIES: Final = ("query_params", "GET")
_READS: Final = ("get", "getlist")
# The methods of a view that the framework's own methods call.
_CALLED_BY: Final = {
    "get_object": ("get_queryset",),
    "get_serializer": ("get_serializer_class", "get_serializer_context"),
}
_PAGING: Final = ("paginate_queryset", "get_page_size", "get_limit", "get_offset", "get_page_number")
_ONE: Final = ("string", "number", "boolean")


def parameters_in_code(operation: Operation, asked: AskedView) -> list[QueryParameter]:
    """The parameters that the project's own code reads from the query of a read; their values are not known."""
    found: dict[str, str] = {}
    for function in _functions(operation, asked):
        found.update(names_read(function))
    for taken in (*asked.view.kwargs, api_settings.URL_FORMAT_OVERRIDE):
        found.pop(taken, None)
    return [QueryParameter(name, _schema(way)) for name, way in sorted(found.items())]


def _schema(way: str) -> Json:
    if way == "getlist":
        return {"type": ["array", *_ONE], "items": {"type": list(_ONE)}}
    return {"type": list(_ONE)}


def _functions(operation: Operation, asked: AskedView) -> Iterator[Any]:  # Any: whatever stands in class bodies
    own = _own(type(asked.view))
    pending, seen = [operation.handler, *operation.code.uses], set[str]()
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending.extend(_CALLED_BY.get(name, ()))
            for function in own.get(name, ()):
                yield function
                pending.extend(names_in(function).own)
    if "filter_queryset" in operation.code.uses:
        for backend in getattr(asked.view, "filter_backends", None) or ():
            yield from _undeclared(backend, ("filter_queryset",))
    if "paginate_queryset" in operation.code.uses:
        yield from _undeclared(getattr(asked.view, "pagination_class", None), _PAGING)


def _own(cls: type) -> dict[str, list[Any]]:  # Any: as above
    """The members of the project's own classes, by name."""
    found: dict[str, list[Any]] = {}
    for base in cls.__mro__:
        if not is_framework(base) and base is not object:
            for name, value in vars(base).items():
                found.setdefault(name, []).append(value)
    return found


def _undeclared(
    cls: Any, names: tuple[str, ...]
) -> Iterator[Any]:  # Any: a class of the project's, or what it has there
    """The methods of these names, in a class that does not describe the parameters that it reads."""
    if isinstance(cls, type) and is_own_way(cls, "get_schema_operation_parameters"):
        own = _own(cls)
        for name in names:
            yield from own.get(name, ())


def names_read(function: Any) -> dict[str, str]:  # Any: as above
    """The parameters that a function reads by name, and how: `get` or `getlist`."""
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    return dict(_read_in(code)) if isinstance(code, CodeType) else {}


@lru_cache(maxsize=4096)
def _read_in(code: CodeType) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for part in with_inner(code):
        steps = [step for step in dis.get_instructions(part) if step.opname not in ("CACHE", "PUSH_NULL")]
        for query, read, key in zip(steps, steps[1:], steps[2:], strict=False):
            if query.argval not in _QUERIES or not query.opname.endswith("_ATTR"):
                continue
            if read.argval in _READS and read.opname.endswith(("_ATTR", "_METHOD")) and _is_text(key):
                found[key.argval] = read.argval
            elif _is_text(read) and key.opname.startswith("BINARY"):
                found.setdefault(read.argval, "get")
    return tuple(found.items())


def _is_text(step: dis.Instruction) -> bool:
    return step.opname == "LOAD_CONST" and isinstance(step.argval, str)
