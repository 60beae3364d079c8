"""One operation of a view put together as a tool: what it takes, where each argument goes, and what it sends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rest_framework.serializers import BaseSerializer, ListSerializer

from handfast.core.schema.declared import read_declared
from handfast.django.decorators import UNMARKED, ToolKind, ToolMark, mark_of
from handfast.django.discovery.drf_types import AnySerializer, Json
from handfast.django.discovery.parameters.filters import Filters
from handfast.django.discovery.parameters.pagination import Pages, read_pages
from handfast.django.discovery.parameters.query_in_code import parameters_in_code
from handfast.django.discovery.problems import DiscoveryProblems, ProblemId, dotted_name
from handfast.django.discovery.schemas.field_schemas import list_of
from handfast.django.discovery.schemas.serializers import Direction, Shape, Shapes
from handfast.django.discovery.tool import QueryParameter
from handfast.django.discovery.views.bare_view import AskedView, note_rows
from handfast.django.discovery.views.guarded_calls import Raised, ask_rows
from handfast.django.discovery.views.operations import FoundView, Operation
from handfast.django.discovery.views.overridden import is_untouched
from handfast.django.discovery.views.renderers import own_renderer

_WITH_BODY = ("post", "put", "patch")
_USES_SERIALIZER = frozenset(("get_serializer", "get_serializer_class", "serializer_class"))
_FIELDS = frozenset(("type", "properties", "required", "$defs", "title", "description"))  # of a root; not in Taken.rest
OBJECTS = "objects"  # where a tool takes a list that is its whole body


@dataclass(frozen=True, slots=True)
class Taken:
    """The arguments of a tool besides those of its path."""

    query: tuple[QueryParameter, ...] = ()
    properties: Json = field(default_factory=dict)  # of the body
    required: tuple[str, ...] = ()
    definitions: Json = field(default_factory=dict)
    rest: Json = field(default_factory=dict)  # what an author's own schema says beside the fields, such as allOf
    has_body: bool = False
    is_partial: bool = False
    takes_list: bool = False
    serializer: type[AnySerializer] | None = None

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.body) | {parameter.name for parameter in self.query}

    @property
    def body(self) -> tuple[str, ...]:
        """The arguments that go into the body, wherever in its schema they are declared."""
        if not self.rest:
            return tuple(self.properties)
        whole = {"properties": self.properties, "$defs": self.definitions, **self.rest}
        return read_declared(whole).names


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of a tool; {}: anything."""

    schema: Json
    is_list: bool = False
    serializer: type[AnySerializer] | None = None


class UnknownSerializer(Exception):
    """An operation writes through an unknown serializer; without arguments it would only make empty rows."""


def effective_mark(view: FoundView, operation: Operation) -> ToolMark:
    """The mark of the operation; in a class that is a single view the mark of the class fills its gaps."""
    own = operation.mark or UNMARKED
    of_class = mark_of(view.cls) or UNMARKED
    if view.is_viewset:
        return own
    return ToolMark(
        own.name,
        own.description or of_class.description,
        own.exclude,
        own.kind or of_class.kind,
        of_class.input if own.input is None else own.input,
        of_class.output if own.output is None else own.output,
    )


def kind_of(operation: Operation, mark: ToolMark) -> ToolKind:
    """The kind of a tool. A plain DELETE stays a write: HTTP asks for no reason, and callers have the same rights."""
    return mark.kind or ("read" if operation.is_read else "write")


def annotations_of(operation: Operation, kind: ToolKind) -> dict[str, bool]:
    is_read = kind == "read"
    return {
        "readOnlyHint": is_read,
        "destructiveHint": kind == "admin" or (operation.method == "delete" and not is_read),
        "idempotentHint": is_read or operation.method in ("put", "delete"),
        "openWorldHint": False,
    }


class Assembly:
    """Assembles the tools of one discovery, with the shapes, findings and filters that they share."""

    def __init__(self, shapes: Shapes, findings: DiscoveryProblems) -> None:
        self._shapes = shapes
        self._findings = findings
        self._filters = Filters(findings)

    # --- what it takes -----------------------------------------------------------------------------------------------

    def taken(self, operation: Operation, asked: AskedView, mark: ToolMark) -> Taken:
        """The arguments of an operation. Raises: UnknownSerializer."""
        has_body = operation.method in _WITH_BODY
        if mark.input is not None:
            is_partial = operation.method == "patch"
            shape, serializer = self._declared(mark.input, "partial" if is_partial else "input", asked)
            return _body(shape, serializer, is_partial=is_partial) if has_body else _query(shape)
        if has_body:
            return self._taken_by_code(operation, asked)
        return Taken(query=tuple(self._list_parameters(operation, asked)))

    def _list_parameters(self, operation: Operation, asked: AskedView) -> list[QueryParameter]:
        filters = self._filters.of(asked) if "filter_queryset" in operation.code.uses else []
        pages = self._pages(asked).parameters if "paginate_queryset" in operation.code.uses else ()
        in_code = parameters_in_code(operation, asked) if operation.is_read else ()
        found: dict[str, QueryParameter] = {}
        for parameter in (*filters, *pages, *in_code):
            found.setdefault(parameter.name, parameter)
        return list(found.values())

    def _pages(self, asked: AskedView) -> Pages:
        return read_pages(asked.view, self._findings)

    def _taken_by_code(self, operation: Operation, asked: AskedView) -> Taken:
        code = operation.code
        is_standard = operation.action in ("create", "update", "partial_update")
        by_serializer = code.reads_body and (is_standard or not _USES_SERIALIZER.isdisjoint(code.uses))
        if by_serializer or asked.is_specific:
            is_partial = operation.method == "patch" or (not is_standard and "partial" in code.words)
            shape = self._shape(asked.serializer, "partial" if is_partial else "input", asked)
            if shape is not None and shape.schema:
                return _body(shape, _class_of(asked.serializer), is_partial=is_partial)
        if code.reads_body:
            self._note_unknown(asked, is_tool=not by_serializer)
        if by_serializer:
            raise UnknownSerializer
        return Taken(has_body=True)

    def _note_unknown(self, asked: AskedView, *, is_tool: bool) -> None:
        self._findings.add(
            ProblemId.INPUT_UNKNOWN if is_tool else ProblemId.WRITE_UNKNOWN,
            "Reads the body of its request, and no serializer says what that holds; "
            + ("an agent can only call it without one." if is_tool else "it is not a tool until one does."),
            hint="Name it with @mcp_tool(input=…), or with serializer_class.",
            where=asked.where,
        )

    def _shape(self, serializer: AnySerializer | None, direction: Direction, asked: AskedView) -> Shape | None:
        """The shape of a serializer; None where there is none, or it cannot be described."""
        if serializer is None:
            return None
        answer = ask_rows(lambda: self._shapes.of(serializer, direction))
        if not isinstance(answer, Raised):
            note_rows(answer, type(serializer), self._findings)
            return answer.value
        self._findings.add(
            ProblemId.SERIALIZER_UNUSABLE,
            f"The fields of {dotted_name(type(serializer))} cannot be listed: {answer.reason}",
            hint="Let it list them without an instance and without data, for an anonymous user.",
            where=asked.where,
        )
        return None

    def _declared(
        self,
        declared: Any,  # Any: what @mcp_tool was given
        direction: Direction,
        asked: AskedView,
    ) -> tuple[Shape, type[AnySerializer] | None]:
        """The shape of a declared serializer, of its class, or of a JSON Schema as its author wrote it."""
        if isinstance(declared, Mapping):
            schema = dict(declared)
            return Shape(schema, schema.pop("$defs", {})), None
        serializer = declared(context={"request": asked.view.request}) if isinstance(declared, type) else declared
        if not isinstance(serializer, BaseSerializer):
            raise TypeError(f"{type(serializer).__name__} is neither a serializer nor a JSON Schema")
        return self._shapes.of(serializer, direction), _class_of(serializer)

    # --- what it sends -----------------------------------------------------------------------------------------------

    def sent(self, operation: Operation, asked: AskedView, mark: ToolMark) -> Sent:
        if mark.output is not None:
            shape, serializer = self._declared(mark.output, "output", asked)
            if serializer is not None and self._is_rewritten(asked):
                return Sent({}, shape.schema.get("type") == "array", serializer)
            return Sent(shape.whole, shape.schema.get("type") == "array", serializer)
        like = operation.code.answers_like
        if like is None or not all(is_untouched(type(asked.view), name) for name in ("dispatch", "finalize_response")):
            self._note_open_result(asked)
            return Sent({})
        if like == "destroy":
            return Sent({"type": "null"})
        if self._is_rewritten(asked):
            return Sent({}, like == "list", _class_of(asked.serializer))
        described = self._shape(asked.serializer, "output", asked)
        if described is None:
            return Sent({}, like == "list")
        schema = self._listed(described, asked) if like == "list" else described.whole
        return Sent(schema, like == "list", _class_of(asked.serializer))

    def _listed(self, shape: Shape, asked: AskedView) -> Json:
        if isinstance(asked.serializer, ListSerializer):
            items = shape.schema
        else:
            meta = getattr(asked.serializer, "Meta", None)
            many = getattr(meta, "list_serializer_class", ListSerializer)
            items = list_of(many, shape.schema)
        schema = self._pages(asked).of(items)
        definitions = {**shape.definitions, **schema.get("$defs", {})}
        return {**schema, "$defs": definitions} if schema and definitions else schema

    def _is_rewritten(self, asked: AskedView) -> bool:
        """Whether a renderer changes the form of what a serializer sends, so that it has no description."""
        renderer = own_renderer(asked.view)
        if renderer is None:
            return False
        self._findings.add(
            ProblemId.RESULT_OPEN,
            "Writes answers in its own way, so an agent cannot know what comes back.",
            hint="Say it with @mcp_tool(output=…) and a JSON Schema, in the words of what it writes.",
            where=dotted_name(renderer),
        )
        return True

    def _note_open_result(self, asked: AskedView) -> None:
        self._findings.add(
            ProblemId.RESULT_OPEN,
            "Makes its answer itself, so an agent cannot know what comes back.",
            hint="Say it with @mcp_tool(output=…): a serializer, or a JSON Schema.",
            where=asked.where,
        )


def _body(shape: Shape, serializer: type[AnySerializer] | None, *, is_partial: bool = False) -> Taken:
    body = shape.body
    if body.get("type") == "array":
        properties, required, takes_list = {OBJECTS: body}, (OBJECTS,), True
    else:
        properties, required, takes_list = body.get("properties", {}), tuple(body.get("required", ())), False
    return Taken(
        properties=properties,
        required=required,
        definitions=shape.definitions,
        rest={} if takes_list else _beside_fields(body),
        has_body=True,
        is_partial=is_partial,
        takes_list=takes_list,
        serializer=serializer,
    )


def _beside_fields(schema: Json) -> Json:
    return {key: part for key, part in schema.items() if key not in _FIELDS}


def _query(shape: Shape) -> Taken:
    required = shape.body.get("required", ())
    properties: Json = shape.body.get("properties", {})
    names = read_declared({**shape.body, "$defs": shape.definitions}).names
    query = tuple(QueryParameter(name, properties.get(name, {}), is_required=name in required) for name in names)
    return Taken(query, definitions=shape.definitions, rest=_beside_fields(shape.body))


def _class_of(serializer: AnySerializer | None) -> type[AnySerializer] | None:
    """The class of a serializer, or of those in a list."""
    one: AnySerializer | None = getattr(serializer, "child", serializer)
    return None if one is None else type(one)
