"""A JSON Schema as plain alternatives: references are followed, `allOf` is joined, `anyOf` and `oneOf` are split."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from handfast.core.schema.references import References, UnresolvedReference, read_references

Schema = dict[str, Any]  # Any: JSON Schema

MOST_TURNS = 2  # how often one reference is followed on a path into a value, so that recursion ends
MOST_ALTERNATIVES = 64  # of one schema; more are dropped, as each costs time and few show anything new

_APART = ("$ref", "allOf", "anyOf", "oneOf")
_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
_SCHEMAS = ("items", "additionalProperties", "additionalItems", "propertyNames", "contains")
_MAPS = ("properties", "patternProperties")


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to meet a schema, without references or combinations at its root."""

    schema: Schema
    turns: Counter[str] = field(default_factory=Counter)  # the references followed on the way here


class Alternatives:
    """Splits the schemas of one document into alternatives."""

    def __init__(self, root: object) -> None:
        self._references: References = read_references(root if isinstance(root, dict) else {})

    def of(self, schema: object, turns: Counter[str]) -> list[Alternative]:
        """The alternatives of a schema; none if no value can meet it. `not`, `if` and the like stay as they are."""
        if not isinstance(schema, dict):
            return [] if schema is False else [Alternative({}, turns)]
        found = [Alternative({key: value for key, value in schema.items() if key not in _APART}, turns)]
        for choices in self._choices(schema, turns):
            found = list(_joined(found, choices))[:MOST_ALTERNATIVES]
        return found

    def _choices(self, schema: Schema, turns: Counter[str]) -> Iterator[list[Alternative]]:
        """The parts that must hold as well, each as its alternatives."""
        if isinstance(reference := schema.get("$ref"), str):
            yield self._followed(reference, turns)
        for part in schema.get("allOf", ()):
            yield self.of(part, turns)
        for keyword in ("anyOf", "oneOf"):
            if isinstance(branches := schema.get(keyword), list):
                yield [each for branch in branches for each in self.of(branch, turns)]

    def _followed(self, reference: str, turns: Counter[str]) -> list[Alternative]:
        if turns[reference] >= MOST_TURNS:
            return []
        try:
            targets = self._references.targets(reference)
        except UnresolvedReference:
            targets = []
        target = targets[0] if targets else {}  # unknown here: the whole schema judges the values later
        return self.of(target, turns + Counter([reference]))


def _joined(left: Iterable[Alternative], right: list[Alternative]) -> Iterator[Alternative]:
    for one in left:
        for other in right:
            schema = both(one.schema, other.schema)
            if schema is not None:
                yield Alternative(schema, one.turns | other.turns)


def both(one: Schema, other: Schema) -> Schema | None:
    """A schema for values that meet both, or None if none can. It may allow too much; the whole schema judges later."""
    joined = {**one, **other}
    for key in one.keys() & other.keys():
        rule = _RULES.get(key)
        if rule is not None:
            joined[key] = rule(one[key], other[key])
    if joined.get("type") == [] or joined.get("enum") == []:
        return None
    return joined


def types_of(schema: Mapping[str, Any]) -> list[str]:
    """The types that a value may have, from `type` or guessed from other keywords."""
    said = schema.get("type")
    if isinstance(said, str):
        return [said]
    if isinstance(said, list):
        return [each for each in said if isinstance(each, str)]
    return [name for name, words in _WORDS.items() if words & schema.keys()][:1] or ["anything"]


def same_json(one: object, other: object) -> bool:
    """Whether two values are equal as JSON: 1 equals neither true nor "1"."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _types_in_both(one: Any, other: Any) -> list[str]:  # Any: a name, or a list of them
    left, right = ([each] if isinstance(each, str) else list(each) for each in (one, other))
    narrow = ["integer"] if {"integer", "number"} <= {*left, *right} else []
    return list(dict.fromkeys([each for each in left if each in right] + narrow))


def _values_in_both(one: list[Any], other: list[Any]) -> list[Any]:  # Any: JSON
    return [value for value in one if any(same_json(value, each) for each in other)]


def _both_schemas(one: Any, other: Any) -> Any:  # Any: schemas
    return False if one is False or other is False else {"allOf": [one, other]}


def _both_maps(one: Schema, other: Schema) -> Schema:
    joined = {**one, **other}
    return joined | {key: _both_schemas(one[key], other[key]) for key in one.keys() & other.keys()}


_RULES: Mapping[str, Callable[[Any, Any], Any]] = {  # Any: the values of each keyword
    "type": _types_in_both,
    "enum": _values_in_both,
    "required": lambda one, other: list(dict.fromkeys([*one, *other])),
    "examples": lambda one, other: [*one, *other],
    "uniqueItems": lambda one, other: bool(one or other),
    **dict.fromkeys(_LOWER, max),
    **dict.fromkeys(_UPPER, min),
    **dict.fromkeys(_SCHEMAS, _both_schemas),
    **dict.fromkeys(_MAPS, _both_maps),
}
_WORDS = {
    "object": frozenset(("properties", "required", "additionalProperties", "patternProperties", "minProperties")),
    "array": frozenset(("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains")),
    "string": frozenset(("pattern", "format", "minLength", "maxLength")),
    "number": frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
}
