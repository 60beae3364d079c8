"""Recording a session, through a client of any kind."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, Literal, TypeVar

from mcp import Client, MCPError
from mcp.types import CallToolResult, ListToolsResult
from pydantic import BaseModel

from handfast.toolkit.testing.event_loop import run_to_end
from handfast.toolkit.testing.session import Mode, in_memory
from handfast.toolkit.testing.transcripts.per_run import without_per_run_values
from handfast.toolkit.testing.transcripts.transcript import CALL_TOOL, LIST_TOOLS, Transcript, Turn
from handfast.toolkit.toolbox import Toolbox
from handfast.toolkit.writing.actor import Actor

Step = tuple[str, Mapping[str, Any]] | Literal["tools/list"]  # Any: JSON; a tool and its arguments
ResultT = TypeVar("ResultT", bound=BaseModel)


def record(
    toolbox: Toolbox, steps: Iterable[Step], *, mode: Mode = "2026-07-28", actor: Actor | None = None
) -> Transcript:
    """Send each step to the toolbox, in this process. In async code, or where a step depends on an answer before it,
    use `Recording` with a client.
    """
    return run_to_end(lambda: _record(toolbox, steps, mode, actor), instead="Recording(client)")


async def _record(toolbox: Toolbox, steps: Iterable[Step], mode: Mode, actor: Actor | None) -> Transcript:
    async with in_memory(toolbox, mode=mode, actor=actor) as client:
        recording = Recording(client)
        for step in steps:
            await recording.send(*turn_of(step))
    return Transcript(toolbox.name, tuple(recording.turns), mode, actor)


def turn_of(step: Step) -> tuple[str, dict[str, Any]]:  # Any: JSON
    """The method and the parameters of a step."""
    if isinstance(step, str):
        return LIST_TOOLS, {}
    name, arguments = step
    return CALL_TOOL, {"name": name, "arguments": dict(arguments)}


class Recording:
    """A client whose calls are kept: `client` may be in memory, or lead to any server."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.turns: list[Turn] = []

    async def list_tools(self) -> ListToolsResult:
        """Raises: MCPError."""
        return await self._kept(LIST_TOOLS, {}, lambda: self.client.list_tools(cache_mode="bypass"))

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> CallToolResult:  # Any: JSON
        """Raises: MCPError."""
        given = deepcopy(dict(arguments or {}))
        params = {"name": name, "arguments": given}
        return await self._kept(CALL_TOOL, params, lambda: self.client.call_tool(name, given))

    async def send(self, method: str, params: Mapping[str, Any]) -> Turn:  # Any: JSON
        """A request as a transcript has it; an error of the protocol is an answer too."""
        try:
            if method == LIST_TOOLS:
                await self.list_tools()
            else:
                await self.call_tool(params["name"], params["arguments"])
        except MCPError:
            pass  # kept as the answer
        return self.turns[-1]

    def transcript(self, server: str, *, mode: Mode = "2026-07-28", actor: Actor | None = None) -> Transcript:
        """What was kept so far; `mode` and `actor` are those with which it is to be replayed."""
        return Transcript(server, tuple(self.turns), mode, actor)

    async def _kept(
        self,
        method: str,
        params: Mapping[str, Any],  # Any: JSON
        ask: Callable[[], Awaitable[ResultT]],
    ) -> ResultT:
        try:
            result = await ask()
        except MCPError as error:
            self.turns.append(Turn(method, params, {"error": without_per_run_values(_told(error.error))}))
            raise
        self.turns.append(Turn(method, params, {"result": without_per_run_values(_told(result))}))
        return result


def _told(message: BaseModel) -> Any:  # Any: JSON
    """What was sent, and not what a type would fill in."""
    return message.model_dump(mode="json", by_alias=True, exclude_unset=True)
