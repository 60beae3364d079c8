"""mcp-use: `MCPClient` with a session of its own for one server, as its agent uses it."""

import os
from contextlib import asynccontextmanager

from driving import Session, result, run, texts, tool
from mcp_use import MCPClient


class McpUse(Session):
    def __init__(self, session):
        self._session = session

    async def tools(self):
        return [tool(each.name, each.description, each.inputSchema) for each in await self._session.list_tools()]

    async def call(self, name, arguments):
        return result(await self._session.call_tool(name, arguments))

    async def resources(self):
        return sorted(str(each.uri) for each in await self._session.list_resources())

    async def read(self, uri):
        return texts((await self._session.read_resource(uri)).contents)

    async def prompts(self):
        return sorted(each.name for each in await self._session.list_prompts())

    async def prompt(self, name, arguments):
        found = await self._session.get_prompt(name, arguments)
        return texts([each.content for each in found.messages])


@asynccontextmanager
async def open_session(target, **_):
    entry = {"url": target}
    if not isinstance(target, str):
        entry = {"command": target[0], "args": target[1:], "env": dict(os.environ)}
    client = MCPClient.from_dict({"mcpServers": {"only": entry}})
    try:
        yield McpUse(await client.create_session("only"))
    finally:
        await client.close_all_sessions()


if __name__ == "__main__":
    run(open_session)
