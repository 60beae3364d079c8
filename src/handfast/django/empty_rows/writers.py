"""Which models the create tools of a project write, and through which serializers."""

from collections.abc import Iterable

from handfast.django.discovery.schemas.model_values import Model
from handfast.django.discovery.tool import ViewTool
from handfast.django.discovery.tool_view import ask_tool, input_serializer
from handfast.django.discovery.views.guarded_calls import without_database
from handfast.django.empty_rows.emptiness import Emptiness, Unsearchable, Writer, emptiness_of


def emptiness_by_model(tools: Iterable[ViewTool]) -> list[Emptiness | Unsearchable]:
    """The rule for every model that a create tool writes, in the order of their labels."""
    writers: dict[Model, list[Writer]] = {}
    with without_database(on_request=True):
        for tool in tools:
            if tool.action == "create" and (written := _written(tool)) is not None:
                model, writer = written
                writers.setdefault(model, []).append(writer)
        rules = [emptiness_of(model, found) for model, found in writers.items()]
    return sorted(rules, key=lambda rule: rule.label)


def _written(tool: ViewTool) -> tuple[Model, Writer] | None:
    asked = ask_tool(tool)
    serializer = None if asked is None else input_serializer(tool, asked)
    if asked is None or serializer is None:
        return None
    own: Model | None = getattr(getattr(serializer, "Meta", None), "model", None)
    model = own or asked.model
    # A proxy has no rows of its own.
    concrete = None if model is None else model._meta.concrete_model
    return None if concrete is None else (concrete, Writer(tool.name, serializer))
