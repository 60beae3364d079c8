"""Violations of a schema in our own words: never the caller's values, nor names the schema does not mention."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jsonschema_rs import ValidationError
from jsonschema_rs import ValidationErrorKind as Kind

MOST_VIOLATIONS = 5
MOST_OPTIONS = 8
MOST_SHOWN = 64  # characters of any one name, option or pattern
MOST_NESTED = 8  # alternatives within alternatives that are looked into

# Measured: an error takes 2 µs to make, and copies the value it is about at 0.1 µs a member.
ERROR_MS, MEMBER_MS, CHARACTER_MS = 0.002, 0.0001, 0.000_01

_ARTICLES = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "a boolean",
    "object": "an object",
    "array": "an array",
    "null": "null",
}


@dataclass(frozen=True, slots=True)
class Wording:
    """Where (empty for the whole value) and what, such as `items/0/id` and `must be an integer, not a string`."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


def describe_errors(
    errors: Iterable[ValidationError], value: object, *, names: frozenset[str], show_names: bool
) -> tuple[Wording, ...]:
    """Word the first few errors; the same words are said once."""
    words = _Words(value, names, show_names=show_names)
    found: dict[Wording, None] = {}
    for error in errors:
        found[words.of(_telling(error))] = None
        if len(found) == MOST_VIOLATIONS:
            break
    return tuple(found)


def declared_names(schema: object) -> frozenset[str]:
    """Every property name the schema mentions, wherever it stands."""
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
    """At most how long it takes to make every error this value can raise; stops counting past `enough`."""
    cost = 0.0
    # Each location copies itself into its errors, so a member counts once for every level above it.
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


def _telling(error: ValidationError, nested: int = 0) -> ValidationError:
    """Of alternatives, the error of the one that was meant, where that is plain: the only one of the right type."""
    kind = error.kind
    if nested == MOST_NESTED or not isinstance(kind, Kind.AnyOf | Kind.OneOfNotValid):
        return error
    close = [branch for branch in kind.context if not any(_is_wrong_type(problem, error) for problem in branch)]
    if len(close) == 1 and close[0]:
        return _telling(close[0][0], nested + 1)
    return error


def _is_wrong_type(problem: ValidationError, parent: ValidationError) -> bool:
    return isinstance(problem.kind, Kind.Type) and len(problem.instance_path) == len(parent.instance_path)


class _Words:
    def __init__(self, value: object, names: frozenset[str], *, show_names: bool) -> None:
        self.value = value
        self.names = names
        self.show_names = show_names

    def of(self, error: ValidationError) -> Wording:
        path = "/".join(self.step(part) for part in error.instance_path[:MOST_SHOWN])
        return Wording(path, self.text(error))

    def step(self, part: str | int) -> str:
        if isinstance(part, int):
            return str(part)
        return _scrubbed(part) if self.show_names or part in self.names else "*"

    def text(self, error: ValidationError) -> str:
        kind = error.kind
        match kind:
            case Kind.Type(types):
                return self.wrong_type(types, error)
            case Kind.Required(name):
                return f"must have the property '{_scrubbed(name)}'"
            case Kind.AdditionalProperties(unexpected) | Kind.UnevaluatedProperties(unexpected):
                return self.undeclared(unexpected)
            case Kind.FalseSchema() if error.schema_path[-1:] == ["additionalProperties"]:
                return "has properties, and none are allowed"
            case Kind.Enum(options):
                return f"must be one of {_options(options)}"
            case Kind.Constant(expected):
                return f"must be {_shown(expected)}"
            case Kind.AnyOf(context) | Kind.OneOfNotValid(context):
                return self.no_alternative(context, error)
            case Kind.Pattern(pattern):
                return f"must match the pattern {_scrubbed(pattern)}"
            case Kind.PropertyNames(problem) if isinstance(problem.kind, Kind.Type):
                return "has properties, and none are allowed"  # names are strings: no name is of another type
            case Kind.PropertyNames(problem):
                return f"has a property whose name {self.text(problem)}"
            case _:
                return _limit(kind) or _PLAIN.get(type(kind), "does not meet the schema")

    def wrong_type(self, types: list[str], error: ValidationError) -> str:
        in_reading_order = sorted(types, key=lambda name: name == "null")
        wanted = " or ".join(_ARTICLES.get(name, name) for name in in_reading_order)
        return f"must be {wanted}, not {self.actual(error.instance_path)}"

    def actual(self, path: list[str | int]) -> str:
        """The type of the value at the path; walked here, since an error's own copy of the value is dear."""
        node: Any = self.value  # Any: a JSON value, walked by a path that fits it
        try:
            for part in path:
                node = node[part]
        except (KeyError, IndexError, TypeError):
            return "what was sent"
        return _type_of(node)

    def undeclared(self, unexpected: list[str]) -> str:
        count = len(unexpected)
        text = "has 1 property that is not allowed" if count == 1 else f"has {count} properties that are not allowed"
        if not self.show_names:
            return text
        shown = ", ".join(f"'{_scrubbed(name)}'" for name in unexpected[:MOST_OPTIONS])
        return f"{text}: {shown}{', ...' if count > MOST_OPTIONS else ''}"

    def no_alternative(self, context: list[list[ValidationError]], error: ValidationError) -> str:
        types: dict[str, None] = {}
        for branch in context:
            mismatch = next((problem.kind for problem in branch if _is_wrong_type(problem, error)), None)
            if not isinstance(mismatch, Kind.Type):
                return f"fits none of the {len(context)} alternatives allowed here"
            types.update(dict.fromkeys(mismatch.types))
        return self.wrong_type(list(types), error)


def _limit(kind: Kind) -> str:
    match kind:
        case Kind.Minimum(limit):
            return f"must be at least {_shown(limit)}"
        case Kind.Maximum(limit):
            return f"must be at most {_shown(limit)}"
        case Kind.ExclusiveMinimum(limit):
            return f"must be more than {_shown(limit)}"
        case Kind.ExclusiveMaximum(limit):
            return f"must be less than {_shown(limit)}"
        case Kind.MultipleOf(step):
            return f"must be a multiple of {_shown(step)}"
        case _:
            return _length(kind)


def _length(kind: Kind) -> str:
    match kind:
        case Kind.MinLength(limit):
            return f"must have at least {_counted(limit, 'character')}"
        case Kind.MaxLength(limit):
            return f"must have at most {_counted(limit, 'character')}"
        case Kind.MinItems(limit):
            return f"must have at least {_counted(limit, 'item')}"
        case Kind.MaxItems(limit) | Kind.AdditionalItems(limit):
            return f"must have at most {_counted(limit, 'item')}"
        case Kind.MinProperties(limit):
            return "must have at least " + ("1 property" if limit == 1 else f"{limit} properties")
        case Kind.MaxProperties(limit):
            return "must have at most " + ("1 property" if limit == 1 else f"{limit} properties")
        case Kind.UnevaluatedItems(unexpected):
            return f"has {_counted(len(unexpected), 'item')} too many"
        case _:
            return ""


_PLAIN: dict[type[Kind], str] = {
    Kind.FalseSchema: "is not allowed here",
    Kind.UniqueItems: "must not have the same item twice",
    Kind.Contains: "must have an item of the kind the schema asks for",
    Kind.Not: "is of a kind the schema rules out",
    Kind.OneOfMultipleValid: "fits more than one of the alternatives, where it must fit exactly one",
    Kind.ContentEncoding: "is not encoded as the schema asks",
    Kind.ContentMediaType: "is not of the media type the schema asks for",
}


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def _options(options: Sequence[object]) -> str:
    shown = ", ".join(_shown(option) for option in options[:MOST_OPTIONS])
    return f"{shown}, ..." if len(options) > MOST_OPTIONS else shown


def _shown(option: object) -> str:
    """A value of the schema's own, such as an option or a limit."""
    if isinstance(option, str):
        return f"'{_scrubbed(option)}'"
    return _scrubbed(json.dumps(option, default=str))


def _scrubbed(text: str) -> str:
    clean = "".join(char if char.isprintable() else "?" for char in text[: MOST_SHOWN + 1])
    return clean if len(clean) <= MOST_SHOWN else clean[: MOST_SHOWN - 3] + "..."


def _type_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case dict():
            return "an object"
        case list() | tuple():
            return "an array"
        case int():
            return "an integer"
        case _:
            return "a number"
