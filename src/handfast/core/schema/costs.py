"""Costs of single keywords and patterns, in units of one plain keyword (10 ns)."""

from typing import Any

from handfast.core.schema.references import Node, References

# Comparing numbers of different types uses exact arithmetic: 0.3 to 2.8 µs a comparison.
BOUND, INTEGER_OPTION, FRACTIONAL_OPTION = 8, 20, 100
HUGE_BOUND = 200  # 1e300 against 1e305: 20 µs

# multipleOf: 3 µs for 3e300 with a whole step, 13 µs with a fraction; steps below a millionth take longer still.
WHOLE_STEP, FRACTIONAL_STEP, TINY_STEP = 20, 150, 1_000

# Up to 15 items are compared pairwise: 3 µs a byte for fractions, almost nothing for strings. A compromise.
UNIQUE_ITEMS = 60

# An object or array among the options costs 180 ns before the first member is compared.
COMPOUND_OPTION = 20

MOST_OPTIONS = 5_000

# Wording makes one error per missing name, so a long list of required names counts although testing it is cheap.
REQUIRED_NAMES_PER_UNIT = 4

# Once its cache is exhausted, which is rare, the engine follows every state of a pattern for every byte: 6 ns each.
PATTERN_STATES_PER_UNIT = 4

# The most that compiling in place may take by the estimate below; the slow lane compiles the rest.
COMPILE_BUDGET_MS = 15.0

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_PER_NAME = ("dependentRequired", "dependentSchemas", "dependencies")
_DEARER = frozenset((*_BOUNDS, *_PER_NAME, "required", "pattern", "multipleOf", "enum", "const"))


def compile_ms(references: References, weight: int) -> float:
    """About how long the library takes to compile a schema; each figure is the worst measured."""
    cost = 0.005 * references.objects
    # A chain of references is followed recursively, and each costs a little more than the one before.
    cost += 0.02 * references.count
    # For every unevaluated… keyword, all that applies at its location is compiled once more.
    cost += 0.02 * references.unevaluated * weight
    return cost + sum(map(_pattern_ms, references.patterns))


def _pattern_ms(pattern: str) -> float:
    # Classes such as \p{L} are long lists, even longer if case is ignored; the size limit applies only afterwards.
    classes = pattern.lower().count("\\p") * (0.2 if "(?" in pattern else 0.02)
    return 0.3 + 0.0005 * len(pattern) + classes


def own_cost(node: Node) -> float:
    """A subschema's cost at the location that it applies to."""
    if node.keys().isdisjoint(_DEARER):
        return 1.0
    cost = 1.0 + sum(_bound_cost(node[keyword]) for keyword in _BOUNDS if keyword in node)
    cost += sum(len(mapping(node, keyword)) for keyword in _PER_NAME if keyword in node)
    if isinstance(required := node.get("required"), list):
        cost += len(required) / REQUIRED_NAMES_PER_UNIT
    if isinstance(pattern := node.get("pattern"), str):
        cost += pattern_cost(pattern)
    if "multipleOf" in node:
        cost += _step_cost(node["multipleOf"])
    return cost + sum(map(_option_cost, _options(node)))


def _bound_cost(limit: object) -> float:
    return BOUND if isinstance(limit, int | float) and abs(limit) < 1e18 else HUGE_BOUND


def _step_cost(step: object) -> float:
    if not isinstance(step, float):
        return WHOLE_STEP
    return FRACTIONAL_STEP if step >= 1e-6 else TINY_STEP


def cost_below(node: Node) -> float:
    """A subschema's cost at every location below: comparing and hashing read the whole value."""
    compound = sum(1 for option in _options(node) if isinstance(option, dict | list))
    return COMPOUND_OPTION * compound + (UNIQUE_ITEMS if node.get("uniqueItems") is True else 0)


def name_cost(node: Node) -> float:
    """A subschema's cost for the name of every member."""
    return sum(1 + pattern_cost(pattern) for pattern in mapping(node, "patternProperties"))


def pattern_cost(pattern: str) -> float:
    return pattern_states(pattern) / PATTERN_STATES_PER_UNIT


def pattern_states(pattern: str) -> int:
    """An estimate of a pattern's states with counted repetitions expanded; never far too low."""
    open_groups: list[int] = [0]
    last = 0  # states of the latest atom or group, which a repetition multiplies
    place = 0
    while place < len(pattern):
        char = pattern[place]
        if char == "(":
            open_groups.append(0)
        elif char == ")" and len(open_groups) > 1:
            last = open_groups.pop()
            open_groups[-1] += last
        elif char == "{":
            times, place = _repetition(pattern, place)
            open_groups[-1] += last * (times - 1)
            last *= times
        else:
            place = _end_of_atom(pattern, place)
            open_groups[-1] += 1
            last = 1
        place += 1
    return min(sum(open_groups), 1 << 30)


def _repetition(pattern: str, place: int) -> tuple[int, int]:
    end = pattern.find("}", place, place + 16)
    if end < 0:
        return 1, place
    counts = [int(part) for part in pattern[place + 1 : end].split(",") if part.isdecimal()]
    return max([1, *counts]), end


def _end_of_atom(pattern: str, place: int) -> int:
    if pattern[place] == "\\":
        return place + 1
    if pattern[place] != "[":
        return place
    place += 1
    while place < len(pattern) and pattern[place] != "]":
        place += 2 if pattern[place] == "\\" else 1
    return place


def _options(node: Node) -> list[Any]:  # Any: JSON values as written
    options = node.get("enum")
    # With more options than this the weight is over any bound.
    options = options[:MOST_OPTIONS] if isinstance(options, list) else []
    return [*options, node["const"]] if "const" in node else options


def _option_cost(option: object) -> float:
    if isinstance(option, dict | list):
        return COMPOUND_OPTION
    if isinstance(option, float):
        return FRACTIONAL_OPTION
    if isinstance(option, int) and not isinstance(option, bool):
        return INTEGER_OPTION
    return 1 / 4


def mapping(node: Node, keyword: str) -> Node:
    """The value of a keyword that should hold an object; empty if it is absent or not an object."""
    part = node.get(keyword)
    return part if isinstance(part, dict) else {}
