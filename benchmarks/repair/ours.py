"""What handfast answers: the gateway in strict, with every unknown argument refused, and its dispatcher."""

import json
from collections.abc import Mapping

from benchmarks.repair.tools import Json, Tool
from handfast.core.call.contract import CompiledContract, ToolContract
from handfast.core.call.exchange import Exchange
from handfast.core.call.policy import Allowed, Formats, InputPolicy, Mode, ToolPolicy, UnknownArguments
from handfast.core.dispatcher.asked import DispatcherRefused, read_asked
from handfast.core.dispatcher.checks import action_missing, action_unknown, check_beside, not_an_object
from handfast.core.schema.compiled import DEFAULT_BOUNDS
from handfast.judgement import Judgement
from handfast.slow_lane.client import SlowLane

STRICT = ToolPolicy(
    InputPolicy(mode=Mode.STRICT, unknown_arguments=UnknownArguments.REJECT_ALL, formats=Formats.ASSERT)
)


class Judge:
    """Answers calls as the gateway does; close it."""

    def __init__(self) -> None:
        self._lane = SlowLane()
        self._judgement = Judgement(lane=self._lane, keeps_bodies=False, on_uncompilable=None)
        self._contracts: dict[str, CompiledContract] = {}

    async def answer(self, tool: Tool, arguments: Json, actions: Mapping[str, Tool]) -> str | None:
        """The text of a refusal; None where the call would be forwarded. `actions` of a dispatcher."""
        if actions:
            return await self._dispatched(arguments, actions)
        call = Exchange(
            request_id="1",
            server=tool.server,
            tool=tool.name,
            policy=STRICT,
            contract=self.contract(tool),
            started=0.0,
        )
        decision = await self._judgement.judge_arguments(call, json.dumps(arguments).encode(), None)
        return None if isinstance(decision, Allowed) else decision.reason

    async def _dispatched(self, arguments: Json, actions: Mapping[str, Tool]) -> str | None:
        """The order of the compact surface."""
        try:
            asked = read_asked(arguments)
        except DispatcherRefused as refused:
            return refused.violation.message
        if asked.tool is None:
            return action_missing(actions).message
        if asked.tool not in actions:
            return action_unknown(asked.tool, actions).message
        schema = self.contract(actions[asked.tool]).input
        assert schema is not None
        violation = check_beside(asked.beside, asked.tool, schema.declared)
        if violation is None and not isinstance(asked.arguments, dict | None):
            violation = not_an_object()
        if violation is not None:
            return violation.message
        inner = asked.arguments if isinstance(asked.arguments, dict) else {}
        return await self.answer(actions[asked.tool], inner, {})

    def contract(self, tool: Tool) -> CompiledContract:
        if tool.key not in self._contracts:
            promised = ToolContract(tool.name, json.dumps(tool.schema).encode(), None)
            self._contracts[tool.key] = CompiledContract(promised, DEFAULT_BOUNDS)
        return self._contracts[tool.key]

    async def close(self) -> None:
        await self._lane.close()
