"""What an input schema declares at its root: the names that may be sent, and whether other names are allowed."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import jsonschema_rs

from handfast.core.schema.costs import mapping
from handfast.core.schema.patterns import can_match, linear_engine
from handfast.core.schema.references import REFERENCE_KEYWORDS, Node, UnresolvedReference, read_references
from handfast.core.words.printable import fold_name

# More parts than any author writes at one root; reading stops there.
MOST_PARTS = 10_000

# The same size as for a pattern that is matched in place.
PATTERN_BYTES = 65_536
MOST_PATTERNS = 32

_LISTS = ("allOf", "anyOf", "oneOf")
_ONE = ("if", "then", "else")
_MAPS = ("dependentSchemas", "dependencies")
_REST = ("additionalProperties", "unevaluatedProperties")


@dataclass(frozen=True, slots=True)
class Declared:
    """The declarations at one schema's root, with all subschemas that apply in place."""

    names: tuple[str, ...]  # in the order of the schema
    declares_nothing_said: bool  # no `properties` at all, which differs from `properties: {}`
    is_open_to_all: bool  # additionalProperties or unevaluatedProperties is there and not false, or unknown
    _patterns: jsonschema_rs.Validator | None = field(default=None, repr=False, compare=False)
    required: tuple[str, ...] = ()  # by the root itself, whatever its alternatives ask for
    objects: tuple[str, ...] = ()  # the names whose value may be an object
    inside: Mapping[str, frozenset[str]] = field(default_factory=dict, compare=False)  # the names that such a one has
    patterns: tuple[str, ...] = field(default=(), compare=False)  # of names that are allowed as well
    known: frozenset[str] = field(init=False, repr=False, compare=False)  # the names as a set
    folded: Mapping[str, str] = field(init=False, repr=False, compare=False)  # the names by their folded form

    def __post_init__(self) -> None:
        object.__setattr__(self, "known", frozenset(self.names))
        object.__setattr__(self, "folded", {fold_name(name): name for name in reversed(self.names)})

    def is_open(self, key: str) -> bool:
        """Whether the schema allows this undeclared key."""
        if self.declares_nothing_said or self.is_open_to_all:
            return True
        if self._patterns is None:
            return False
        try:
            return self._patterns.is_valid(key)
        except UnicodeEncodeError:
            return False  # a key with a lone surrogate matches no pattern


def read_declared(schema: object) -> Declared:
    """Collects what is declared through `properties`, local references and keywords that apply in place.

    If part of the schema cannot be read, it may declare more names, so all other names count as allowed.
    """
    names: Node = {}
    patterns: dict[str, None] = {}
    has_properties = is_open_to_all = False
    parts = _Parts(schema)
    for part in parts.walk():
        has_properties = has_properties or isinstance(part.get("properties"), dict)
        for name, inner in mapping(part, "properties").items():
            names.setdefault(name, inner)
        patterns.update(dict.fromkeys(mapping(part, "patternProperties")))
        is_open_to_all = is_open_to_all or any(part.get(keyword, False) is not False for keyword in _REST)
    matching, are_all = _any_pattern(list(patterns))
    inside = {name: inner for name, part in names.items() if (inner := parts.names_inside(part)) is not None}
    is_open_to_all = is_open_to_all or not parts.are_all_known or not are_all
    root: Node = schema if isinstance(schema, dict) else {}
    required = root.get("required")
    return Declared(
        tuple(names),
        not has_properties,
        is_open_to_all,
        matching,
        tuple(name for name in (required if isinstance(required, list) else ()) if name in names),
        tuple(inside),
        inside,
        tuple(patterns),
    )


class _Parts:
    """The root of a schema and all subschemas that apply to the same object."""

    def __init__(self, root: object) -> None:
        self._root = root
        self.are_all_known = True  # so far: every reference was resolved, and the limit was not reached
        self._references = read_references(root)
        self._room = MOST_PARTS  # that are looked at to see what takes an object

    def walk(self) -> Iterator[Node]:
        """The parts in the order in which they are written."""
        if not isinstance(self._root, dict):
            return
        seen: set[int] = set()
        pending: list[Node] = [self._root]
        while pending:
            part = pending.pop()
            if id(part) in seen:
                continue
            if len(seen) == MOST_PARTS:
                self.are_all_known = False
                return
            seen.add(id(part))
            yield part
            pending.extend(reversed([*self._targets(part), *_applied_in_place(part)]))

    def names_inside(self, schema: object) -> frozenset[str] | None:
        """The names of an object that a value may be, also through references and alternatives; None if it is none."""
        pending, seen, names = [schema], set[int](), set[str]()
        is_object = False
        while pending and self._room > 0:
            part = pending.pop()
            if not isinstance(part, dict) or id(part) in seen:
                continue
            seen.add(id(part))
            self._room -= 1
            is_object = is_object or "object" in (part.get("type") or ()) or "properties" in part
            names.update(mapping(part, "properties"))
            with suppress(UnresolvedReference):
                pending += [target for name in _references_of(part) for target in self._references.targets(name)]
            pending += _applied_in_place(part)
        return frozenset(names) if is_object else None

    def _targets(self, part: Node) -> Iterator[Node]:
        for reference in _references_of(part):
            try:
                yield from self._references.targets(reference)
            except UnresolvedReference:
                self.are_all_known = False


def _references_of(part: Node) -> list[str]:
    return [said for keyword in REFERENCE_KEYWORDS if isinstance(said := part.get(keyword), str)]


def _applied_in_place(part: Node) -> Iterator[Node]:
    for keyword in _LISTS:
        if isinstance(parts := part.get(keyword), list):
            yield from (item for item in parts if isinstance(item, dict))
    for keyword in _ONE:
        if isinstance(one := part.get(keyword), dict):
            yield one
    for keyword in _MAPS:
        yield from (item for item in mapping(part, keyword).values() if isinstance(item, dict))


def _any_pattern(patterns: list[str]) -> tuple[jsonschema_rs.Validator | None, bool]:
    """A validator that accepts a name that matches one of the patterns, in linear time, and whether it has them all.

    Patterns with look-around are left to the slow lane, which judges names by the whole schema.
    """
    engine = linear_engine(PATTERN_BYTES)
    usable = [{"pattern": pattern} for pattern in patterns[:MOST_PATTERNS] if can_match(pattern, engine)]
    are_all = len(usable) == len(patterns)
    if not usable:
        return None, are_all
    return jsonschema_rs.Draft202012Validator({"anyOf": usable}, offline=True, pattern_options=engine), are_all
