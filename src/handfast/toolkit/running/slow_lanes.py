"""LaneOfLoop: a slow lane for each event loop that tools are called in, ended with its loop."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from handfast.core.schema.compiled import CompiledSchema
from handfast.slow_lane.client import LaneVerdict, SlowLane

# The gateway gives a stranger's schema a quarter of a second. A schema of our own is no trap: 5 MiB of good data must
# pass on a busy machine too, and the heaviest that may be declared takes some 25 s for that much.
JUDGE_SECONDS: Final = 30.0


class LaneOfLoop:
    """A worker belongs to the loop that started it, and every `asyncio.run(tools.dispatch(…))` is another loop."""

    def __init__(self) -> None:
        self._lanes: dict[asyncio.AbstractEventLoop, tuple[SlowLane, AsyncGenerator[None]]] = {}

    async def verdict(
        self,
        schema: CompiledSchema,
        value_text: bytes,
        *,
        wording: bool,
        lenient: bool = False,
        max_depth: int | None = None,
    ) -> LaneVerdict:
        loop = asyncio.get_running_loop()
        if loop not in self._lanes:
            lane = SlowLane()
            ending = self._end_with(loop, lane)
            self._lanes[loop] = lane, ending
            await anext(ending)  # from here on the loop knows it
        return await self._lanes[loop][0].verdict(
            schema, value_text, deadline=JUDGE_SECONDS, wording=wording, lenient=lenient, max_depth=max_depth
        )

    async def _end_with(self, loop: asyncio.AbstractEventLoop, lane: SlowLane) -> AsyncGenerator[None]:
        """A loop that ends closes the generators that it has seen: the one moment at which the worker can be ended."""
        try:
            yield
        finally:
            self._lanes.pop(loop, None)
            await lane.close()

    async def close(self) -> None:
        """End the worker of this loop; a later verdict starts another."""
        lane = self._lanes.get(asyncio.get_running_loop())
        if lane is not None:
            await lane[1].aclose()
