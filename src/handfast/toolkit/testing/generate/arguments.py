"""Arguments for tests: valid ones, simplified ones, and ones that break a schema in every way."""

import json
import warnings
from collections.abc import Awaitable, Callable, Iterator
from itertools import chain
from random import Random
from typing import Any

from hypothesis import given, settings

from handfast.core.schema.compiled import CompiledSchema
from handfast.toolkit.testing.generate.values import Strategy, values
from handfast.toolkit.testing.judging import is_valid
from handfast.toolkit.testing.problems import shape_of

Arguments = dict[str, Any]  # Any: JSON

_SEED = 4
_BYTES = 8_192  # for one value: the most that Hypothesis itself uses
_TRIES = 5  # for each value, as some are filtered out or repeated
_UNKNOWN = "not_a_declared_field"
_WRAPPERS = ("data", "payload", "wrapped_arguments")
_SAMPLES: tuple[Any, ...] = (None, True, 7, 0.5, "text", [], {}, ["text"], {"a": 1})  # Any: one JSON value of each kind
MOST_TRIES = 120  # calls for one problem: an ordinary tool answers that many within a second
_NONE = object()


class NoArguments(Exception):
    """No arguments could be made from a schema; the text says why, and what its author can do."""


def arguments_for(schema: CompiledSchema, most: int) -> list[Arguments]:
    """At most `most` different arguments that meet the schema, the simplest first. Raises: NoArguments."""
    strategy = values(schema.content)
    if strategy is None:
        raise NoArguments(
            "no arguments can meet its input schema; look for bounds and types that contradict each other"
        )
    found: dict[str, Arguments] = {}
    with warnings.catch_warnings():
        # Python's `re` warns of unusual patterns, and in many test suites a warning is an error.
        warnings.simplefilter("ignore")
        for each in chain(_given(schema.content), _drawn(strategy, schema, most)):
            if isinstance(each, dict) and is_valid(schema, each):
                found.setdefault(json.dumps(each, sort_keys=True), each)
            if len(found) == most:
                break
    if not found:
        raise NoArguments(
            "no arguments could be made from its input schema, so it was not tried; "
            "give `examples` for the fields with a pattern, or for the whole"
        )
    return list(found.values())


def _given(schema: object) -> list[Any]:  # Any: JSON
    examples = schema.get("examples") if isinstance(schema, dict) else None
    return examples if isinstance(examples, list) else []


def _drawn(strategy: Strategy, schema: CompiledSchema, most: int) -> Iterator[Any]:  # Any: as above
    """Draws as a fuzzer with our own bytes; otherwise Hypothesis also draws constants from the loaded modules."""
    found: list[Any] = []

    @settings(database=None, deadline=None)
    @given(strategy.filter(lambda value: is_valid(schema, value)))
    def draw(value: Any) -> None:  # Any: JSON
        found.append(value)

    fuzz = draw.hypothesis.fuzz_one_input  # type: ignore[attr-defined]  # given() sets it, and its type does not say so
    source = Random(_SEED)  # noqa: S311 - the same in every run, which is the point
    fuzz(bytes(_BYTES))  # all zeros give the simplest value
    for _ in range(most * _TRIES):
        yield from found
        found.clear()
        fuzz(source.randbytes(_BYTES))
    yield from found


def arguments_outside(schema: CompiledSchema, valid: Arguments) -> Iterator[tuple[str, Arguments]]:
    """Wrong arguments, each with what is wrong, made from valid ones."""
    declared = schema.declared
    if not declared.is_open(_UNKNOWN):
        yield "an unknown key", {**valid, _UNKNOWN: 1}
        wrapper = next(name for name in _WRAPPERS if name not in declared.names)
        yield "a payload wrapped in an object", {wrapper: valid}
    for name in declared.names:
        for sample in _SAMPLES:
            if not is_valid(schema, wrong := {**valid, name: sample}):
                yield f"'{name}' as {_kind(sample)}", wrong
    for what, wrong in _changed(valid, ""):
        if not is_valid(schema, wrong):
            yield what, wrong


def _changed(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # Any: JSON
    """Variants with one key more or fewer in an object, or a value of another type."""
    if isinstance(value, dict):
        if path:
            yield f"an unknown key in '{path}'", {**value, _UNKNOWN: 1}
        for name, inner in value.items():
            where = f"{path}/{name}".lstrip("/")
            yield f"no '{where}'", {key: other for key, other in value.items() if key != name}
            yield from ((what, {**value, name: wrong}) for what, wrong in _replaced(inner, where))
    elif isinstance(value, list):
        for place, inner in enumerate(value[:1]):
            yield from ((what, [wrong, *value[1:]]) for what, wrong in _replaced(inner, f"{path}/{place}"))


def _replaced(value: Any, path: str) -> Iterator[tuple[str, Any]]:  # Any: JSON
    yield from _changed(value, path)
    if "/" in path:  # values at the root are tried one by one
        yield from ((f"'{path}' as {_kind(sample)}", sample) for sample in _SAMPLES)


def _kind(sample: object) -> str:
    return f"a value of the shape {shape_of(sample)}"


async def simplest(arguments: Any, still: Callable[[Any], Awaitable[bool]]) -> Any:  # Any: JSON
    """Simplifies arguments as long as `still` says that the simpler ones are allowed and show the same problem."""
    tries = MOST_TRIES
    seen = {_key(arguments)}
    candidates = simpler(arguments)
    while tries and (candidate := next(candidates, _NONE)) is not _NONE:
        if _key(candidate) in seen:
            continue
        seen.add(_key(candidate))
        tries -= 1
        if await still(candidate):
            arguments, candidates = candidate, simpler(candidate)
    return arguments


def _key(value: object) -> str:
    return f"{shape_of(value)} {value!r}"


def simpler(value: Any) -> Iterator[Any]:  # Any: JSON
    """Values that are a little simpler, the boldest first."""
    match value:
        case bool() | None:
            return
        case int() | float():
            yield from _simpler_numbers(value)
        case str():
            yield from _shorter(value, "")
        case list():
            yield from _shorter(value, [])
            for place, inner in enumerate(value):
                yield from ([*value[:place], less, *value[place + 1 :]] for less in simpler(inner))
        case dict():
            for name in value:
                yield {key: inner for key, inner in value.items() if key != name}
            for name, inner in value.items():
                yield from ({**value, name: less} for less in simpler(inner))


def _simpler_numbers(value: float) -> Iterator[float]:
    kind = type(value)
    whole = int(value)
    parts = [whole // 1000, *(whole - whole // part for part in (2, 4, 16, 256)), whole]
    towards = [kind(each) for each in (0, 1, -1, *parts)] + [value - 1 if value > 0 else value + 1]
    yield from (each for each in towards if abs(each) < abs(value) or (abs(each) == abs(value) and each > value))


def _shorter(value: Any, empty: Any) -> Iterator[Any]:  # Any: a string or a list, and the empty one
    if len(value) > 0:
        yield empty
    if len(value) > 1:
        half = len(value) // 2
        yield from (value[:half], value[half:], value[:-1], value[1:])
