"""Recording a session through a client."""

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
    """An answer without the values that differ between runs; the rest stays.

    - `request_id` in the details of a failure, the id in the call's record, becomes `<request id>` wherever it stands
    in the answer.
    - Long `data` and `blob` of content blocks, such as images, become their SHA-256, so that a transcript stays
    readable. A different image still gives a different answer.
    """
    for request_id in set(_request_ids(answer)):
        answer = _replaced(answer, request_id)
    return _shortened(answer)


def _request_ids(value: Any) -> Iterator[str]:  # Any: JSON
    """The request ids in the details of a failure, but not those in a tool's own data."""
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
    """Sends each step to the toolbox in this process. In async code, or if a step depends on an earlier answer, use
    `Recording` with a client.
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
    """Records the calls made through a client, which may be in memory or connected to any server."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.turns: list[Turn] = []

    async def list_tools(self) -> ListToolsResult:
        """Lists the tools and records the answer. Raises: MCPError."""
        return await self._kept(LIST_TOOLS, {}, lambda: self.client.list_tools(cache_mode="bypass"))

    async def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None) -> CallToolResult:  # Any: JSON
        """Calls a tool and records the answer. Raises: MCPError."""
        given = deepcopy(dict(arguments or {}))
        params = {"name": name, "arguments": given}
        return await self._kept(CALL_TOOL, params, lambda: self.client.call_tool(name, given))

    async def send(self, method: str, params: Mapping[str, Any]) -> Turn:  # Any: JSON
        """Sends a request from a transcript; a protocol error is recorded as the answer."""
        try:
            if method == LIST_TOOLS:
                await self.list_tools()
            else:
                await self.call_tool(params["name"], params["arguments"])
        except MCPError:
            pass  # recorded as the answer
        return self.turns[-1]

    def transcript(self, server: str, *, mode: Mode = "2026-07-28", actor: Actor | None = None) -> Transcript:
        """The recording so far; `mode` and `actor` are used when it is replayed."""
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
    """The members that were sent, without defaults of the type."""
    return message.model_dump(mode="json", by_alias=True, exclude_unset=True)
