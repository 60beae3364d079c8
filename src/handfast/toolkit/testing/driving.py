"""Calls a read tool with arguments made from its own schema, and judges every answer."""

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from mcp import Client, MCPError
from mcp.types import CallToolResult
from pydantic import ValidationError

from handfast.core.answers.errors import ErrorCode
from handfast.core.answers.outcome import Failed
from handfast.core.schema.compiled import CompiledSchema
from handfast.toolkit.registry import ToolRegistry
from handfast.toolkit.running.dispatch import RegisteredTool
from handfast.toolkit.testing.answers import breach_of, read_outcome
from handfast.toolkit.testing.blocked_loops import LoopBlocked
from handfast.toolkit.testing.generate.arguments import Arguments, NoArguments, arguments_for, simplest
from handfast.toolkit.testing.judging import is_valid
from handfast.toolkit.testing.problems import Problem
from handfast.toolkit.testing.watch import Watch

MOST_PROBLEMS = 3  # reported of one tool: further ones are often the same in other words

_MORE = 4  # times as many arguments if the model refuses most of those that the schema allows


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """Calls the tools of one session, one after another."""

    client: Client
    registry: ToolRegistry
    watch: Watch
    examples: int
    patience_s: float

    async def problems(self, name: str) -> list[Problem]:
        tool = self.registry.registered(name)
        schema = tool.contract.input
        assert isinstance(schema, CompiledSchema)  # a registry does not serve with any other
        found: dict[str, Arguments] = {}
        tried, ran = 0, 0
        try:
            for most in (self.examples, self.examples * _MORE):
                more = arguments_for(schema, most)[tried:]
                ran += await self._drive(tool, more, found)
                tried += len(more)
                if ran >= self.examples / 2 or found:
                    break
        except NoArguments:
            return []  # reported where wrong arguments are made from right ones
        if not ran and not found:
            told = (
                f"none of the {tried} arguments made from its input schema was accepted, so it never ran; "
                "let the schema say what its model asks for, or give `examples`"
            )
            return [Problem(name, told, arguments_for(schema, 1)[0])]
        return [await self._told(tool, schema, kind, arguments) for kind, arguments in found.items()]

    async def _drive(self, tool: RegisteredTool, tried: list[Arguments], found: dict[str, Arguments]) -> int:
        """Returns how often the handler ran; adds breaches to `found`."""
        ran = 0
        for arguments in tried:
            what = await self._breach(tool, arguments)
            ran += self.watch.ran
            if what:
                found.setdefault(_kind(what), arguments)
            if what == _SILENT or len(found) == MOST_PROBLEMS:
                break
        return ran

    async def _told(self, tool: RegisteredTool, schema: CompiledSchema, kind: str, arguments: Arguments) -> Problem:
        if kind == _SILENT:
            why = f" and blocked the event loop: {self.watch.told}" if self.watch.raised else ""
            return Problem(tool.spec.name, f"{kind} within {self.patience_s:g} s{why}", arguments)

        async def still(candidate: Any) -> bool:  # Any: JSON
            return is_valid(schema, candidate) and _kind(await self._breach(tool, candidate)) == kind

        arguments = await simplest(arguments, still)
        # Called again for the text about these arguments; a tool that succeeds this time is reported all the same.
        return Problem(tool.spec.name, await self._breach(tool, arguments) or kind, arguments)

    async def _breach(self, tool: RegisteredTool, arguments: Arguments) -> str:
        self.watch.begin()
        try:
            async with asyncio.timeout(self.patience_s):
                result = await self.client.call_tool(tool.spec.name, arguments)
        except TimeoutError:
            return _SILENT
        except MCPError:
            return "is answered with an error of the protocol, as if the server were broken"
        except (RuntimeError, ValidationError) as error:
            return f"the official client cannot take its answer ({type(error).__name__})"
        return self._judged(tool, result)

    def _judged(self, tool: RegisteredTool, result: CallToolResult) -> str:
        if isinstance(self.watch.raised, LoopBlocked):
            return _SILENT
        codes, envelope = self.registry.codes, self.registry.envelope
        what = breach_of(result, tool, codes, envelope)
        if what:
            is_crash = what == f"failed with {ErrorCode.INTERNAL_ERROR}"
            return f"{what}: it raised {self.watch.told}" if is_crash and self.watch.told else what
        outcome = read_outcome(result, tool, codes, envelope)
        if isinstance(outcome, Failed) and (inner := self.watch.told_in_failure):
            return f"failed with {outcome.code} and passes on the text of a {inner}; say it in words of your own"
        return ""


_SILENT = "gave no answer"


def _kind(what: str) -> str:
    """The kind of a breach: results that break the schema alike are one problem, whatever their numbers."""
    return re.sub(r"\d+", "N", what) if what.startswith(f"failed with {ErrorCode.OUTPUT_VIOLATION}") else what
