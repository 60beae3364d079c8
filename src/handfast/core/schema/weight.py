"""The weight of a JSON Schema: the most evaluations per location of a value, estimated from the schema's text alone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from handfast.core.schema.costs import cost_below, mapping, name_cost, own_cost
from handfast.core.schema.references import REFERENCE_KEYWORDS, Node, References

OVER = 1 << 40  # stands for any weight over the bound

# The default guard refuses deeper results, so growth beyond this depth does not matter.
DEPTH = 64

# A step costs up to 0.4 µs: counting ends within some 20 ms, and a schema that needs longer weighs OVER.
STEPS = 50_000
STEPS_PER_PART = 16

# To find what is unevaluated the library evaluates siblings again: measured 2.2 times a level, so 3 is safe.
UNEVALUATED_FACTOR = 3

_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE_ONE = ("not", "if", "then", "else")
_IN_PLACE_MAPS = ("dependentSchemas", "dependencies")
_EVERY_ITEM = ("items", "additionalItems", "contains", "unevaluatedItems")
_OTHER_NAMES = ("additionalProperties", "unevaluatedProperties")
_MEMBER_KEYWORDS = ("properties", "patternProperties", "propertyNames", *_OTHER_NAMES)
_ITEM_KEYWORDS = ("prefixItems", *_EVERY_ITEM)

_STRUCTURE = frozenset(
    (*REFERENCE_KEYWORDS, *_IN_PLACE_LISTS, *_IN_PLACE_ONE, *_IN_PLACE_MAPS, *_MEMBER_KEYWORDS, *_ITEM_KEYWORDS)
)

Bag = list[tuple[int, int]]  # indexes of the locations that meet at one child, and how often each applies


def weigh(schema: object, references: References, *, bound: int) -> int:
    """The weight of a schema, or OVER once it exceeds the bound. Raises: UnresolvedReference."""
    if not isinstance(schema, dict):
        return 1
    if references.is_compound:
        return OVER
    try:
        return _Scale(references, bound).weigh(schema)
    except _TooMuch:
        return OVER


class _TooMuch(Exception):
    """The weight exceeds its bound, or counting exceeds its budget of steps."""


@dataclass(slots=True)
class _Location:
    """The costs of one subschema at the location that it applies to, with all parts that apply in place."""

    distance: int
    cost: float = 0
    below: float = 0  # cost at every location below
    names: float = 0  # cost at every child
    bags: list[Bag] = field(default_factory=list)  # one for each child with subschemas of its own


class _Scale:
    def __init__(self, references: References, bound: int) -> None:
        self.references = references
        self.bound = bound
        self.steps = 0
        self.locations: list[_Location] = []
        self.indexes: dict[int, int] = {}  # id of a node → its index in `locations`
        self.pending: list[Node] = []

    def weigh(self, root: Node) -> int:
        self.index(root, 0)
        for node in self.pending:  # grows during the loop, nearest first
            self.survey(node, self.locations[self.indexes[id(node)]])
        return self.follow()

    def index(self, node: Node, distance: int) -> int:
        if id(node) not in self.indexes:
            self.indexes[id(node)] = len(self.locations)
            self.locations.append(_Location(distance))
            if distance <= DEPTH:
                self.pending.append(node)
        return self.indexes[id(node)]

    def step(self, count: int) -> None:
        self.steps += count
        if self.steps > STEPS:
            raise _TooMuch

    def survey(self, entry: Node, location: _Location) -> None:
        """Adds up everything that applies at this location."""
        if entry.keys().isdisjoint(_STRUCTURE):
            self.step(STEPS_PER_PART // 4)
            self.add(entry, 1, location)
            return
        parts: list[tuple[Node, int]] = []
        path: set[int] = set()
        # (node, times) enters a node, a bare id leaves it; recursion would be as deep as the longest reference chain.
        stack: list[tuple[Node, int] | int] = [(entry, 1)]
        while stack:
            top = stack.pop()
            if isinstance(top, int):
                path.discard(top)
                continue
            node, times = top
            if id(node) in path:
                # A reference loop. Validators detect it, but late: 839 bytes of such a schema took 2 s to compile.
                raise _TooMuch
            self.step(STEPS_PER_PART)
            path.add(id(node))
            if "unevaluatedProperties" in node or "unevaluatedItems" in node:
                times *= UNEVALUATED_FACTOR
            self.add(node, times, location)
            parts.append((node, times))
            stack.append(id(node))
            stack.extend([(part, times) for part in self.in_place(node)])
        self.meet(parts, location)

    def add(self, node: Node, times: int, location: _Location) -> None:
        location.cost += times * own_cost(node)
        location.below += times * cost_below(node)
        location.names += times * name_cost(node)
        # Any reachable part can become the root's heaviest location, so one heavy part decides.
        if location.cost > self.bound or location.names > self.bound:
            raise _TooMuch

    def in_place(self, node: Node) -> Iterator[Node]:
        for keyword in REFERENCE_KEYWORDS:
            if isinstance(reference := node.get(keyword), str):
                yield from self.references.targets(reference)
        for keyword in _IN_PLACE_LISTS:
            if isinstance(parts := node.get(keyword), list):
                yield from _nodes(parts)
        for keyword in _IN_PLACE_ONE:
            if isinstance(part := node.get(keyword), dict):
                yield part
        for keyword in _IN_PLACE_MAPS:
            if keyword in node:
                yield from _nodes(mapping(node, keyword).values())

    def meet(self, parts: list[tuple[Node, int]], location: _Location) -> None:
        """Collects for each child with subschemas of its own what applies to it."""
        objects = [_members(node, times) for node, times in parts if not node.keys().isdisjoint(_MEMBER_KEYWORDS)]
        arrays = [_items(node, times) for node, times in parts if not node.keys().isdisjoint(_ITEM_KEYWORDS)]
        nearer = location.distance + 1
        for children in (objects, arrays):
            keys: dict[str | int | None, None] = dict.fromkeys(key for child in children for key in child.told_apart)
            self.step((len(keys) + 1) * len(children))
            # None stands for a child that no keyword names: only what applies to all other children applies to it.
            for key in [*keys, None] if children else ():
                bag = [(node, child.times) for child in children for node in child.at(key)]
                location.bags.append([(self.index(node, nearer), times) for node, times in bag])

    def follow(self) -> int:
        """Goes down from the root, one level of the value at a time, and returns the heaviest level."""
        weights = [location.cost for location in self.locations]
        heaviest = weights[0]
        # A location with nothing below it costs nothing at deeper levels, so most of a schema drops out here.
        inner = [(at, loc) for at, loc in enumerate(self.locations) if loc.bags or loc.below]
        size = sum(1 + sum([len(bag) for bag in loc.bags]) for _, loc in inner)
        for depth in range(1, DEPTH + 1):
            self.step(size)
            deeper = [0.0] * len(weights)
            for at, location in inner:
                deeper[at] = _one_deeper(location, weights, depth)
            heaviest = max(heaviest, deeper[0])
            if heaviest > self.bound:
                raise _TooMuch
            if deeper == weights:
                break
            weights = deeper
        return ceil(heaviest)


def _one_deeper(location: _Location, weights: list[float], depth: int) -> float:
    heaviest = max([sum([weights[at] * times for at, times in bag]) for bag in location.bags], default=0)
    return min(float(OVER), heaviest + location.below + (location.names if depth == 1 else 0))


@dataclass(frozen=True, slots=True)
class _Children:
    """The subschemas that one part has for the children of its location."""

    told_apart: dict[str, Any] | dict[int, Any]  # by name or index; Any: subschemas as written
    others: list[Node]  # for all other children
    always: list[Node]
    times: int

    def at(self, key: str | int | None) -> list[Node]:
        children: dict[Any, Any] = self.told_apart  # Any: either kind of key, asked with one that may be of the other
        if key not in children:
            return self.others + self.always
        child = children[key]
        return [child, *self.always] if isinstance(child, dict) else self.always


def _members(node: Node, times: int) -> _Children:
    others = _nodes([node.get(keyword) for keyword in _OTHER_NAMES])
    always = _nodes([node.get("propertyNames"), *mapping(node, "patternProperties").values()])
    return _Children(mapping(node, "properties"), others, always, times)


def _items(node: Node, times: int) -> _Children:
    return _Children(dict(enumerate(_prefix(node))), [], _nodes([node.get(keyword) for keyword in _EVERY_ITEM]), times)


def _prefix(node: Node) -> list[Any]:  # Any: subschemas as written
    for keyword in ("prefixItems", "items"):
        if isinstance(prefix := node.get(keyword), list):
            return prefix
    return []


def _nodes(parts: Iterable[object]) -> list[Node]:
    return [part for part in parts if isinstance(part, dict)]
