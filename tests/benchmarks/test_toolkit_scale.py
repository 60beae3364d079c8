"""A dispatch does the same work among 2,000 tools as among 20, counted rather than timed."""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from benchmarks.toolkit_scale import ARGUMENTS, FEW, MANY, Scale, build_registry, measure

from handfast.core.answers.envelopes import Envelope
from handfast.toolkit import Answer, ToolRegistry

Work = Counter[str]
MORE = 200  # enough for a step that is taken once a tool to be noticed; 2,000 take four seconds to add


class Counting:
    """Counts every step that the interpreter takes, and every call that it makes into C."""

    def __init__(self) -> None:
        self.work: Work = Counter()

    def __enter__(self) -> Work:
        self._before = sys.gettrace(), sys.getprofile()
        sys.setprofile(self._note_call)
        sys.settrace(self._enter)
        return self.work

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before[0])
        sys.setprofile(self._before[1])

    def _enter(self, frame: FrameType, _event: str, _argument: object) -> "Counting.Trace":
        frame.f_trace_opcodes = True
        return self._note_step

    def _note_step(self, frame: FrameType, event: str, _argument: object) -> "Counting.Trace":
        if event == "opcode" and frame.f_code is not Counting.__exit__.__code__:
            self.work[f"steps of {frame.f_code.co_qualname}"] += 1
        return self._note_step

    def _note_call(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "c_call" and frame.f_code is not Counting.__exit__.__code__:
            self.work[f"calls of {getattr(argument, '__qualname__', argument)}"] += 1

    Trace = Callable[[FrameType, str, object], Any]  # Any: a trace function returns the next one


async def work_of(registry: ToolRegistry, tool: str) -> Work:
    """What one dispatch of a tool that was called before comes to."""
    await registry.dispatch(tool, ARGUMENTS)
    counted = []
    for _ in range(2):  # a new second is written out, which takes more steps; two in a row do not begin one
        with Counting() as work:
            await registry.dispatch(tool, ARGUMENTS)
        counted.append(work)
    return min(counted, key=Counter.total)


async def works(count: int, envelope: Envelope) -> dict[str, list[Work]]:
    """The work of one dispatch, at the beginning, in the middle and at the end of so many tools, by form."""
    registry = build_registry(count, envelope=envelope)
    try:
        middle = count // 2
        return {
            "typed": [await work_of(registry, f"tool_{number}") for number in (0, middle, count - 2)],
            "explicit": [await work_of(registry, f"tool_{number}") for number in (1, middle + 1, count - 1)],
        }
    finally:
        await registry.close()


@pytest.mark.requirement("003-15")
@pytest.mark.parametrize(
    ("envelope", "count"), [(envelope, MANY if envelope is Envelope.STATUS else MORE) for envelope in Envelope]
)
def test_a_dispatch_takes_as_many_steps_however_many_tools_there_are(envelope: Envelope, count: int) -> None:
    few, many = asyncio.run(works(FEW, envelope)), asyncio.run(works(count, envelope))
    for form, counted in few.items():
        assert sum(counted[0].values()) > 500, "nothing was counted"
        assert counted == [counted[0]] * 3, form
        assert many[form] == counted, form


def test_the_count_notices_work_that_grows_with_the_number_of_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    dispatch = ToolRegistry.dispatch

    async def search(self: ToolRegistry, name: str, *arguments: Any, **more: Any) -> Answer:
        assert any(spec.name == name for spec in self.list_registered())
        return await dispatch(self, name, *arguments, **more)

    monkeypatch.setattr(ToolRegistry, "dispatch", search)
    few, many = asyncio.run(works(FEW, Envelope.STATUS)), asyncio.run(works(MORE, Envelope.STATUS))
    assert few["typed"][-1] != many["typed"][-1]


def test_the_benchmark_tells_both_costs_and_their_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.toolkit_scale.MANY", MORE)
    measured = asyncio.run(measure(rounds=1, calls=40))
    for scale in (measured.some, measured.every):
        assert scale.few_us > 0
        assert scale.ratio == pytest.approx(scale.many_us / scale.few_us)
        assert scale.spread == 0
    assert str(Scale(few_us=70.4, many_us=71.5, ratio=1.0156, spread=0.02)) == "70 µs, 72 µs, ratio 1.016 ± 0.020"
