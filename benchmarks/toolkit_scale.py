"""What a dispatch of the toolkit costs at 2,000 tools beside 20: CPU time, in interleaved rounds, as a ratio.

python -m benchmarks.toolkit_scale [--rounds N] [--calls N]
"""

import argparse
import asyncio
import itertools
import statistics
import time
from dataclasses import dataclass
from typing import Any

from handfast.toolkit import Args, Call, Envelope, Kind, ToolRegistry, ToolSpec, read_tool
from handfast.toolkit.writing.typed_form import spec_of_function

FEW, MANY = 20, 2_000
MOST_RATIO = 1.1
ARGUMENTS = {"id": 7, "words": "a few words", "limit": 50}
_ANSWER = '{"status": "ok", "data": {"id": 7, "name": "seven", "tags": ["a", "b"]}}'


class Asked(Args):
    """What the tools of the benchmark take."""

    id: int
    words: str
    limit: int = 50


class Answered(Args):
    """What they answer with."""

    id: int
    name: str
    tags: list[str]


def build_registry(count: int, *, envelope: Envelope = Envelope.STATUS) -> ToolRegistry:
    """So many tools, every second one in the explicit form. They do nothing, so that only the dispatch is measured."""
    registry = ToolRegistry("scale", envelope=envelope)
    for number in range(count):
        registry.add(_explicit(f"tool_{number}") if number % 2 else _typed(f"tool_{number}"))
    registry.freeze()
    return registry


def _explicit(name: str) -> ToolSpec:
    async def handler(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:  # noqa: ARG001  # Any: the protocol's
        return _ANSWER

    return read_tool(name, "Look something up.", args_model=Asked, output_schema=_SCHEMA, handler=handler)


def _typed(name: str) -> ToolSpec:
    async def look_up(args: Asked, call: Call) -> Answered:  # noqa: ARG001 - as an author would write it
        """Look something up."""
        return Answered(id=args.id, name="seven", tags=["a", "b"])

    return spec_of_function(look_up, Kind.READ, name=name)


_SCHEMA = Answered.model_json_schema(mode="serialization")


@dataclass(frozen=True, slots=True)
class Scale:
    """CPU per dispatch, in microseconds, and its ratio to the dispatch at few tools: each the median of the rounds."""

    few_us: float
    many_us: float
    ratio: float
    spread: float  # half the distance between the lowest and the highest ratio

    def __str__(self) -> str:
        return f"{self.few_us:.0f} µs, {self.many_us:.0f} µs, ratio {self.ratio:.3f} ± {self.spread:.3f}"


@dataclass(frozen=True, slots=True)
class Measured:
    """`some`: twenty tools are called, as agents do. `every`: each tool in turn, so that none is in a cache."""

    some: Scale
    every: Scale


async def measure(*, rounds: int, calls: int) -> Measured:
    few, many = build_registry(FEW), build_registry(MANY)
    try:
        names = [spec.name for spec in many.list_registered()]
        own, some = [spec.name for spec in few.list_registered()], names[:: MANY // FEW]
        await _cost(few, own, MANY)  # every tool once, so that nothing is done for the first time below
        await _cost(many, names, MANY)
        costs = [await _round(few, own, many, some, names, calls=calls) for _ in range(rounds)]
    finally:
        await few.close()
        await many.close()
    of_few = [cost[0] for cost in costs]
    return Measured(_scale(of_few, [cost[1] for cost in costs]), _scale(of_few, [cost[2] for cost in costs]))


async def _round(
    few: ToolRegistry, own: list[str], many: ToolRegistry, some: list[str], names: list[str], *, calls: int
) -> tuple[float, float, float]:
    """The few stand in the middle, so that a machine that slows down or speeds up favours neither side."""
    of_some = await _cost(many, some, calls)
    of_few = await _cost(few, own, calls)
    return of_few, of_some, await _cost(many, names, calls)


def _scale(few: list[float], many: list[float]) -> Scale:
    ratios = [cost / base for base, cost in zip(few, many, strict=True)]
    return Scale(
        few_us=statistics.median(few),
        many_us=statistics.median(many),
        ratio=statistics.median(ratios),
        spread=(max(ratios) - min(ratios)) / 2,
    )


async def _cost(registry: ToolRegistry, names: list[str], calls: int) -> float:
    """CPU microseconds per dispatch, over so many calls of these tools in turn."""
    chosen = list(itertools.islice(itertools.cycle(names), calls))
    before = time.process_time_ns()
    for name in chosen:
        await registry.dispatch(name, ARGUMENTS)
    return (time.process_time_ns() - before) / calls / 1000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.toolkit_scale", description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--calls", type=int, default=MANY, help="dispatches in each half of a round")
    options = parser.parse_args()
    measured = asyncio.run(measure(rounds=options.rounds, calls=options.calls))
    print(f"CPU per dispatch at {FEW} tools, at {MANY} tools, and the ratio:")
    print(f"  the same twenty tools  {measured.some} (at most {MOST_RATIO})")
    print(f"  every tool in turn     {measured.every}")
    return 0 if measured.some.ratio <= MOST_RATIO else 1


if __name__ == "__main__":
    raise SystemExit(main())
