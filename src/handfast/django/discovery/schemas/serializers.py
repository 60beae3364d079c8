"""Serializers as JSON Schema, each class described once, however many views use it."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, Literal, TypeAlias

from rest_framework.serializers import (
    BaseSerializer,
    DictField,
    HiddenField,
    ListField,
    ListSerializer,
    ManyRelatedField,
    Serializer,
)

from handfast.django.discovery.drf_types import AnyField, AnyObjectSerializer, AnySerializer, Json
from handfast.django.discovery.problems import DiscoveryProblems, ProblemId, dotted_name
from handfast.django.discovery.schemas.field_schemas import input_of, output_of
from handfast.django.discovery.schemas.json_schemas import object_schema
from handfast.django.discovery.schemas.model_values import Model
from handfast.django.discovery.schemas.return_types import returned_schema
from handfast.django.discovery.views.overridden import is_own_way

Direction: TypeAlias = Literal["input", "partial", "output"]

_ROOT: Final = "#/$defs/"
_DEEPEST: Final = 4  # serializers of one class inside each other, each made with other options
# Options that change nothing about the fields of a serializer.
_PLAIN: Final = frozenset(
    (
        *("read_only", "write_only", "required", "default", "initial", "source", "label", "help_text", "style"),
        *("error_messages", "validators", "allow_null", "allow_empty", "min_length", "max_length"),
        *("instance", "data", "partial", "context", "many", "child"),
    )
)
# Fields with others inside them, for whose schemas a partial change has other rules.
_CONTAINERS: Final = (BaseSerializer, DictField, ListField)


@dataclass(frozen=True, slots=True)
class Shape:
    """A schema, and the definitions its references lead to. `pending` are those still being made."""

    schema: Json
    definitions: Json = field(default_factory=dict)
    pending: frozenset[str] = frozenset()

    @property
    def whole(self) -> Json:
        """The schema with its definitions, complete by itself."""
        return {**self.schema, "$defs": self.definitions} if self.definitions else self.schema

    @property
    def body(self) -> Json:
        """The schema of the object itself, also where `schema` is only a reference to it."""
        reference = self.schema.get("$ref", "")
        found: Json = self.definitions.get(reference.removeprefix(_ROOT), self.schema)
        return found


class Shapes:
    """All the serializers that were described so far."""

    def __init__(self, findings: DiscoveryProblems) -> None:
        self._findings = findings
        self._known: dict[tuple[type, Direction], Shape] = {}
        self._typical: dict[type, AnySerializer] = {}
        self._names: dict[type, str] = {}

    def of(self, serializer: AnySerializer, direction: Direction, outer: tuple[type, ...] = ()) -> Shape:
        """What a serializer takes or sends; `outer` are the classes of the serializers around it."""
        if isinstance(serializer, ListSerializer):
            child = self.of(serializer.child, direction, outer)  # type: ignore[arg-type]  # a serializer
            return Shape({"type": "array", "items": child.schema}, child.definitions, child.pending)
        cls = type(serializer)
        if (known := self._known.get((cls, direction))) is not None and _is_plain(serializer):
            return known
        if cls in outer:
            if _is_plain(serializer):
                name = self._name(cls)
                return Shape({"$ref": f"{_ROOT}{name}"}, {}, frozenset([name]))
            if outer.count(cls) >= _DEEPEST:
                return Shape({})
        is_typical = _is_plain(serializer) and _is_fixed(cls)
        if is_typical:  # making the fields is most of the work, and all instances have the same
            serializer = self._typical.setdefault(cls, serializer)
        shape = self._loosened(serializer, direction) if is_typical else None
        if shape is None:
            shape = self._closed(self._described(serializer, direction, (*outer, cls)), cls)
        if not shape.pending and is_typical:
            self._known[cls, direction] = shape
        return shape

    def _loosened(self, serializer: Any, direction: Direction) -> Shape | None:  # Any: its fields are not in all stubs
        """The partial shape: the input shape without required fields and defaults; None where that cannot be done."""
        known = self._known.get((type(serializer), "input"))
        if direction != "partial" or known is None or "properties" not in known.schema:
            return None
        if any(isinstance(one, _CONTAINERS) for one in serializer.fields.values()):
            return None
        properties = known.schema["properties"].items()
        return Shape(
            object_schema({name: {k: v for k, v in one.items() if k != "default"} for name, one in properties})
        )

    def _closed(self, shape: Shape, cls: type) -> Shape:
        """Moves the schema of a class that contains itself into a definition."""
        name = self._names.get(cls, "")
        if name not in shape.pending:
            return shape
        definitions = {**shape.definitions, name: shape.schema}
        return Shape({"$ref": f"{_ROOT}{name}"}, definitions, shape.pending - {name})

    def _name(self, cls: type) -> str:
        if cls not in self._names:
            base = cls.__name__.removesuffix("Serializer") or cls.__name__
            numbered = (f"{base}{number}" if number > 1 else base for number in count(1))
            taken = set(self._names.values())
            self._names[cls] = next(name for name in numbered if name not in taken)
        return self._names[cls]

    def _described(self, serializer: AnySerializer, direction: Direction, outer: tuple[type, ...]) -> Shape:
        if direction == "output" and not _sends_its_fields(type(serializer)):
            return Shape(self._rewritten(type(serializer)))
        if not isinstance(serializer, Serializer):
            return Shape({})
        scope = _Scope(self, self._findings, serializer, direction, outer)
        schema = scope.output() if direction == "output" else scope.input()
        return Shape(schema, scope.definitions, frozenset(scope.pending))

    def _rewritten(self, cls: type) -> Json:
        """The schema of a serializer that makes its output in its own way, as far as its annotation says."""
        said = returned_schema(getattr(cls, "to_representation"))  # noqa: B009 - the stubs know it on instances only
        if said is None:
            self._findings.add(
                ProblemId.OUTPUT_REWRITTEN,
                "Makes its output itself, so nothing is said about what comes out.",
                hint="Annotate to_representation(), with a TypedDict say, or name the result with @mcp_tool(output=…).",
                where=dotted_name(cls),
            )
        return said or {}


def _is_plain(serializer: Any) -> bool:  # Any: what it was made with is in no stub
    return not serializer._args and serializer._kwargs.keys() <= _PLAIN


def _is_fixed(cls: type) -> bool:
    """Whether every instance has the same fields, for every caller."""
    return all(is_own_way(cls, name) for name in ("__init__", "get_fields", "fields", "get_extra_kwargs"))


def _sends_its_fields(cls: type) -> bool:
    return is_own_way(cls, "to_representation") and is_own_way(cls, "data") and issubclass(cls, Serializer)


def is_writable(one: AnyField) -> bool:
    """Whether a call can send the field. A list of read-only relations is not read-only itself, and may be required."""
    only_read = one.read_only or isinstance(one, HiddenField)
    return not (only_read or (isinstance(one, ManyRelatedField) and one.child_relation.read_only and not one.required))


class _Scope:
    """One serializer while its fields are described."""

    def __init__(
        self,
        shapes: Shapes,
        findings: DiscoveryProblems,
        serializer: AnyObjectSerializer,
        direction: Direction,
        outer: tuple[type, ...],
    ) -> None:
        self._shapes = shapes
        self._findings = findings
        self._serializer = serializer
        self._direction = direction
        self._outer = outer
        self._field = ""
        self.definitions: Json = {}
        self.pending: set[str] = set()

    @property
    def model(self) -> Model | None:
        model = getattr(getattr(self._serializer, "Meta", None), "model", None)
        return model if isinstance(model, type) else None

    @property
    def is_partial(self) -> bool:
        return self._direction == "partial"

    def nested(self, serializer: AnySerializer) -> Json:
        shape = self._shapes.of(serializer, self._direction, self._outer)
        self.definitions |= shape.definitions
        self.pending |= shape.pending
        return shape.schema

    def note_open(self, why: str, hint: str) -> None:
        self._findings.add(
            ProblemId.FIELD_OPEN,
            f"An agent cannot know what {'it holds' if self._direction == 'output' else 'to send for it'}: {why}.",
            hint=hint,
            where=f"{dotted_name(type(self._serializer))}.{self._field}",
        )

    def input(self) -> Json:
        properties: Json = {}
        required: list[str] = []
        for name, one in self._serializer.fields.items():
            if not is_writable(one):
                continue
            self._field = name
            properties[name] = input_of(one, self)
            if one.required and not self.is_partial:
                required.append(name)
        return object_schema(properties, required)

    def output(self) -> Json:
        properties: Json = {}
        required: list[str] = []
        for name, one in self._serializer.fields.items():
            if one.write_only:
                continue
            self._field = name
            properties[name], is_there = output_of(one, self)
            if is_there:
                required.append(name)
        return object_schema(properties, required)
