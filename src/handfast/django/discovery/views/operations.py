"""The views of a project that are REST framework's, and the operations of each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from rest_framework.generics import GenericAPIView
from rest_framework.routers import APIRootView
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from handfast.django.decorators import UNMARKED, ToolMark, is_excluded, mark_of
from handfast.django.discovery.drf_types import ViewFunction
from handfast.django.discovery.problems import OF_FUNCTION, dotted_name
from handfast.django.discovery.views.overridden import CRUD, HandlerCode, read_handler

METHODS: Final = ("get", "post", "put", "patch", "delete")
_DEEPEST: Final = 8  # decorators around a view


@dataclass(frozen=True, slots=True)
class FoundView:
    """A view behind a url pattern, whatever is wrapped around it."""

    cls: type[APIView]
    callback: ViewFunction
    initkwargs: Mapping[str, Any]  # Any: whatever as_view() was given
    actions: Mapping[str, str] | None  # a viewset's
    mark: ToolMark | None = None  # on the function

    @property
    def is_viewset(self) -> bool:
        return self.actions is not None

    @property
    def is_function(self) -> bool:
        """Whether `@api_view` made the class."""
        return self.cls.__qualname__ == OF_FUNCTION

    @property
    def name(self) -> str:
        """The dotted name that its author would look for."""
        return dotted_name(self.cls)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a view, which may become one tool."""

    method: str
    action: str
    handler: str  # the method of the view that does it
    code: HandlerCode
    mark: ToolMark | None
    url_path: str | None = None  # of an extra action
    shares_action: bool = False  # another method of the same url has an action of this name

    @property
    def is_read(self) -> bool:
        return self.method == "get"


def find_view(callback: ViewFunction) -> FoundView | None:
    """The view that a url pattern leads to; None where it is not REST framework's."""
    marks: list[ToolMark] = []
    for inner in _layers(callback):
        if (mark := mark_of(inner)) is not None:
            marks.append(mark)
        cls = getattr(inner, "cls", None)
        if isinstance(cls, type) and issubclass(cls, APIView):
            actions = getattr(inner, "actions", None) if issubclass(cls, ViewSetMixin) else None
            mark = next(iter([*marks, *_marks_inside(cls)]), None)
            return FoundView(cls, callback, dict(getattr(inner, "initkwargs", {})), actions, mark)
    return None


def _layers(callback: Any) -> Iterator[Any]:  # Any: functions, partials, objects that can be called
    """A view function and everything that it wraps, also where a decorator does not set `__wrapped__`."""
    pending = [callback]
    for _ in range(_DEEPEST):
        if not pending:
            return
        current = pending.pop(0)
        yield current
        if isinstance(current, partial):
            pending.append(current.func)
        elif (wrapped := getattr(current, "__wrapped__", None)) is not None:
            pending.append(wrapped)
        else:
            pending.extend(_closed_over(current))


def _closed_over(function: object) -> Iterator[Any]:  # Any: as above
    for cell in getattr(function, "__closure__", None) or ():
        try:
            inner = cell.cell_contents
        except ValueError:  # a name that is bound later
            continue
        if callable(inner) and not isinstance(inner, type):
            yield inner


def _marks_inside(cls: type) -> Iterator[ToolMark]:
    """The marks of `@mcp_tool` below `@api_view`, on functions that only the handlers of the class still refer to."""
    if cls.__qualname__ != OF_FUNCTION:
        return
    for method in METHODS:
        for inner in _closed_over(vars(cls).get(method)):
            if (mark := mark_of(inner)) is not None:
                yield mark


def is_left_alone(view: FoundView) -> bool:
    """Whether a view is not part of what an API offers: its root, its schema, or one that its author keeps out."""
    if issubclass(view.cls, APIRootView) or is_excluded(view.cls) or (view.mark or UNMARKED).exclude:
        return True
    is_hidden = view.initkwargs.get("schema", view.cls.schema) is None
    return is_hidden and not is_marked(view)


def is_offered(view: FoundView) -> bool:
    """Whether a view can become tools: viewsets and generic views say what they take and send; others need a mark."""
    return view.is_viewset or issubclass(view.cls, GenericAPIView) or is_marked(view)


def is_marked(view: FoundView) -> bool:
    handlers = set((view.actions or {}).values()) or set(METHODS)
    marks = [view.mark, mark_of(view.cls), *(mark_of(getattr(view.cls, name, None)) for name in handlers)]
    return any(mark is not None and not mark.exclude for mark in marks)


def operations_of(view: FoundView) -> list[Operation]:
    """The operations of a view, in the order of METHODS."""
    handled = dict(_handled(view))
    url_path = _url_path(view, handled.values())
    found = []
    for method, handler in handled.items():
        code = read_handler(view.cls, handler)
        action = handler if view.is_viewset else _named(code, method)
        found.append((method, action, handler, code))
    names = [action for _, action, _, _ in found]
    return [
        Operation(
            method,
            action,
            handler,
            code,
            mark_of(getattr(view.cls, handler, None)) or view.mark,
            url_path,
            names.count(action) > 1,
        )
        for method, action, handler, code in found
    ]


def _handled(view: FoundView) -> Iterator[tuple[str, str]]:
    allowed = [name.lower() for name in view.initkwargs.get("http_method_names", view.cls.http_method_names)]
    for method in METHODS:
        handler = method if view.actions is None else view.actions.get(method)
        if method in allowed and isinstance(handler, str) and hasattr(view.cls, handler):
            yield method, handler


def _named(code: HandlerCode, method: str) -> str:
    """The action of a view without actions of its own: the standard action that it calls, else the method."""
    return code.calls[0] if len(code.calls) == 1 else method


def _url_path(view: FoundView, handlers: Any) -> str | None:  # Any: a view of a dict's values
    if not view.is_viewset or all(name in CRUD for name in handlers):
        return None
    paths = (getattr(getattr(view.cls, name), "url_path", None) for name in handlers)
    return next((path for path in paths if isinstance(path, str)), None)
