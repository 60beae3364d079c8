"""Faulty calls, made from valid ones: one mistake each, of a kind that agents make, drawn with a fixed seed."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from benchmarks.repair.tools import Json, NoCall, Tool, resolve

MISSPELT, MISSING, WRAPPED, NESTED = "misspelt name", "missing field", "wrapped in an object", "nested unknown key"
TYPE, VALUE, DISPATCHER = "wrong type", "wrong value", "dispatcher"
CLASSES: Final = (MISSPELT, MISSING, WRAPPED, NESTED, TYPE, VALUE, DISPATCHER)
MOST_OF_A_CLASS: Final = 70
_WRAPPERS: Final = ("data", "payload", "params", "input", "request")
_EXTRAS: Final = (("verbose", True), ("comment", "none"), ("limit", 10))

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Fault:
    """A call with one mistake. `place` is what was changed; None where only the whole original will do."""

    tool: Tool
    kind: str
    original: Json
    faulty: Json
    place: Path | None = None

    def is_repaired(self, arguments: object) -> bool:
        """Valid, and what was right is still there: all of it, but for a value at `place` that only had to be valid."""
        if not self.tool.accepts(arguments):
            return False
        if self.place is None:
            return arguments == self.original
        return bool(_without(arguments, self.place) == _without(self.original, self.place))


def make_faults(tools: list[Tool], dispatchers: list[tuple[Tool, list[Tool]]], seed: int) -> list[Fault]:
    """At most so many of a class, spread over the tools; the same in every run."""
    source = Random(seed)
    by_class: dict[str, list[Fault]] = {kind: [] for kind in CLASSES}
    for tool in [*tools, *tools]:
        try:
            original = tool.valid_call(source)
        except NoCall:
            continue
        for fault in _of_tool(tool, original, source):
            if not tool.accepts(fault.faulty):
                by_class[fault.kind].append(fault)
    for dispatcher, actions in dispatchers:
        by_class[DISPATCHER] += _of_dispatcher(dispatcher, actions, source)
    chosen: list[Fault] = []
    for found in by_class.values():
        source.shuffle(found)
        # Formats are rare in what servers declare: all of them are tried.
        found.sort(key=lambda fault: "format" not in _schema_at(fault) if fault.kind == VALUE else True)
        chosen += found[:MOST_OF_A_CLASS]
    return chosen


def _of_tool(tool: Tool, original: Json, source: Random) -> Iterator[Fault]:
    root = resolve(tool.schema, tool.schema)
    required = [name for name in root.get("required", []) if name in original]
    if original:
        name = source.choice(list(original))
        yield Fault(tool, MISSPELT, original, _renamed(original, name, _misspelt(name, source)))
        yield from _wrapped(tool, original, source)
    for name in required[:2]:
        yield Fault(tool, MISSING, original, {key: said for key, said in original.items() if key != name}, (name,))
    yield from _nested(tool, original, source)
    leaves = [(place, _at(original, place)) for place in _places(original)]
    source.shuffle(leaves)
    for place, said in leaves[:2]:
        yield Fault(tool, TYPE, original, _with(original, place, _other_type(said, source)))
    for place, _ in leaves:
        wrong = _wrong_value(_schema_of(tool, place), _at(original, place), source)
        if wrong is not None:
            value, is_exact = wrong
            yield Fault(tool, VALUE, original, _with(original, place, value), None if is_exact else place)


def _wrapped(tool: Tool, original: Json, source: Random) -> Iterator[Fault]:
    wrapper = source.choice(
        [name for name in _WRAPPERS if name not in resolve(tool.schema, tool.schema).get("properties", {})]
    )
    yield Fault(tool, WRAPPED, original, {wrapper: deepcopy(original)})
    if len(original) > 1:
        names = list(original)
        inner = names[source.randint(1, len(names) - 1) :]
        outside = {name: original[name] for name in names if name not in inner}
        yield Fault(tool, WRAPPED, original, {**outside, wrapper: {name: original[name] for name in inner}})


def _nested(tool: Tool, original: Json, source: Random) -> Iterator[Fault]:
    inner = [place for place in _places(original) if isinstance(_at(original, place), dict) and _at(original, place)]
    closed = [place for place in inner if _schema_of(tool, place).get("additionalProperties") is False]
    for place in closed[:2]:
        holder = _at(original, place)
        name, value = source.choice(_EXTRAS)
        yield Fault(tool, NESTED, original, _with(original, place, {**holder, name: value}))
        wrong = source.choice(list(holder))
        yield Fault(tool, NESTED, original, _with(original, place, _renamed(holder, wrong, _misspelt(wrong, source))))


def _of_dispatcher(dispatcher: Tool, actions: list[Tool], source: Random) -> Iterator[Fault]:
    for action in actions:
        try:
            inner = action.valid_call(source)
        except NoCall:
            continue
        if not inner:
            continue
        original: Json = {"action": action.name, "arguments": inner}
        wrapper = source.choice(_WRAPPERS[:2])
        faulty: list[Json] = [
            {"action": _misspelt(action.name, source), "arguments": inner},
            {"action": action.name, **inner},
            {"action": action.name, wrapper: inner},
            {"action": action.name, "arguments": json.dumps(inner)},
            {_misspelt("action", source): action.name, "arguments": inner},
        ]
        yield Fault(dispatcher, DISPATCHER, original, source.choice(faulty))


def _misspelt(name: str, source: Random) -> str:
    """Two letters swapped, one left out, or another convention for names of several words."""
    words = name.replace("-", "_").split("_")
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
    at = source.randint(0, max(len(name) - 2, 0))
    swapped = name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :]
    shorter = name[:at] + name[at + 1 :]
    ways = [way for way in (camel, snake, swapped, shorter) if way not in (name, "")]
    return source.choice(ways or [f"{name}s"])


def _other_type(said: Any, source: Random) -> Any:  # Any: JSON
    """The same value in a form of another type; one from which it can be told what was meant."""
    match said:
        case bool():
            return source.choice([[said], "true" if said else "false"])
        case int() | float():
            return source.choice([str(said), [said]])
        case str():
            return source.choice([[said], {"value": said}])
        case list():
            return source.choice([json.dumps(said), {"items": said}])
        case _:
            return source.choice([json.dumps(said), [said]])


def _wrong_value(schema: Json, said: Any, source: Random) -> tuple[Any, bool] | None:  # Any: JSON
    """A value of the right type that is not allowed, and whether only the original will do in its place."""
    if "enum" in schema and isinstance(said, str) and said:
        other = source.choice([said.upper(), said.capitalize(), _misspelt(said, source)])
        return None if other in schema["enum"] else (other, True)
    if schema.get("format") == "date":
        return "17.03.2026", True
    if schema.get("format") == "uri":
        return str(said).removeprefix("https://"), True
    if isinstance(said, str):
        if schema.get("minLength"):
            return "", False
        return ((said * 2000)[: schema["maxLength"] + 5], False) if 0 < schema.get("maxLength", 0) < 5000 else None
    if isinstance(said, list):
        return ([], False) if schema.get("minItems") else None
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    if "maximum" in schema and schema["maximum"] < 2**31:
        return schema["maximum"] + source.randint(1, 50), False
    lowest = schema.get("minimum", schema.get("exclusiveMinimum"))
    return None if lowest is None else (lowest - source.randint(1, 50), False)


# --- places in a call ----------------------------------------------------------------------------------------------


def _places(value: Any, place: Path = ()) -> Iterator[Path]:  # Any: JSON
    if place:
        yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in inner:
        yield from _places(below, (*place, step))


def _at(value: Any, place: Path) -> Any:  # Any: JSON
    for step in place:
        value = value[step]
    return value


def _with(value: Json, place: Path, said: Any) -> Json:  # Any: JSON
    changed = deepcopy(value)
    _at(changed, place[:-1])[place[-1]] = said
    return changed


def _without(value: Any, place: Path) -> Any:  # Any: JSON
    """`value` with what stands at the place taken out of it, if it is there."""
    changed = deepcopy(value)
    try:
        del _at(changed, place[:-1])[place[-1]]
    except (KeyError, IndexError, TypeError):
        return changed
    return changed


def _renamed(value: Json, old: str, new: str) -> Json:
    return {new if key == old else key: said for key, said in value.items()}


def _schema_at(fault: Fault) -> Json:
    """The schema of what differs between the two calls."""
    changed = [place for place in _places(fault.original) if _differs(fault, place)]
    return _schema_of(fault.tool, max(changed, key=len)) if changed else {}


def _differs(fault: Fault, place: Path) -> bool:
    try:
        return bool(_at(fault.original, place) != _at(fault.faulty, place))
    except (KeyError, IndexError, TypeError):
        return True


def _schema_of(tool: Tool, place: Path) -> Json:
    """What the schema says of a place in a valid call: of alternatives the first that knows the next step."""
    schema = _plain(tool.schema, tool.schema)
    for step in place:
        inner = schema.get("items", {}) if isinstance(step, int) else schema.get("properties", {}).get(step, {})
        schema = _plain(inner, tool.schema)
    return schema


def _plain(schema: Any, root: Json) -> Json:  # Any: JSON
    read = resolve(schema, root)
    parts = [resolve(part, root) for key in ("anyOf", "oneOf") for part in read.get(key, [])]
    useful = [part for part in parts if part.get("type") != "null"]
    return read if "properties" in read or len(useful) != 1 else {**read, **useful[0]}
