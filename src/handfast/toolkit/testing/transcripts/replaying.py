"""Replaying a transcript: sends its requests again, and finds where the answers differ."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcp import Client

from handfast.toolkit.testing.session import in_memory, run_to_end
from handfast.toolkit.testing.transcripts.recording import Recording
from handfast.toolkit.testing.transcripts.transcript import Transcript, Turn
from handfast.toolkit.toolbox import Toolbox

_MOST_SHOWN = 200  # characters of a value
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where an answer differs from the recorded one; an absent value is `(nothing)`."""

    turn: int  # from 1
    name: str
    path: str  # a JSON pointer into the answer
    recorded: str
    replayed: str

    def __str__(self) -> str:
        return f"turn {self.turn}, {self.name}: {self.path} was {self.recorded} and is {self.replayed}"


def replay(toolbox: Toolbox | Callable[[], Toolbox], transcript: Transcript) -> list[Difference]:
    """Sends the recorded requests to a toolbox in its state before them; returns the differences between answers.

    In async code, or to another process, use `replay_through`.
    """
    fresh = toolbox if isinstance(toolbox, Toolbox) else toolbox()
    return run_to_end(lambda: _replay(fresh, transcript), instead="await replay_through(client, …)")


def assert_replays(toolbox: Toolbox | Callable[[], Toolbox], transcript: Transcript) -> None:
    """Replays a transcript. Raises: AssertionError, with every difference."""
    __tracebackhide__ = True
    differences = replay(toolbox, transcript)
    if differences:
        told = [f"The transcript of '{transcript.server}' does not replay:", *(f"- {each}" for each in differences)]
        raise AssertionError("\n".join(told))


async def replay_through(client: Client, transcript: Transcript) -> list[Difference]:
    """The same through a connected client, to any process."""
    recording = Recording(client)
    found = []
    for number, turn in enumerate(transcript.turns, 1):
        again = await recording.send(turn.method, turn.params)
        difference = _difference(number, turn, again)
        if difference is not None:
            found.append(difference)
    return found


async def _replay(toolbox: Toolbox, transcript: Transcript) -> list[Difference]:
    async with in_memory(toolbox, mode=transcript.mode, actor=transcript.actor) as client:
        return await replay_through(client, transcript)


def _difference(number: int, recorded: Turn, replayed: Turn) -> Difference | None:
    place = first_difference(dict(recorded.answer), dict(replayed.answer))
    if place is None:
        return None
    path, was, now = place
    return Difference(number, recorded.name, path, _shown(was), _shown(now))


def first_difference(one: Any, other: Any, path: str = "") -> tuple[str, Any, Any] | None:  # Any: JSON
    """The pointer to the first place where two JSON values differ, and both values; key order does not count."""
    if isinstance(one, dict) and isinstance(other, dict):
        entries: Sequence[Any] = sorted({*one, *other})
        pairs = [(key, one.get(key, _NOTHING), other.get(key, _NOTHING)) for key in entries]
    elif isinstance(one, list) and isinstance(other, list):
        longer = max(len(one), len(other))
        padded = [[*each, *[_NOTHING] * (longer - len(each))] for each in (one, other)]
        pairs = list(zip(map(str, range(longer)), *padded, strict=True))
    else:
        return None if type(one) is type(other) and one == other else (path, one, other)
    for key, left, right in pairs:
        found = first_difference(left, right, f"{path}/{key.replace('~', '~0').replace('/', '~1')}")
        if found is not None:
            return found
    return None


def _shown(value: object) -> str:
    text = "(nothing)" if value is _NOTHING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}… ({len(text)} characters)"
