"""From arguments that show a problem to the simplest ones that still show it."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from handfast.toolkit.testing.problems import shape_of

MOST_TRIES = 120  # calls spent on one problem: a tool of ordinary speed answers them within a second


async def simplest(arguments: Any, still: Callable[[Any], Awaitable[bool]]) -> Any:  # Any: JSON
    """`still` says whether simpler arguments are allowed and show the same."""
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


_NONE = object()


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
