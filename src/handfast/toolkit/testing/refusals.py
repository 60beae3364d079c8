"""Checks that a tool refuses arguments outside its schema before its handler runs, without running handlers."""

from dataclasses import dataclass
from typing import Final

from handfast.core.answers.errors import ErrorCode
from handfast.core.answers.outcome import Failed
from handfast.core.schema.compiled import CompiledSchema
from handfast.toolkit.registry import ToolRegistry
from handfast.toolkit.running.dispatch import Answer
from handfast.toolkit.testing.generate.arguments import Arguments, NoArguments, arguments_for, arguments_outside
from handfast.toolkit.testing.problems import Problem
from handfast.toolkit.testing.watch import Watch
from handfast.toolkit.writing.actor import Actor

REFUSALS: Final = frozenset((ErrorCode.INVALID_INPUT, ErrorCode.GUARDRAIL_VIOLATED))
PROBE_ACTOR: Final = Actor(id="assert_contract")  # satisfies the guardrails, which come before the arguments
_LOOKED_AT = 20
_MOST_CHANGED = 3  # the simplest arguments, and the longest ones


@dataclass(frozen=True, slots=True)
class Prober:
    """Probes tools. `registry` runs no handlers, and `watch` notes when one would have run."""

    registry: ToolRegistry
    watch: Watch

    async def problems(self, name: str) -> list[Problem]:
        tool = self.registry.registered(name)
        schema = tool.contract.input
        if tool.spec.is_dispatcher or not isinstance(schema, CompiledSchema):
            return []  # the tools behind a dispatcher are checked directly
        try:
            candidates = arguments_for(schema, _LOOKED_AT)
        except NoArguments as reason:
            return [Problem(name, str(reason))]
        found: dict[str, Problem] = {}
        for valid in await self._let_through(name, candidates, found):
            for what, wrong in arguments_outside(schema, valid):
                problem = await self._problem(name, what, wrong)
                if problem is not None:
                    found.setdefault(what, problem)
        return list(found.values())

    async def _let_through(self, name: str, candidates: list[Arguments], found: dict[str, Problem]) -> list[Arguments]:
        right = []
        for arguments in candidates:
            answer = await self._answer(name, arguments)
            if isinstance(answer, Exception):
                what = "arguments that its schema allows"
                found.setdefault(what, _raised(name, answer, what, arguments))
            elif self.watch.ran:
                right.append(arguments)
        right = right or candidates[:1]
        return [right[0], *sorted(right[1:], key=lambda arguments: -len(str(arguments)))[: _MOST_CHANGED - 1]]

    async def _problem(self, name: str, what: str, wrong: Arguments) -> Problem | None:
        answer = await self._answer(name, wrong)
        if isinstance(answer, Exception):
            return _raised(name, answer, what, wrong)
        if self.watch.ran:
            return Problem(name, f"lets {what} through to its handler, against its own schema", wrong)
        if isinstance(answer.outcome, Failed) and answer.outcome.code in REFUSALS:
            return None
        return Problem(name, f"does not refuse {what} as {ErrorCode.INVALID_INPUT}", wrong)

    async def _answer(self, name: str, arguments: Arguments) -> Answer | Exception:
        self.watch.begin()
        try:
            return await self.registry.dispatch(name, arguments, actor=PROBE_ACTOR)
        except Exception as error:  # noqa: BLE001 - the edge of the toolkit: what comes out here is told as a problem
            return error


def _raised(name: str, error: Exception, what: str, arguments: Arguments) -> Problem:
    return Problem(name, f"a validator of its model raises {type(error).__name__} for {what}", arguments)
