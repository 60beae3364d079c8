"""The tools that write through a serializer, each with all the code that takes part in a write."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from rest_framework.serializers import ModelSerializer

from handfast.django.discovery.drf_types import AnyField, AnyObjectSerializer
from handfast.django.discovery.problems import dotted_name
from handfast.django.discovery.schemas.model_values import Model
from handfast.django.discovery.schemas.serializers import is_writable
from handfast.django.discovery.tool import ViewTool
from handfast.django.discovery.tool_view import ask_tool, input_serializer
from handfast.django.discovery.views.overridden import is_framework, is_own_way, names_in

_METHODS: Final = {"create": "create", "update": "update", "partial_update": "update"}
# Members by which a serializer may refuse what it was sent, or change it.
_VALIDATION: Final = ("validate", "run_validation", "to_internal_value", "is_valid", "validated_data")
_REFUSALS: Final = ("Error", "Exception", "Denied", "Invalid", "NotFound")


@dataclass(frozen=True)
class Write:
    """A tool that writes through a serializer. `method` is the serializer's method that stores what was sent."""

    tool: ViewTool
    serializer: AnyObjectSerializer
    method: str

    @property
    def where(self) -> str:
        return dotted_name(type(self.serializer))

    @cached_property
    def fields(self) -> dict[str, AnyField]:
        """The fields that a caller can send."""
        return {name: one for name, one in self.serializer.fields.items() if is_writable(one)}

    @property
    def model(self) -> Model | None:
        """The model that a model serializer writes; None for other serializers."""
        found: Model | None = None
        if isinstance(self.serializer, ModelSerializer):
            found = getattr(getattr(self.serializer, "Meta", None), "model", None)
        return found

    @property
    def validates_as_stock(self) -> bool:
        own_validators = [one for one in self.serializer.validators if not is_framework(type(one))]
        return not own_validators and all(is_own_way(type(self.serializer), name) for name in _VALIDATION)

    @property
    def stores_as_stock(self) -> bool:
        """Whether no code of the project runs between the call and the row, except that of the model."""
        in_view = (self.tool.handler, self.tool.action, f"perform_{self.method}")
        in_serializer = (self.method, "save")
        return all(is_own_way(self.tool.view, name) for name in in_view) and all(
            is_own_way(type(self.serializer), name) for name in in_serializer
        )

    @property
    def may_be_refused(self) -> bool:
        """Whether the project's code that stores what was sent raises errors of its own."""
        places = [
            (self.tool.view, f"perform_{self.method}"),
            *((type(self.serializer), n) for n in (self.method, "save")),
        ]
        return any(_raises(getattr(cls, name)) for cls, name in places if not is_own_way(cls, name))

    def mentions(self) -> frozenset[str]:
        """Every string constant in the project's own code of the view and the serializer."""
        classes = [*type(self.serializer).__mro__, *self.tool.view.__mro__]
        own = [member for cls in classes if not is_framework(cls) for member in vars(cls).values()]
        return frozenset().union(*(names_in(member).words for member in own))


def _raises(function: Any) -> bool:  # Any: whatever stands in a class body
    used = names_in(function)
    return any(name.endswith(_REFUSALS) for name in used.variables | used.attributes)


def find_writes(tools: Iterable[ViewTool]) -> Iterator[Write]:
    for tool in tools:
        method = _METHODS.get(tool.action)
        asked = ask_tool(tool) if method is not None and tool.input_serializer is not None else None
        serializer = None if asked is None else input_serializer(tool, asked)
        if method is not None and serializer is not None:
            yield Write(tool, serializer, method)
