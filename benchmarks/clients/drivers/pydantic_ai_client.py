"""pydantic-ai: `MCPToolset`; what a tool refuses reaches the model as `ModelRetry`."""

import json
import os
from contextlib import asynccontextmanager

from driving import Session, plain, run, said, tool
from fastmcp.client.transports import StdioTransport
from pydantic_ai.mcp import MCPToolset


def words(value):
    return value if isinstance(value, str) else json.dumps(plain(value))


class PydanticAi(Session):
    def __init__(self, toolset, seen):
        self._toolset = toolset
        self._seen = seen

    async def tools(self):
        listed = [plain(each) for each in await self._toolset.list_tools()]
        return [tool(each["name"], each.get("description"), each["inputSchema"]) for each in listed]

    async def call(self, name, arguments):
        return said(words(await self._toolset.direct_call_tool(name, arguments)))

    async def watch(self, name, arguments):
        self._seen.clear()
        return {**await self.call(name, arguments), "progress": list(self._seen)}

    async def resources(self):
        return sorted(str(each.uri) for each in await self._toolset.list_resources())

    async def read(self, uri):
        return words(await self._toolset.read_resource(uri))

    async def prompts(self):
        return sorted(each.name for each in await self._toolset.list_prompts())

    async def prompt(self, name, arguments):
        return words([str(each) for each in (await self._toolset.get_prompt(name, arguments)).messages])


@asynccontextmanager
async def open_session(target, **_):
    seen = []

    async def on_progress(progress, total, _message):
        seen.append([progress, total])

    where = target
    if not isinstance(target, str):
        where = StdioTransport(target[0], target[1:], env=dict(os.environ), keep_alive=False)
    async with MCPToolset(where, progress_handler=on_progress) as toolset:
        yield PydanticAi(toolset, seen)


if __name__ == "__main__":
    run(open_session)
