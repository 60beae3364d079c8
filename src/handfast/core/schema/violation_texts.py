"""Texts for violations of a schema, without the caller's values and without names that the schema does not mention."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice

from jsonschema_rs import ValidationError
from jsonschema_rs import ValidationErrorKind as Kind

from handfast.core.words import wording
from handfast.core.words.nearest import nearest
from handfast.core.words.schema_parts import SchemaParts, walk
from handfast.core.words.wording import (
    MOST_LISTED,
    MOST_NAMES,
    MOST_NESTED,
    MOST_READ,
    MOST_SHOWN,
    MOST_VIOLATIONS,
    Fact,
    Wording,
    counted,
    shown,
)

_NOWHERE = object()
# Measured: making an error takes 2 µs, and copies the value that it is about at 0.1 µs a member.
ERROR_MS, MEMBER_MS, CHARACTER_MS = 0.002, 0.0001, 0.000_01


def describe_errors(
    errors: Iterable[ValidationError], value: object, *, schema: object, names: frozenset[str], show_names: bool
) -> tuple[Wording, ...]:
    """Words the first few errors, in the order of their places in the value; equal texts only once."""
    words = _SchemaErrorWords(value, schema, names, show_names=show_names)
    found: dict[Wording, tuple[int, ...]] = {}
    for error in islice(chain.from_iterable(map(_telling, errors)), MOST_READ):
        found.setdefault(words.of(error), _order(value, error))
        if len(found) == MOST_VIOLATIONS:
            break
    return tuple(sorted(found, key=lambda worded: found[worded]))


def _order(value: object, error: ValidationError) -> tuple[int, ...]:
    match error.kind:
        case Kind.Required():
            return wording.order_of(value, error.instance_path, what=wording.MISSING)
        case Kind.AdditionalProperties() | Kind.UnevaluatedProperties():
            return wording.order_of(value, error.instance_path, what=wording.UNDECLARED)
        case _:
            return wording.order_of(value, error.instance_path)


def declared_names(schema: object) -> frozenset[str]:
    """Every property name that the schema mentions, at any depth."""
    names: set[str] = set()
    pending: list[object] = [schema]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending.extend(node)
        if isinstance(node, dict):
            pending.extend(node.values())
            properties, required = node.get("properties"), node.get("required")
            names.update(properties if isinstance(properties, dict) else ())
            names.update(name for name in (required if isinstance(required, list) else ()) if isinstance(name, str))
    return frozenset(names)


def words_cost_ms(value: object, weight: int, enough: float, *, copies_per_name: bool) -> float:
    """An upper bound of the time to make every error that this value can raise; stops counting past `enough`."""
    cost = 0.0
    # An error copies its location's value, so a member counts once for every level above it.
    pending: list[tuple[object, int]] = [(value, 1)]
    while pending and cost <= enough:
        node, depth = pending.pop()
        cost += weight * (ERROR_MS + depth * MEMBER_MS)
        if isinstance(node, str):
            cost += weight * depth * len(node) * CHARACTER_MS
        elif isinstance(node, dict):
            pending.extend([(child, depth + 1) for child in node.values()])
            cost += weight * depth * sum(map(len, node)) * CHARACTER_MS
            # An error about a name copies the whole object.
            cost += weight * len(node) ** 2 * MEMBER_MS if copies_per_name else 0
        elif isinstance(node, list):
            pending.extend([(child, depth + 1) for child in node])
    return cost


def _telling(error: ValidationError, nested: int = 0) -> Iterator[ValidationError]:
    """For alternatives, the errors of the one that was meant, if only one has the right type or tag; else the error."""
    kind = error.kind
    if nested == MOST_NESTED or not isinstance(kind, Kind.AnyOf | Kind.OneOfNotValid):
        yield error
        return
    close = [branch for branch in kind.context if not any(_is_wrong_type(problem, error) for problem in branch)]
    if len(close) > 1:
        close = [branch for branch in close if not any(_is_wrong_tag(problem, error) for problem in branch)]
    if len(close) == 1 and close[0]:
        for problem in close[0]:
            yield from _telling(problem, nested + 1)
    else:
        yield error


def _is_wrong_type(problem: ValidationError, parent: ValidationError) -> bool:
    return isinstance(problem.kind, Kind.Type) and len(problem.instance_path) == len(parent.instance_path)


def _is_wrong_tag(problem: ValidationError, parent: ValidationError) -> bool:
    """Whether a member lacks its constant value, as the tags of `{"kind": "a", …}` and `{"kind": "b", …}` do."""
    return isinstance(problem.kind, Kind.Constant) and len(problem.instance_path) == len(parent.instance_path) + 1


class _SchemaErrorWords:
    def __init__(self, value: object, schema: object, names: frozenset[str], *, show_names: bool) -> None:
        self.value = value
        self.parts = SchemaParts(schema)
        self.names = names
        self.show_names = show_names

    def of(self, error: ValidationError) -> Wording:
        path = wording.path_of(error.instance_path, self.names, show_names=self.show_names)
        return Wording(path, self.text(error), tuple(self.facts(error)))

    def facts(self, error: ValidationError) -> Iterator[Fact]:
        rule = str(error.schema_path[-1]) if error.schema_path else ""
        steps = error.instance_path
        match error.kind:
            case Kind.Required(name):
                yield Fact(
                    self.pointer([*steps, name]), rule, self.parts.kind(self.properties(error).get(name)) or None
                )
            case Kind.AdditionalProperties(unexpected) | Kind.UnevaluatedProperties(unexpected) if self.show_names:
                free = self.properties(error).keys() - self.members(error.instance_path)
                for name in unexpected[:MOST_NAMES]:
                    yield Fact(self.pointer([*steps, name]), rule, nearest="".join(nearest(name, free)))
            case _:
                expected = self.parts.at(error.schema_path) if rule in _SHORT else None
                is_short = len(json.dumps(expected, default=str)) <= MOST_LISTED
                yield Fact(self.pointer(steps), rule, expected if is_short else None)

    def pointer(self, steps: list[str | int]) -> str:
        return wording.pointer_of(steps[:MOST_SHOWN], self.names, show_names=self.show_names)

    def text(self, error: ValidationError) -> str:
        kind = error.kind
        match kind:
            case Kind.Type(types):
                return self.wrong_type(types, error)
            case Kind.Required(name):
                return wording.missing(name, self.parts.kind(self.properties(error).get(name)))
            case Kind.AdditionalProperties(unexpected) | Kind.UnevaluatedProperties(unexpected):
                allowed = self.properties(error)
                sent = allowed.keys() & self.members(error.instance_path)
                return wording.undeclared(unexpected, show_names=self.show_names, allowed=tuple(allowed), sent=sent)
            case Kind.FalseSchema() if error.schema_path[-1:] == ["additionalProperties"]:
                return "has properties, and none are allowed"
            case Kind.Enum(options):
                return wording.one_of(options)
            case Kind.Constant(expected):
                return f"must be {shown(expected)}"
            case Kind.AnyOf(context) | Kind.OneOfNotValid(context):
                return self.no_alternative(context, error)
            case Kind.Format(name):
                return wording.wrong_form(name)
            case Kind.Pattern(pattern):
                return wording.pattern(pattern)
            case Kind.PropertyNames(problem) if isinstance(problem.kind, Kind.Type):
                return "has properties, and none are allowed"  # names are strings, so no name can meet another type
            case Kind.PropertyNames(problem):
                return f"has a property whose name {self.text(problem)}"
            case _:
                return _limit(kind) or _PLAIN.get(type(kind), "does not meet the schema")

    def properties(self, error: ValidationError) -> Mapping[str, object]:
        """What the schema declares beside the keyword that the error is about."""
        found = self.parts.at(error.schema_path[:-1])
        properties = found.get("properties") if isinstance(found, dict) else None
        return properties if isinstance(properties, dict) else {}

    def wrong_type(self, types: Iterable[str], error: ValidationError) -> str:
        return wording.wrong_type(types, self.actual(error.instance_path))

    def actual(self, path: list[str | int]) -> str:
        """The type of the value at the path; found here, as the error's own copy of the value is expensive."""
        node = walk(self.value, path, _NOWHERE)
        return "what was sent" if node is _NOWHERE else wording.type_of(node)

    def members(self, path: list[str | int]) -> Iterable[str]:
        node = walk(self.value, path)
        return node if isinstance(node, dict) else ()

    def no_alternative(self, context: list[list[ValidationError]], error: ValidationError) -> str:
        types: dict[str, None] = {}
        for branch in context:
            mismatch = next((problem.kind for problem in branch if _is_wrong_type(problem, error)), None)
            if not isinstance(mismatch, Kind.Type):
                return wording.no_alternative(len(context))
            types.update(dict.fromkeys(mismatch.types))
        return self.wrong_type(types, error)


def _limit(kind: Kind) -> str:
    match kind:
        case Kind.Minimum(limit):
            return f"must be at least {shown(limit)}"
        case Kind.Maximum(limit):
            return f"must be at most {shown(limit)}"
        case Kind.ExclusiveMinimum(limit):
            return f"must be more than {shown(limit)}"
        case Kind.ExclusiveMaximum(limit):
            return f"must be less than {shown(limit)}"
        case Kind.MultipleOf(step):
            return f"must be a multiple of {shown(step)}"
        case _:
            return _length(kind)


def _length(kind: Kind) -> str:
    match kind:
        case Kind.MinLength(limit):
            return f"must have at least {counted(limit, 'character')}"
        case Kind.MaxLength(limit):
            return f"must have at most {counted(limit, 'character')}"
        case Kind.MinItems(limit):
            return f"must have at least {counted(limit, 'item')}"
        case Kind.MaxItems(limit) | Kind.AdditionalItems(limit):
            return f"must have at most {counted(limit, 'item')}"
        case Kind.MinProperties(limit):
            return f"must have at least {wording.properties(limit)}"
        case Kind.MaxProperties(limit):
            return f"must have at most {wording.properties(limit)}"
        case Kind.UnevaluatedItems(unexpected):
            return f"has {counted(len(unexpected), 'item')} too many"
        case _:
            return ""


# Keywords whose value says by itself what is asked for.
_SHORT = frozenset(
    {"type", "enum", "const", "format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
)
_PLAIN: dict[type[Kind], str] = {
    Kind.FalseSchema: "is not allowed here",
    Kind.UniqueItems: "must not have the same item twice",
    Kind.Contains: "must have an item of the kind the schema asks for",
    Kind.Not: "is of a kind the schema rules out",
    Kind.OneOfMultipleValid: "fits more than one of the alternatives, where it must fit exactly one",
    Kind.ContentEncoding: "is not encoded as the schema asks",
    Kind.ContentMediaType: "is not of the media type the schema asks for",
}
