"""An agent's calls: to the tool itself, or to the dispatcher in front of it."""

from dataclasses import dataclass
from typing import Any, Final, Literal  # Any: JSON

from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent

Json = dict[str, Any]
Door = Literal["direct", "dispatcher"]
DOORS: Final[tuple[Door, ...]] = ("direct", "dispatcher")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that was answered with an error of the protocol."""

    code: int
    message: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that the tool itself could not carry out."""

    text: str


def sent_through(door: Door, tool: str, arguments: Json) -> tuple[str, Json]:
    """`contacts__create` is the action `create` of the dispatcher `contacts`."""
    if door == "direct":
        return tool, arguments
    resource, _, action = tool.rpartition("__")
    return resource, {"action": action, "arguments": arguments}


async def ask(client: Client, tool: str, arguments: Json, *, door: Door = "direct") -> Json | Refusal | Failure:
    """The structured answer of a call, or how it went wrong."""
    try:
        result = await client.call_tool(*sent_through(door, tool, arguments))
    except MCPError as error:
        return Refusal(error.code, error.message)
    if result.is_error:
        return Failure(text_of(result))
    structured: Json = result.structured_content or {}
    return structured


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def require(client: Client, tool: str, arguments: Json, *, door: Door = "direct") -> Json:
    """The structured answer of a call that must succeed."""
    answer = await ask(client, tool, arguments, door=door)
    assert isinstance(answer, dict), answer
    return answer
