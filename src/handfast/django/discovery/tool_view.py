"""The view behind a tool, as it would be in an anonymous call, for questions beyond those of discovery."""

from collections.abc import Callable
from typing import Any, TypeVar

from rest_framework.permissions import BasePermission
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from handfast.django.discovery.drf_types import AnyObjectSerializer
from handfast.django.discovery.problems import DiscoveryProblems
from handfast.django.discovery.tool import ViewTool
from handfast.django.discovery.views.bare_view import AskedView, ask_view, bare_view
from handfast.django.discovery.views.guarded_calls import DatabaseAsked, Raised, ask_rows
from handfast.django.discovery.views.operations import Operation, find_view
from handfast.django.discovery.views.overridden import read_handler

T = TypeVar("T")


def ask_tool(tool: ViewTool) -> AskedView | None:
    """The answers of a tool's view; None where it raises, which discovery has reported already."""
    view = find_view(tool.callback)
    if view is None:
        return None
    code = read_handler(tool.view, tool.handler)
    operation = Operation(tool.method.lower(), tool.action, tool.handler, code, None)
    groups = [parameter.group for parameter in tool.path.parameters]
    return _answer(lambda: ask_view(view, operation, bare_view(view, operation, groups), DiscoveryProblems()))


def input_serializer(tool: ViewTool, asked: AskedView) -> AnyObjectSerializer | None:
    """The serializer that reads the tool's arguments; None where there is none, or none with fields to list."""
    one: Any = getattr(asked.serializer, "child", asked.serializer)  # Any: a serializer, or the one inside a list
    chosen = tool.input_serializer
    if chosen is not None and type(one) is not chosen:  # the author named another
        one = _answer(lambda: chosen(context={"request": asked.view.request}))
    if chosen is None or not isinstance(one, Serializer):
        return None
    return one if _answer(lambda: one.fields) is not None else None


def permissions_of(view: APIView) -> list[BasePermission] | None:
    """The permissions that the view would check; None where it cannot say."""
    answer: Any = _answer(view.get_permissions)  # Any: the stubs allow more than there is
    return None if answer is None else list(answer)


def _answer(question: Callable[[], T]) -> T | None:
    """The answer to a question; None where it raises, or needs a database that may not be queried."""
    try:
        answer = ask_rows(question)
    except DatabaseAsked:
        return None
    return None if isinstance(answer, Raised) else answer.value
