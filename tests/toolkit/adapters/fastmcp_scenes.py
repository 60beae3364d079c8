"""Scenes with FastMCP servers under the contract, in one process: `python -m tests.toolkit.adapters.fastmcp_scenes`.

Run by the Python of the parts, where FastMCP is. Each scene prints one line of JSON: its name, and what was seen.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from fastmcp import Client, Context, FastMCP  # type: ignore[import-not-found]  # it is in .parts only
from fastmcp.apps import FastMCPApp  # type: ignore[import-not-found]  # as above
from fastmcp.server.middleware import Middleware  # type: ignore[import-not-found]  # as above
from fastmcp.server.providers.addressing import hashed_backend_name  # type: ignore[import-not-found]  # as above
from fastmcp.server.transforms.search import RegexSearchTransform  # type: ignore[import-not-found]  # as above
from fastmcp.tools.base import ToolResult  # type: ignore[import-not-found]  # as above
from mcp.shared.exceptions import MCPError
from mcp.types import ImageContent, InputRequiredResult, TextContent

from handfast.toolkit import ContractError, under_contract
from tests.toolkit.adapters.faulty_fastmcp import fast
from tests.toolkit.adapters.faulty_sdk import SCORE
from tests.toolkit.records import Kept

Json = Any  # Any: what a scene has seen


async def call(target: Any, tool: str, arguments: Json, **more: Any) -> str:
    """The first line that the agent reads, and how it ended."""
    try:
        result = await target.call_tool(tool, arguments, raise_on_error=False, **more)
    except MCPError as error:
        return f"{error.error.code}: {error.error.message}"
    return f"{'error' if result.is_error else 'ok'}: {result.content[0].text.splitlines()[0]}"


class Counting(Middleware):  # type: ignore[misc]  # as above
    """How often the server is asked for its list."""

    def __init__(self) -> None:
        self.lists = 0

    async def on_list_tools(self, context: Any, call_next: Any) -> Any:
        self.lists += 1
        return await call_next(context)


async def lists() -> Json:
    """Many calls, one list; a tool that comes later is found."""
    server = fast()
    counting = Counting()
    server.add_middleware(counting)
    under_contract(server, recorder=Kept())
    for number in range(5):
        await server.call_tool("create_contact", {"email": str(number)})
    before = counting.lists

    @server.tool  # type: ignore[untyped-decorator]  # as above
    def late(n: int) -> int:
        """Come late."""
        return n

    refused = await server.call_tool("late", {"m": 1})
    return [before, refused.content[0].text.splitlines()[0], counting.lists]


async def versions() -> Json:
    """Two tools of one name: a call is judged by the one that it means."""
    server = FastMCP("versions")

    @server.tool(name="add", version="1.0")  # type: ignore[untyped-decorator]  # as above
    def first(old: int) -> int:
        """Add, as it was."""
        return old

    @server.tool(name="add", version="2.0")  # type: ignore[untyped-decorator]  # as above
    def second(new: int) -> int:
        """Add."""
        return new

    under_contract(server, recorder=Kept())
    async with Client(server) as client:
        return [
            await call(client, "add", {"new": 2}),
            await call(client, "add", {"old": 1}),
            await call(client, "add", {"old": 1}, version="1.0"),
            await call(client, "add", {"new": 2}, version="1.0"),
            await call(client, "add", {"new": 2}, version="3.0"),
        ]


async def unlisted() -> Json:
    """A tool that is found by searching is not in the list, and is held to its word all the same."""
    server = fast()
    server.add_transform(RegexSearchTransform())
    kept = Kept()
    under_contract(server, recorder=kept)
    async with Client(server) as client:
        names = [tool.name for tool in await client.list_tools()]
        said = [
            await call(client, "create_contact", {"data": {"email": "a"}}),
            await call(client, "create_contact", {"email": "a"}),
            await call(client, "nope", {}),
        ]
    return [names, said, kept.told()]


async def addressed() -> Json:
    """The page of an app calls its tools by an address that is in no list."""
    server, app = FastMCP("page"), FastMCPApp("shop")

    @app.tool()  # type: ignore[untyped-decorator]  # as above
    def save(n: int) -> int:
        """Save."""
        return n

    server.add_provider(app)
    under_contract(server, recorder=Kept())
    address = hashed_backend_name("shop", "save")
    async with Client(server) as client:
        return [await call(client, address, {"n": 1}), await call(client, address, {"m": 1})]


async def mounted() -> Json:
    """A server under the contract stays so inside another; and the outer one holds what it has mounted."""
    inner, outer, around = fast(), FastMCP("outer"), FastMCP("around")
    kept, kept_around = Kept(), Kept()
    outer.mount(under_contract(inner, recorder=kept), namespace="in")
    around.mount(fast(), namespace="in")
    under_contract(around, recorder=kept_around)
    said = []
    for server in (outer, around):
        async with Client(server) as client:
            said += [
                await call(client, "in_create_contact", {"data": {"email": "a"}}),
                await call(client, "in_rate", {}),
            ]
    return [said, kept.told(), kept_around.told()]


async def in_process() -> Json:
    """A call that no client makes is a call."""
    kept = Kept()
    server = under_contract(fast(), recorder=kept)
    refused = await server.call_tool("create_contact", {"data": {"email": "a"}})
    made = await server.call_tool("create_contact", {"email": "a"})
    return [refused.is_error, refused.content[0].text.splitlines()[0], made.structured_content, kept.told()]


async def spoilt() -> Json:
    """What an author's middleware makes of a result is judged, wherever it stands."""

    class Spoiling(Middleware):  # type: ignore[misc]  # as above
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            await call_next(context)
            return ToolResult(content="spoilt", structured_content={"id": "x"})

    before, after = fast(), fast()
    before.add_middleware(Spoiling())
    for server in (before, after):
        under_contract(server, recorder=Kept())
    after.add_middleware(Spoiling())
    seen = []
    for server in (before, after):
        async with Client(server) as client:
            seen.append((await call(client, "create_contact", {"email": "a"})).partition(":")[0])
    return seen


async def unfinished() -> Json:
    """A question is no result, and not judged."""
    server = FastMCP("asking")

    @server.tool(output_schema=SCORE)  # type: ignore[untyped-decorator]  # as above
    def rate() -> InputRequiredResult:
        """Ask back."""
        return InputRequiredResult(request_state="s")

    kept = Kept()
    under_contract(server, recorder=kept)
    result = await server.call_tool("rate", {})
    return [type(result).__name__, kept.told(), kept.records[0].details["input_required"]]


async def changed() -> Json:
    """A server that says its tools have changed is asked again."""
    server = fast()
    counting = Counting()
    server.add_middleware(counting)

    @server.tool  # type: ignore[untyped-decorator]  # as above
    async def hide(ctx: Context) -> str:
        """Hide a tool from this session."""
        await ctx.disable_components(names={"rate"})
        return "hidden"

    under_contract(server, recorder=Kept())
    async with Client(server, mode="legacy") as client:
        await client.list_tools()  # or the client would ask for the list itself after a call
        said = [await call(client, "rate", {}), await call(client, "hide", {})]
        before = counting.lists
        said.append(await call(client, "rate", {}))
    return [said, counting.lists - before]


async def untouched() -> Json:
    """What passes is what FastMCP sends without the contract."""

    def everything() -> FastMCP:
        server = FastMCP("all", version="1")

        @server.tool(output_schema=SCORE)  # type: ignore[untyped-decorator]  # as above
        def rate() -> ToolResult:
            """Answer with everything."""
            blocks = [
                TextContent(type="text", text="é"),
                ImageContent(type="image", data="aGk=", mime_type="image/png"),
            ]
            return ToolResult(blocks, {"score": 1.5, "none": None}, {"own": 1})

        return server

    seen = []
    for server in (everything(), under_contract(everything(), recorder=Kept())):
        async with Client(server) as client:
            seen.append((await client.call_tool_mcp("rate", {})).model_dump(mode="json", by_alias=True))
    return [seen[0] == seen[1], seen[1]["structuredContent"]]


async def failing() -> Json:
    """A tool that raises answers as FastMCP has it, and is on record as an error."""
    server = FastMCP("failing")

    @server.tool  # type: ignore[untyped-decorator]  # as above
    def fall() -> int:
        """Fall."""
        raise ValueError("over")

    kept = Kept()
    under_contract(server, recorder=kept)
    async with Client(server) as client:
        said = await call(client, "fall", {})
    return [said, kept.told()]


async def twice() -> Json:
    server = under_contract(fast(), recorder=Kept())
    try:
        under_contract(server)
    except ContractError as problem:
        return str(problem)
    return None


SCENES: list[Callable[[], Awaitable[Json]]] = [
    lists,
    versions,
    unlisted,
    addressed,
    mounted,
    in_process,
    spoilt,
    unfinished,
    changed,
    untouched,
    failing,
    twice,
]


async def play() -> None:
    for scene in SCENES:
        seen = await scene()
        sys.stdout.write(json.dumps([getattr(scene, "__name__", ""), seen]) + "\n")


if __name__ == "__main__":
    asyncio.run(play())
