"""Recording a session, through a client of any kind."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from hashlib import sha256
from typing import Any, Literal, TypeVar

from mcp import Client, MCPError
from mcp.types import CallToolResult, ListToolsResult
from pydantic import BaseModel

from handfast.toolkit.testing.session import Mode, in_memory, run_to_end
from handfast.toolkit.testing.transcripts.transcript import CALL_TOOL, LIST_TOOLS, Transcript, Turn
from handfast.toolkit.toolbox import Toolbox
from handfast.toolkit.writing.actor import Actor

REQUEST_ID = "<request id>"
LONGEST_BLOB = 256  # characters of base64 that stay as they are
Step = tuple[str, Mapping[str, Any]] | Literal["tools/list"]  # Any: JSON; a tool and its arguments
ResultT = TypeVar("ResultT", bound=BaseModel)


def without_per_run_values(answer: Any) -> Any:  # Any: JSON
    """An answer without what differs from run to run; nothing else is changed.

    - `request_id` in the details of a failure: the id under which the call is on record. It becomes `<request id>`,
      wherever in that answer it stands.
    - `data` and `blob` of content blocks, such as pictures: what is long becomes its SHA-256, so that a transcript can
      be read. Another picture still is another answer.
    """
    for request_id in set(_request_ids(answer)):
        answer = _replaced(answer, request_id)
    return _shortened(answer)


def _request_ids(value: Any) -> Iterator[str]:  # Any: JSON
    """Those in the details of a failure; one in a tool's own data is the tool's."""
    for key, inner in _entries(value):
        if key in ("details", "handfast/details") and isinstance(inner, dict):
            request_id = inner.get("request_id")
            if isinstance(request_id, str) and request_id:
                yield request_id
        yield from _request_ids(inner)


def _replaced(value: Any, request_id: str) -> Any:  # Any: JSON
    if isinstance(value, str):
        return value.replace(request_id, REQUEST_ID)
    if isinstance(value, list):
        return [_replaced(inner, request_id) for inner in value]
    if isinstance(value, dict):
        return {key: _replaced(inner, request_id) for key, inner in value.items()}
    return value


def _shortened(answer: Any) -> Any:  # Any: JSON
    content = answer.get("content") if isinstance(answer, dict) else None
    if not isinstance(content, list):
        return answer
    return {**answer, "content": [_block(block) for block in content]}


def _block(block: Any) -> Any:  # Any: JSON
    if not isinstance(block, dict):
        return block
    if isinstance(resource := block.get("resource"), dict):
        block = {**block, "resource": _block(resource)}
    long = {key: block[key] for key in ("data", "blob") if len(str(block.get(key, ""))) > LONGEST_BLOB}
    return block | {key: f"sha256:{sha256(str(text).encode()).hexdigest()}" for key, text in long.items()}


def _entries(value: Any) -> Iterator[tuple[str, Any]]:  # Any: JSON
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from (("", inner) for inner in value)


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
