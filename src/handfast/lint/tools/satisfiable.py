"""Whether any value can meet several schemas at once: `False` is proven, `True` means that no proof was found."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from handfast.core.schema.compiled import CompiledSchema
from handfast.core.schema.costs import mapping
from handfast.core.schema.references import Node, References, UnresolvedReference, read_references

_KINDS = ("null", "boolean", "object", "array", "string", "integer", "fraction")
_NUMBERS = frozenset(("integer", "fraction"))
_OF_TYPE = {**{name: frozenset((name,)) for name in _KINDS[:-1]}, "number": _NUMBERS}

# Contradictions are near each other in a schema, so the search gives up after this, some milliseconds.
_MOST_STEPS = 5_000
_DEEPEST = 24

# Older drafts give the same keywords other meanings.
_DRAFTS = ("draft-07/schema", "draft/2019-09/schema", "draft/2020-12/schema")


@dataclass(frozen=True, slots=True)
class _Part:
    """A subschema, and the schema in which its references are resolved."""

    schema: object
    references: References
    ignores_beside_ref: bool

    def at(self, schema: object) -> "_Part":
        return replace(self, schema=schema)


@dataclass(frozen=True, slots=True)
class _Rule:
    """One object of keywords that applies."""

    node: Node
    part: _Part

    def get(self, keyword: str) -> Any:  # Any: as its author wrote it
        return self.node.get(keyword)


class _GivenUp(Exception):
    """The search took too long."""


def can_be_met(*schemas: CompiledSchema) -> bool:
    """Whether one value could meet all the schemas; True, unexamined, for other drafts and compound schemas."""
    parts = [_part(schema.content) for schema in schemas]
    if any(part is None for part in parts):
        return True
    try:
        return _ValueSearch().can_be_met([part for part in parts if part is not None], 0, frozenset())
    except _GivenUp:
        return True


def _part(content: object) -> _Part | None:
    draft = content.get("$schema", _DRAFTS[-1]) if isinstance(content, dict) else _DRAFTS[-1]
    known = [name for name in _DRAFTS if isinstance(draft, str) and draft.removesuffix("#").endswith(name)]
    references = read_references(content)
    if not known or references.is_compound:
        return None
    return _Part(content, references, ignores_beside_ref=known[0] == _DRAFTS[0])


class _ValueSearch:
    def __init__(self) -> None:
        self.steps = 0

    def can_be_met(self, parts: list[_Part], depth: int, chosen: frozenset[int]) -> bool:
        """Whether one value could meet all parts; `chosen`: ids of option lists from which one option was taken."""
        self.steps += 1 + len(parts)
        if self.steps > _MOST_STEPS:
            raise _GivenUp
        if depth > _DEEPEST:
            return True
        rules = self.rules(parts)
        if rules is None:
            return False
        kinds = self.kinds_left(rules, depth)
        if not kinds or not _values_left(rules, kinds):
            return False
        for rule in rules:
            for keyword in ("anyOf", "oneOf"):
                options = rule.get(keyword)
                if isinstance(options, list) and options and id(options) not in chosen:
                    taken = chosen | {id(options)}
                    if not any(self.can_be_met([*parts, rule.part.at(o)], depth + 1, taken) for o in options):
                        return False
        return True

    def rules(self, parts: list[_Part]) -> list[_Rule] | None:
        """Every object of keywords that applies to the value itself; None where one schema accepts no value."""
        found: list[_Rule] = []
        seen: set[int] = set()
        pending = list(reversed(parts))
        while pending:
            part = pending.pop()
            if part.schema is False:
                return None
            if not isinstance(part.schema, dict) or id(part.schema) in seen:
                continue
            self.steps += 1
            seen.add(id(part.schema))
            node: Node = part.schema
            pending.extend(part.at(target) for target in _referred(part, node))
            if "$ref" in node and part.ignores_beside_ref:
                continue
            if node.get("not") in (True, {}):
                return None
            found.append(_Rule(node, part))
            if isinstance(parts_of_all := node.get("allOf"), list):
                pending.extend(part.at(one) for one in parts_of_all)
        return found

    def kinds_left(self, rules: list[_Rule], depth: int) -> frozenset[str]:
        """The kinds of values that no rule excludes."""
        kinds = frozenset(_KINDS)
        for rule in rules:
            kinds &= _kinds_of_type(rule.get("type"))
        if _crosses(rules, ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
            kinds -= _NUMBERS
        if _crosses(rules, ("minLength",), ("maxLength",)):
            kinds -= {"string"}
        if "array" in kinds and not self.can_be_array(rules, depth):
            kinds -= {"array"}
        if "object" in kinds and not self.can_be_object(rules, depth):
            kinds -= {"object"}
        return kinds

    def can_be_array(self, rules: list[_Rule], depth: int) -> bool:
        if _crosses(rules, ("minItems",), ("maxItems",)):
            return False
        least = max(_numbers(rules, ("minItems",)), default=0)
        # Items whose schema depends on their position are not examined.
        if least < 1 or any("prefixItems" in rule.node or isinstance(rule.get("items"), list) for rule in rules):
            return True
        items = [rule.part.at(rule.get("items")) for rule in rules if "items" in rule.node]
        return self.can_be_met(items, depth + 1, frozenset())

    def can_be_object(self, rules: list[_Rule], depth: int) -> bool:
        if _crosses(rules, ("minProperties",), ("maxProperties",)):
            return False
        required = {name: None for rule in rules for name in _names(rule.get("required"))}
        if len(required) > min(_numbers(rules, ("maxProperties",)), default=len(required)):
            return False
        return all(self.can_have(name, rules, depth) for name in required)

    def can_have(self, name: str, rules: list[_Rule], depth: int) -> bool:
        parts = [rule.part.at(schema) for rule in rules for schema in _asked_of(name, rule.node)]
        return self.can_be_met(parts, depth + 1, frozenset())


def _referred(part: _Part, node: Node) -> list[Node | bool]:
    reference = node.get("$ref")
    if not isinstance(reference, str):
        return []
    try:
        found = part.references.targets(reference)
    except UnresolvedReference:
        return []
    return [found[0]] if len(found) == 1 else []


def _kinds_of_type(declared: object) -> frozenset[str]:
    names = declared if isinstance(declared, list) else [declared]
    known = [_OF_TYPE[name] for name in names if isinstance(name, str) and name in _OF_TYPE]
    return frozenset().union(*known) if known else frozenset(_KINDS)


def _numbers(rules: list[_Rule], keywords: tuple[str, ...]) -> list[int | float]:
    values = [rule.get(keyword) for rule in rules for keyword in keywords]
    return [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]


def _crosses(rules: list[_Rule], lower: tuple[str, ...], upper: tuple[str, ...]) -> bool:
    """Whether a lower bound is above an upper one, or meets it where one of them is exclusive."""
    lows, highs = _numbers(rules, lower), _numbers(rules, upper)
    if not lows or not highs:
        return False
    if max(lows) != min(highs):
        return max(lows) > min(highs)
    return max(lows) in _numbers(rules, lower[1:]) or min(highs) in _numbers(rules, upper[1:])


def _values_left(rules: list[_Rule], kinds: frozenset[str]) -> bool:
    """Whether a value of the remaining kinds is listed by every `enum` and `const`."""
    lists = [rule.get("enum") for rule in rules if isinstance(rule.get("enum"), list)]
    lists += [[rule.get("const")] for rule in rules if "const" in rule.node]
    if not lists:
        return True
    first, *others = lists
    return any(_kind(value) in kinds and all(_holds(other, value) for other in others) for value in first)


def _holds(values: list[Any], wanted: object) -> bool:  # Any: JSON
    return any(_kind(value) == _kind(wanted) and value == wanted for value in values)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case dict():
            return "object"
        case list():
            return "array"
        case float() if not value.is_integer():
            return "fraction"
        case _:
            return "integer"


def _names(required: object) -> Iterator[str]:
    return (name for name in required if isinstance(name, str)) if isinstance(required, list) else iter(())


def _asked_of(name: str, node: Node) -> Iterator[object]:
    """The schemas that one object of keywords sets for a member of this name; ignores patterns, which asks less."""
    properties = mapping(node, "properties")
    if name in properties:
        yield properties[name]
    elif "additionalProperties" in node and not mapping(node, "patternProperties"):
        yield node["additionalProperties"]
