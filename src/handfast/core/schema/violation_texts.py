"""Texts for violations of a schema, without the caller's values and without names that the schema does not mention."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from jsonschema_rs import ValidationError
from jsonschema_rs import ValidationErrorKind as Kind
from msgspec import UNSET

from handfast.core.words import alternatives, wording
from handfast.core.words.nearest import nearest
from handfast.core.words.schema_parts import SchemaParts, walk
from handfast.core.words.wording import (
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
    read = list(islice(chain.from_iterable(map(words.telling, errors)), MOST_READ))
    found: dict[Wording, tuple[int, ...]] = {}
    left = 0
    for error in read:
        if len(found) == MOST_VIOLATIONS:
            left += 1
        elif not words.follows_from_another(error, read):
            found.setdefault(words.of(error), _order(value, error))
    return wording.with_count(sorted(found, key=lambda worded: found[worded]), left, is_all=len(read) < MOST_READ)


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


def _is_wrong_type(problem: ValidationError, parent: ValidationError) -> bool:
    return isinstance(problem.kind, Kind.Type) and len(problem.instance_path) == len(parent.instance_path)


def _is_wrong_tag(problem: ValidationError, parent: ValidationError) -> bool:
    """Whether a member lacks its only value, as the tags of `{"kind": "a", …}` and `{"kind": "b", …}` do."""
    match problem.kind:
        case Kind.Constant():
            is_tag = True
        case Kind.Enum(options):
            is_tag = len(options) == 1
        case _:
            is_tag = False
    return is_tag and len(problem.instance_path) == len(parent.instance_path) + 1


def _is_unknown_name(problem: ValidationError, parent: ValidationError) -> bool:
    is_here = len(problem.instance_path) == len(parent.instance_path)
    return is_here and isinstance(problem.kind, Kind.AdditionalProperties | Kind.UnevaluatedProperties)


def _is_lacking(problem: ValidationError, parent: ValidationError) -> bool:
    return isinstance(problem.kind, Kind.Required) and len(problem.instance_path) == len(parent.instance_path)


def _is_of(other: ValidationError, steps: list[str | int], names: frozenset[str]) -> bool:
    """Whether the error is about the value of one of the names of an object at or above a place."""
    path = other.instance_path
    is_value = isinstance(other.kind, Kind.Enum | Kind.Constant | Kind.Type)
    return is_value and bool(path) and path[-1] in names and steps[: len(path) - 1] == path[:-1]


_Branches = list[list[ValidationError]]  # the errors of each alternative
_Test = Callable[[ValidationError, ValidationError], bool]
# What tells, one after the other, that an alternative was not meant, where others are left.
_UNLIKELY: tuple[_Test, ...] = (_is_unknown_name, _is_lacking)


def _rule(error: ValidationError) -> str:
    """The keyword that was broken; `false` for a schema that nothing meets, unless it is a keyword's own."""
    path = error.schema_path
    if isinstance(error.kind, Kind.FalseSchema) and (
        path[-1:] == [] or path[-1] not in _MAY_BE_FALSE or _is_name(path)
    ):
        return "false"
    return str(path[-1]) if path else ""


def _is_name(path: list[str | int]) -> bool:
    """Whether the last step in a schema is a name that it declares."""
    return path[-2:-1] in (["properties"], ["patternProperties"], ["$defs"], ["definitions"])


class _SchemaErrorWords:
    def __init__(self, value: object, schema: object, names: frozenset[str], *, show_names: bool) -> None:
        self.value = value
        self.parts = SchemaParts(schema)
        self.names = names
        self.show_names = show_names

    def telling(self, error: ValidationError, nested: int = 0) -> Iterator[ValidationError]:
        """For alternatives, the errors of the one that was meant, if that can be told; else the error."""
        kind = error.kind
        if nested == MOST_NESTED or not isinstance(kind, Kind.AnyOf | Kind.OneOfNotValid):
            yield error
            return
        close = _without(_is_wrong_type, kind.context, error)
        if len(close) > 1:
            close = [] if self.tag_fault(error) else _without(_is_wrong_tag, close, error)
        for test in _UNLIKELY:
            close = (_without(test, close, error) or close) if len(close) > 1 else close
        if len(close) == 1 and close[0]:
            for problem in close[0]:
                yield from self.telling(problem, nested + 1)
        else:
            yield error

    def of(self, error: ValidationError) -> Wording:
        if fault := self.tag_fault(error):
            return fault
        return Wording(self.path(error.instance_path), self.text(error), tuple(self.facts(error)))

    def facts(self, error: ValidationError) -> Iterator[Fact]:
        rule, steps = _rule(error), error.instance_path
        match error.kind:
            case Kind.Required(name):
                asked = self.parts.asked(self.missing_part(error, name))
                yield self.fact([*steps, name], rule, UNSET if asked is None else asked)
            case Kind.AdditionalProperties() | Kind.UnevaluatedProperties() if self.show_names:
                free = self.properties(error).keys() - self.members(error.instance_path)
                for name in (self.undeclared(error) or self.unfit(error))[:MOST_NAMES]:
                    yield Fact(self.pointer([*steps, name]), rule, nearest="".join(nearest(name, free)))
            case Kind.PropertyNames(problem):
                name = problem.instance if isinstance(problem.instance, str) else ""
                yield self.fact([*steps, name], "propertyNames", self.parts.at(error.schema_path[:-1]))
            case _:
                yield self.fact(steps, rule, self.expected(error, rule))

    def fact(self, steps: list[str | int], rule: str, expected: object) -> Fact:
        return Fact(self.pointer(steps), rule, wording.expected_value(expected))

    def expected(self, error: ValidationError, rule: str) -> object:
        """What the keyword asks for, where that says it all; of alternatives their options or types."""
        match error.kind:
            case Kind.AnyOf(context) | Kind.OneOfNotValid(context):
                return alternatives.options_of(self.branches(error)) or list(_types_of(context, error)) or UNSET
            case _:
                return self.parts.at(error.schema_path) if rule in _SHORT else UNSET

    def path(self, steps: list[str | int]) -> str:
        return wording.path_of(steps, self.names, show_names=self.show_names)

    def pointer(self, steps: list[str | int]) -> str:
        return wording.pointer_of(steps[:MOST_SHOWN], self.names, show_names=self.show_names)

    def text(self, error: ValidationError) -> str:
        kind = error.kind
        match kind:
            case Kind.Type(types):
                return self.wrong_type(types, error)
            case Kind.Required(name):
                return wording.missing(name, self.parts.kind(self.missing_part(error, name)))
            case Kind.AdditionalProperties() | Kind.UnevaluatedProperties():
                return self.not_allowed(error)
            case Kind.FalseSchema() if error.schema_path[-1:] == ["additionalProperties"]:
                return "has properties, and none are allowed"
            case Kind.Enum(options):
                sent = walk(self.value, error.instance_path) if self.show_names else None
                return wording.one_of_many(options, sent)
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
                return self.from_schema(error) or _limit(kind) or _PLAIN.get(type(kind), "does not meet the schema")

    def from_schema(self, error: ValidationError) -> str:
        """The text for a keyword whose part of the schema says more than the error."""
        match error.kind:
            case Kind.Contains():
                return self.contains(error)
            case Kind.Not():
                return self.ruled_out(error)
            case _:
                return ""

    def not_allowed(self, error: ValidationError) -> str:
        allowed = self.properties(error)
        if names := self.undeclared(error):
            sent = allowed.keys() & self.members(error.instance_path)
            return wording.undeclared(
                names, show_names=self.show_names, allowed=tuple(allowed), sent=sent, patterns=self.patterns(error)
            )
        return wording.unfit({name: self.parts.kind(allowed[name]) for name in self.unfit(error)})

    def undeclared(self, error: ValidationError) -> list[str]:
        """Of the names that the error is about, those that are declared nowhere for this object."""
        match error.kind:
            case Kind.UnevaluatedProperties(unexpected):
                allowed = self.properties(error)
                return [name for name in unexpected if name not in allowed]
            case Kind.AdditionalProperties(unexpected):
                return list(unexpected)
            case _:
                return []

    def unfit(self, error: ValidationError) -> list[str]:
        """The others: `unevaluatedProperties` counts a declared name as well whose value broke its schema."""
        match error.kind:
            case Kind.UnevaluatedProperties(unexpected):
                allowed = self.properties(error)
                return [name for name in unexpected if name in allowed]
            case _:
                return []

    def follows_from_another(self, error: ValidationError, others: Iterable[ValidationError]) -> bool:
        """Whether the error is there only because of another one, at its place or below, that says what is wrong."""
        steps = error.instance_path
        if deciding := self.deciding_names(error):
            return any(_is_of(other, steps, deciding) for other in others)
        if not isinstance(error.kind, Kind.UnevaluatedProperties) or self.undeclared(error):
            return False
        return any(other is not error and other.instance_path[: len(steps)] == steps for other in others)

    def deciding_names(self, error: ValidationError) -> frozenset[str]:
        """For a demand of `then` or `else`, the names that decided for it: a wrong value there decided nothing."""
        path = error.evaluation_path
        places = [place for place, step in enumerate(path) if step in ("then", "else")]
        condition = self.parts.at([*path[: places[-1]], "if"]) if places else None
        properties = condition.get("properties") if isinstance(condition, dict) else None
        return frozenset(properties) if isinstance(properties, dict) else frozenset()

    def missing_part(self, error: ValidationError, name: str) -> object:
        """What is declared for a missing name: beside the keyword that asks for it, or anywhere for the same object."""
        beside = self.properties(error)
        if name in beside:
            return beside[name]
        return self.parts.properties_of(error.instance_path, walk(self.value, error.instance_path)).get(name)

    def patterns(self, error: ValidationError) -> list[str]:
        """The patterns of names that are allowed beside the keyword that the error is about."""
        found = self.parts.at([*error.schema_path[:-1], "patternProperties"])
        return list(found) if isinstance(found, dict) else []

    def contains(self, error: ValidationError) -> str:
        kind = self.parts.kind(self.parts.at([*error.schema_path[:-1], "contains"]))
        what = "of the kind the schema asks for" + (f" ({kind})" if kind else "")
        count = self.parts.at(error.schema_path)
        match error.schema_path[-1]:
            case "minContains" if isinstance(count, int):
                return f"must have at least {counted(count, 'item')} {what}"
            case "maxContains" if isinstance(count, int):
                return f"must have at most {counted(count, 'item')} {what}"
            case _:
                return f"must have an item {what}"

    def ruled_out(self, error: ValidationError) -> str:
        schema = self.parts.at(error.schema_path)
        is_plain = isinstance(schema, dict) and len(schema.keys() - _NOTES) == 1
        kind = self.parts.kind(schema) if is_plain else ""
        return f"must not be {kind}" if kind else "is of a kind the schema rules out"

    def properties(self, error: ValidationError) -> Mapping[str, object]:
        """What the schema declares beside the keyword that the error is about, or anywhere for the same object."""
        found = self.parts.at(error.schema_path[:-1])
        if isinstance(error.kind, Kind.UnevaluatedProperties):
            return self.parts.properties_in_place(found, walk(self.value, error.instance_path))
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

    def branches(self, error: ValidationError) -> list[dict[str, Any]]:
        """The alternatives that the error is about."""
        is_about = isinstance(error.kind, Kind.AnyOf | Kind.OneOfNotValid)
        return self.parts.branches(self.parts.at(error.schema_path)) if is_about else []

    def tag_fault(self, error: ValidationError) -> Wording | None:
        """The words for a tag that is missing or none of those there are, if alternatives are told apart by one."""
        tag = alternatives.wrong_tag(self.branches(error), walk(self.value, error.instance_path))
        if tag is None:
            return None
        steps = [*error.instance_path, tag.name]
        options = list(tag.options)
        fact = self.fact(steps, *(("required", {"enum": options}) if tag.is_missing else ("enum", options)))
        return Wording(self.path(steps[:-1] if tag.is_missing else steps), tag.text, (fact,))

    def no_alternative(self, context: _Branches, error: ValidationError) -> str:
        if options := alternatives.options_of(branches := self.branches(error)):
            return wording.one_of(options)
        if all(branch and all(_is_lacking(problem, error) for problem in branch) for branch in context):
            return self.lacking(context, error)
        if types := _types_of(context, error):
            return self.wrong_type(types, error)
        return wording.no_alternative(len(context), alternatives.brief(branches, self.parts))

    def lacking(self, context: _Branches, error: ValidationError) -> str:
        names = [[name for problem in branch if (name := _lacking_name(problem))] for branch in context]
        declared = self.parts.properties_of(error.instance_path, walk(self.value, error.instance_path))
        return alternatives.lacking(names, {name: self.parts.kind(part) for name, part in declared.items()})


def _lacking_name(problem: ValidationError) -> str:
    match problem.kind:
        case Kind.Required(name):
            return name
        case _:
            return ""


def _types_of(context: _Branches, error: ValidationError) -> dict[str, None]:
    """The types that the alternatives ask for, if each was broken by another one; else none."""
    types: dict[str, None] = {}
    for branch in context:
        mismatch = next((problem.kind for problem in branch if _is_wrong_type(problem, error)), None)
        if not isinstance(mismatch, Kind.Type):
            return {}
        types.update(dict.fromkeys(mismatch.types))
    return types


def _without(test: _Test, branches: _Branches, parent: ValidationError) -> _Branches:
    return [branch for branch in branches if not any(test(problem, parent) for problem in branch)]


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


_MAY_BE_FALSE = frozenset(
    {"additionalProperties", "unevaluatedProperties", "items", "additionalItems", "unevaluatedItems", "contains", "not"}
)
_NOTES = frozenset({"title", "description", "$comment"})
# Keywords whose value says by itself what is asked for.
_SHORT = frozenset(
    {"type", "enum", "const", "format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {
        "contains",
        "minContains",
        "maxContains",
        "not",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
    }
)
_PLAIN: dict[type[Kind], str] = {
    Kind.FalseSchema: "is not allowed here",
    Kind.UniqueItems: "must not have the same item twice",
    Kind.OneOfMultipleValid: "fits more than one of the alternatives, where it must fit exactly one",
    Kind.ContentEncoding: "is not encoded as the schema asks",
    Kind.ContentMediaType: "is not of the media type the schema asks for",
}
