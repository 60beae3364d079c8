"""Values that a JSON Schema allows, as a Hypothesis strategy for what an agent may send."""

import math
import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeGuard

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from handfast.core.schema.costs import mapping
from handfast.toolkit.testing.generate.alternatives import Alternative, Alternatives, Schema, same_json, types_of
from handfast.toolkit.testing.generate.texts import TEXT, texts

Strategy = SearchStrategy[Any]  # Any: JSON

MOST_ITEMS = 4  # in a list or map beyond the schema's minimum: enough to show the effect of several

# Just inside and outside the ranges of databases, files and other languages; rarely drawn by chance.
_EDGES = (2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**30)
_MANY = 1_000
_SMALL = (0, 1, -1, 2, 3, -2, 7, 10, 42, 100)

_ANYTHING: Strategy = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(TEXT),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(TEXT, max_size=5), inner, max_size=2),
    max_leaves=4,
)


def values(schema: object) -> Strategy | None:
    """A strategy whose values nearly all meet the schema, to be filtered by it; None if no value can meet it."""
    return _Values(schema).of(schema, Counter())


class _Values:
    def __init__(self, root: object) -> None:
        self._alternatives = Alternatives(root)

    def of(self, schema: object, turns: Counter[str]) -> Strategy | None:
        found = [self._of_alternative(each) for each in self._alternatives.of(schema, turns)]
        return _any_of(found)

    def _of_alternative(self, each: Alternative) -> Strategy | None:
        schema = each.schema
        options = _options(schema)
        if options is not None:
            return st.sampled_from(options) if options else None
        made = _any_of(self._typed(name, each) for name in types_of(schema))
        examples = schema.get("examples")
        if made is None or not isinstance(examples, list) or not examples:
            return made
        return st.sampled_from(examples) | made  # an author's examples are likely to exist, so they are tried often

    def _typed(self, name: str, each: Alternative) -> Strategy | None:
        schema = each.schema
        match name:
            case "null":
                return st.none()
            case "boolean":
                return st.booleans()
            case "integer":
                return _integers(schema)
            case "number":
                return _any_of((_integers(schema), _floats(schema)))
            case "string":
                return texts(schema)
            case "array":
                return self._lists(schema, each.turns)
            case "object":
                return self._objects(schema, each.turns)
            case _:
                return _ANYTHING

    # --- lists -----------------------------------------------------------------------------------------------------

    def _lists(self, schema: Schema, turns: Counter[str]) -> Strategy | None:
        head, rest = _items(schema)
        least = int(schema.get("minItems", 0))
        most = int(schema.get("maxItems", max(least, len(head)) + MOST_ITEMS))
        if least > most:
            return None
        first: list[Strategy] = []
        for part in head[:most]:
            if (made := self.of(part, turns)) is None:
                most = len(first)
                break
            first.append(made)
        tail = self._tail(rest, schema, turns, least=max(0, least - len(first)), most=most - len(first))
        if tail is None or least > most:
            return None
        return st.tuples(st.tuples(*first), tail).map(lambda parts: [*parts[0], *parts[1]])

    def _tail(self, rest: object, schema: Schema, turns: Counter[str], *, least: int, most: int) -> Strategy | None:
        if "contains" in schema:
            rest = {"anyOf": [{"allOf": [rest, schema["contains"]]}, rest]}
            least = max(least, 1)
        item = self.of(rest, turns) if most > 0 else None
        if item is None:
            return st.just([]) if least == 0 else None
        if least > _MANY:  # too many to draw one by one; if they must differ, the schema filters these out
            return item.map(lambda each: [each] * least)
        most = max(least, min(most, least + MOST_ITEMS))
        return st.lists(item, min_size=least, max_size=most, unique_by=repr if schema.get("uniqueItems") else None)

    # --- objects ---------------------------------------------------------------------------------------------------

    def _objects(self, schema: Schema, turns: Counter[str]) -> Strategy | None:
        properties = mapping(schema, "properties")
        required = [name for name in schema.get("required", ()) if isinstance(name, str)]
        # Names may match a pattern, which only the schema can judge.
        others = {} if schema.get("patternProperties") else schema.get("additionalProperties", True)
        made: dict[str, Strategy] = {}
        for name in dict.fromkeys([*required, *properties]):
            strategy = self.of(properties.get(name, others), turns)
            if strategy is not None:
                made[name] = strategy
            elif name in required:
                return None
        fixed = st.fixed_dictionaries(
            {name: made[name] for name in required},
            optional={name: strategy for name, strategy in made.items() if name not in required},
        )
        more = self._more(schema, turns, names=properties.keys())
        if more is None:
            return fixed
        return st.tuples(more, fixed).map(lambda parts: {**parts[0], **parts[1]})

    def _more(self, schema: Schema, turns: Counter[str], *, names: Iterable[str]) -> Strategy | None:
        """Entries beside the declared ones, if the schema gives their type."""
        least = int(schema.get("minProperties", 0)) - len(schema.get("required", ()))
        most = int(schema.get("maxProperties", max(least, 0) + MOST_ITEMS))
        found: list[tuple[Strategy | None, Strategy | None]] = [
            (texts({"pattern": pattern}), self.of(part, turns))
            for pattern, part in mapping(schema, "patternProperties").items()
        ]
        others = schema.get("additionalProperties", True)
        if isinstance(others, dict) or (others is True and least > 0):
            known = frozenset(names)
            keys = self.of({"type": "string", **mapping(schema, "propertyNames")}, turns)
            found.append((None if keys is None else keys.filter(lambda key: key not in known), self.of(others, turns)))
        kinds = [
            st.dictionaries(keys, each, min_size=max(0, least), max_size=max(0, least, min(most, MOST_ITEMS)))
            for keys, each in found
            if keys is not None and each is not None
        ]
        return _any_of(kinds)


# --- parts that need no other schema -------------------------------------------------------------------------------


def _any_of(found: Iterable[Strategy | None]) -> Strategy | None:
    usable = [each for each in found if each is not None]
    return st.one_of(usable) if usable else None


def _options(schema: Schema) -> list[Any] | None:  # Any: JSON
    """The values of `enum` or `const`; None if the schema has neither."""
    options = schema.get("enum")
    if "const" in schema:
        const = schema["const"]
        options = [const] if options is None or any(same_json(const, each) for each in options) else []
    return options if isinstance(options, list) else None


def _items(schema: Schema) -> tuple[list[Any], object]:  # Any: schemas
    """The schemas of the first items, and that of all others; draft-07 has other keywords for these."""
    items = schema.get("items", True)
    if isinstance(items, list):
        return items, schema.get("additionalItems", True)
    head = schema.get("prefixItems", [])
    return (head if isinstance(head, list) else []), items


def _integers(schema: Schema) -> Strategy | None:
    lows, highs = _bounds(schema)
    step = schema.get("multipleOf", 1)
    step = int(step) if float(step).is_integer() else 1
    least = max((-(-each // step) for each in (_next_integer(*low) for low in lows)), default=None)
    most = min((each // step for each in (-_next_integer(-high, is_open) for high, is_open in highs)), default=None)
    if least is not None and most is not None and least > most:
        return None
    made = st.integers(least, most).map(lambda number: number * step)
    known = [*(end for end in (least, most) if end is not None), *_SMALL, *(_EDGES if step == 1 else ())]
    within = [each for each in known if (least is None or each >= least) and (most is None or each <= most)]
    return st.sampled_from([each * step for each in dict.fromkeys(within)]) | made if within else made


def _next_integer(low: float, is_open: bool) -> int:
    return math.floor(low) + 1 if is_open else math.ceil(low)


def _floats(schema: Schema) -> Strategy | None:
    lows, highs = _bounds(schema)
    least = max((_next_float(*low) for low in lows), default=None)
    most = min((-_next_float(-high, is_open) for high, is_open in highs), default=None)
    if least is not None and most is not None and least > most:
        return None
    step = schema.get("multipleOf")
    if step is not None:
        low = -_MANY if least is None else math.ceil(least / step)
        high = low + 2 * _MANY if most is None else math.floor(most / step)
        return st.integers(low, high).map(lambda number: number * step) if low <= high else None
    return st.floats(least, most, allow_nan=False, allow_infinity=False)


def _next_float(low: float, is_open: bool) -> float:
    try:
        return math.nextafter(low, math.inf) if is_open else float(low)
    except OverflowError:
        return math.copysign(sys.float_info.max, low)


def _bounds(schema: Schema) -> tuple[list[tuple[float, bool]], list[tuple[float, bool]]]:
    """Lower and upper bounds, each with whether it is exclusive, which draft-04 writes in another way."""

    def read(closed: str, opened: str) -> list[tuple[float, bool]]:
        plain, strict = schema.get(closed), schema.get(opened)
        found = ((plain, strict is True), (strict, True))
        return [(bound, is_open) for bound, is_open in found if _is_number(bound)]

    return read("minimum", "exclusiveMinimum"), read("maximum", "exclusiveMaximum")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
