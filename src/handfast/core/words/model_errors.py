"""Texts for a pydantic model's errors, worded as schema violations are, without the caller's values.

`schema` is the schema published for the model: it has the names and types that pydantic's errors do not mention.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from handfast.core.words import model_error_texts as texts
from handfast.core.words import wording
from handfast.core.words.alternatives import Tag, brief, wrong_tag
from handfast.core.words.schema_parts import SchemaParts
from handfast.core.words.wording import MOST_NESTED, MOST_READ, MOST_VIOLATIONS, Wording

Part = str | int
_MISSING = frozenset(
    {"missing", "missing_argument", "missing_keyword_only_argument", "missing_positional_only_argument"}
)
_UNDECLARED = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
_NAMES_ITSELF = _MISSING | _UNDECLARED | {"invalid_key"}  # the last part of their location is a name, not a step
_OF_A_NAME = "[key]"  # pydantic's mark for an error about a property's name rather than its value
_NOWHERE = object()
UNSEEN = object()  # stands for a value that was not kept


def describe_model_errors(
    errors: Sequence[Mapping[str, Any]],  # Any: pydantic's own dicts, of type, loc, msg and ctx
    value: object,
    *,
    schema: object = None,
    names: frozenset[str] = frozenset(),
    show_names: bool = False,
) -> tuple[Wording, ...]:
    """Words the first few of pydantic's `errors()`, in the order of their places; equal texts only once."""
    words = _ModelErrorWords(value, schema, names, show_names=show_names)
    words.undeclared_at = Counter(tuple(error["loc"][:-1]) for error in errors if error["type"] in _UNDECLARED)
    read = sorted(map(_read, islice(errors, MOST_READ)), key=lambda problem: _order(value, problem))
    found = list(dict.fromkeys(words.of(read)))
    left = max(0, len(found) - MOST_VIOLATIONS)
    return wording.with_count(found[:MOST_VIOLATIONS], left, is_all=len(read) < MOST_READ)


@dataclass(frozen=True, slots=True)
class _Problem:
    """One error, about the value at a place or about a name there."""

    kind: str
    place: tuple[Part, ...]
    message: str
    context: Mapping[str, Any]  # Any: limits and options that the model's author wrote
    name: Part = ""
    is_of_a_name: bool = False


def _read(error: Mapping[str, Any]) -> _Problem:  # Any: as above
    place = tuple(error["loc"])
    problem = _Problem(str(error["type"]), place, message=str(error.get("msg", "")), context=error.get("ctx") or {})
    if len(place) > 1 and place[-1] == _OF_A_NAME:
        return replace(problem, place=place[:-2], name=place[-2], is_of_a_name=True)
    if place and problem.kind in _NAMES_ITSELF:
        return replace(problem, place=place[:-1], name=place[-1])
    return problem


@dataclass(frozen=True, slots=True)
class _Located:
    """A problem with its path: steps into the value, then an alternative's label and the steps below it."""

    problem: _Problem
    steps: tuple[Part, ...]
    rest: tuple[Part, ...]  # empty, or begins with the label of an alternative


def _order(value: object, problem: _Problem) -> tuple[int, ...]:
    if problem.kind in _MISSING:
        return wording.order_of(value, problem.place, what=wording.MISSING)
    if problem.kind in _UNDECLARED:
        return wording.order_of(value, problem.place, what=wording.UNDECLARED)
    return wording.order_of(value, problem.place)


class _ModelErrorWords:
    def __init__(self, value: object, schema: object, names: frozenset[str], *, show_names: bool) -> None:
        self.value = value
        self.parts = SchemaParts(schema)
        self.names = names
        self.show_names = show_names
        self.undeclared_at: Counter[tuple[Part, ...]] = Counter()

    def of(self, problems: Iterable[_Problem]) -> Iterator[Wording]:
        yield from self.tell([self.locate(problem, (), problem.place) for problem in problems])

    def locate(self, problem: _Problem, steps: tuple[Part, ...], rest: tuple[Part, ...]) -> _Located:
        """Follows the path as far as the value goes; a part that is not a step in it is an alternative's label."""
        node = self.at(steps)
        for count, part in enumerate(rest):
            below = _step(node, part)
            # A name error is about an object: if there is none, the key only happens to equal the alternative's label.
            is_last = problem.name != "" and count == len(rest) - 1
            is_no_place = is_last and below is not UNSEEN and not isinstance(below, dict | list | tuple)
            if below is _NOWHERE or is_no_place:
                return _Located(problem, steps + rest[:count], rest[count:])
            node = below
        return _Located(problem, steps + rest, ())

    def at(self, steps: tuple[Part, ...]) -> object:
        node = self.value
        for part in steps:
            node = _step(node, part)
        return node

    def tell(self, found: Iterable[_Located], nested: int = 0) -> Iterator[Wording]:
        """Words problems; errors of one union become one text, and so do all undeclared names of one object."""
        groups: dict[tuple[object, ...], list[_Located]] = {}
        for count, one in enumerate(found):
            is_alone = not one.rest and one.problem.kind not in _UNDECLARED
            groups.setdefault((one.steps, bool(one.rest), count if is_alone else -1), []).append(one)
        for group in groups.values():
            yield from self.alternatives(group, nested) if group[0].rest else [self.word(group)]

    def alternatives(self, group: list[_Located], nested: int) -> Iterator[Wording]:
        """Words the alternative that was meant, if only one has the right type or tag; else all of them in one text."""
        steps = group[0].steps
        branches: dict[Part, list[_Located]] = {}
        for one in group:
            branches.setdefault(one.rest[0], []).append(self.locate(one.problem, steps, one.rest[1:]))
        known = self.parts.branches_at(steps)
        tag = wrong_tag(known, self.at(steps))
        close = [branch for branch in branches.values() if not any(self.is_wrong_type(one, steps) for one in branch)]
        if len(close) > 1 and tag is None:
            close = [branch for branch in close if not any(_is_wrong_tag(one, steps) for one in branch)] or close
            for unlikely in (_UNDECLARED, _MISSING):
                close = [branch for branch in close if not _has(unlikely, branch, steps)] or close
        if tag is not None and len(close) > 1:
            yield self.tag_fault(tag, steps)
        elif len(branches) == 1:  # of a tagged union pydantic tries only the alternative that is named
            yield from self.tell(next(iter(branches.values())), nested)
        elif len(close) == 1 and nested < MOST_NESTED:
            yield from self.tell(close[0], nested + 1)
        elif close:
            yield Wording(self.path(steps), wording.no_alternative(len(branches), brief(known, self.parts)))
        else:
            wrong = [one for branch in branches.values() for one in branch if self.is_wrong_type(one, steps)]
            types = dict.fromkeys(name for one in wrong for name in texts.JSON_TYPES[one.problem.kind])
            yield Wording(self.path(steps), wording.wrong_type(types, self.actual(steps)))

    def tag_fault(self, tag: Tag, steps: tuple[Part, ...]) -> Wording:
        return Wording(self.path(steps if tag.is_missing else (*steps, tag.name), {tag.name}), tag.text)

    def is_wrong_type(self, one: _Located, steps: tuple[Part, ...]) -> bool:
        is_here = one.steps == steps and not one.rest and not one.problem.is_of_a_name
        wanted = texts.JSON_TYPES.get(one.problem.kind, ()) if is_here else ()
        return bool(wanted) and self.actual(steps) not in {wording.ARTICLES[name] for name in wanted}

    def word(self, group: list[_Located]) -> Wording:
        """Words one problem, or all undeclared names of one object."""
        problem, steps = group[0].problem, group[0].steps
        if problem.kind == "union_tag_invalid" and (tag := texts.tag_name(problem.context)):
            return Wording(self.path((*steps, tag), {tag}), self.text(problem, None))
        return Wording(self.path(steps), self.text_about(group, problem, steps))

    def text_about(self, group: list[_Located], problem: _Problem, steps: tuple[Part, ...]) -> str:
        name = problem.name
        if problem.is_of_a_name:
            return f"has a property whose name {self.text(problem, '').removesuffix(', not a string')}"
        if problem.kind in _UNDECLARED:
            undeclared = [str(one.problem.name) for one in group]
            count = max(self.undeclared_at[problem.place], len(undeclared))
            allowed = self.properties(steps)
            sent = allowed.keys() & self.members(steps)
            return wording.undeclared(
                undeclared, show_names=self.show_names, count=count, allowed=tuple(allowed), sent=sent
            )
        if problem.kind in _MISSING and isinstance(name, int):
            return f"must have at least {wording.counted(name + 1, 'item')}"
        if problem.kind in _MISSING:
            return wording.missing(str(name), self.parts.kind(self.properties(steps).get(str(name))))
        if problem.kind == "union_tag_not_found" and (tag := texts.tag_name(problem.context)):
            return wording.missing(tag)
        return self.text(problem, self.at(steps))

    def text(self, problem: _Problem, value: object) -> str:
        return texts.text_of(problem.kind, problem.context, actual=_type_of(value), message=problem.message)

    def properties(self, steps: tuple[Part, ...]) -> Mapping[str, object]:
        return self.parts.properties_of(steps, self.at(steps))

    def members(self, steps: tuple[Part, ...]) -> Iterable[str]:
        node = self.at(steps)
        return node if isinstance(node, dict) else ()

    def path(self, steps: tuple[Part, ...], declared: Iterable[str] = ()) -> str:
        return wording.path_of(steps, self.names.union(declared), show_names=self.show_names)

    def actual(self, steps: tuple[Part, ...]) -> str:
        return _type_of(self.at(steps))


def _has(kinds: frozenset[str], branch: list[_Located], steps: tuple[Part, ...]) -> bool:
    return any(one.problem.kind in kinds and one.steps == steps and not one.rest for one in branch)


def _is_wrong_tag(one: _Located, steps: tuple[Part, ...]) -> bool:
    """Whether a member lacks its only allowed value, as the tags of `{"kind": "a", …}` and `{"kind": "b", …}` do."""
    is_member = len(one.steps) == len(steps) + 1 and not one.rest and one.problem.kind in ("literal_error", "enum")
    return is_member and len(texts.read_options(str(one.problem.context.get("expected", ""))) or ()) == 1


def _step(node: object, part: Part) -> object:
    if node is UNSEEN:
        return node
    if isinstance(node, dict) and part in node:
        return node[part]
    if isinstance(node, list | tuple) and isinstance(part, int) and 0 <= part < len(node):
        return node[part]
    return _NOWHERE


def _type_of(value: object) -> str:
    return "what was sent" if value is _NOWHERE or value is UNSEEN else wording.type_of(value)
