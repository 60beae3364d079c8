"""`handfast serve` with the judging taken out and everything else left in: messages read, paired and recorded."""

import argparse
import asyncio
from pathlib import Path

import uvloop

from handfast.core.call.exchange import Exchange, Status
from handfast.core.call.policy import ALLOWED, Decision
from handfast.core.call.result import ResultView
from handfast.gateway.runtime import Runtime
from handfast.gateway.serving import bind, gateway
from handfast.gateway.settings import load_settings
from handfast.tool_call import CallPath


class RelayPath(CallPath):
    """The two halves of a call, each with its record and without its judgement."""

    async def admit(self, call: Exchange, text: bytes | None) -> Decision:
        await self._recorder.room()
        call.details["argument_bytes"] = len(text) if text is not None else 0
        if text is not None:
            call.details["argument_digest"] = self._recorder.digest(text)
        return ALLOWED

    async def settle(self, call: Exchange, result: ResultView) -> Decision:
        call.details["result_bytes"] = result.size
        self.conclude(call, Status.ERROR if result.is_error else Status.SUCCESS, mode=call.policy.output.mode)
        await self.durable(call)
        return ALLOWED


async def serve(config: Path, listen: str, state: Path) -> None:
    # Off, so that no contract is looked up either: there is nothing here to judge by one.
    off: dict[str, object] = {"listen": listen, "input_validation.mode": "off", "output_validation.mode": "off"}
    settings = load_settings(config, environ={}, flags=off)
    runtime = Runtime(settings, state)
    runtime.path = RelayPath(recorder=runtime.recorder, lane=runtime.lane, clock=runtime.clock)
    async with gateway(runtime, bind(settings)):
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--listen", required=True)
    parser.add_argument("--state", type=Path, required=True)
    options = parser.parse_args()
    uvloop.run(serve(options.config, options.listen, options.state))


if __name__ == "__main__":
    main()
