"""openai-agents: `MCPServerStreamableHttp` and `MCPServerStdio`, by which its agents list and call tools."""

import os
from contextlib import asynccontextmanager

from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from driving import Session, plain, result, run, texts, tool


class OpenaiAgents(Session):
    def __init__(self, server):
        self._server = server

    async def tools(self):
        listed = [plain(each) for each in await self._server.list_tools()]
        return [tool(each["name"], each.get("description"), each["inputSchema"]) for each in listed]

    async def call(self, name, arguments):
        return result(await self._server.call_tool(name, arguments))

    async def resources(self):
        return sorted(str(each.uri) for each in (await self._server.list_resources()).resources)

    async def read(self, uri):
        return texts((await self._server.read_resource(uri)).contents)

    async def prompts(self):
        return sorted(each.name for each in (await self._server.list_prompts()).prompts)

    async def prompt(self, name, arguments):
        found = await self._server.get_prompt(name, arguments)
        return texts([each.content for each in found.messages])


@asynccontextmanager
async def open_session(target, **_):
    if isinstance(target, str):
        server = MCPServerStreamableHttp({"url": target}, client_session_timeout_seconds=30)
    else:
        command = {"command": target[0], "args": target[1:], "env": dict(os.environ)}
        server = MCPServerStdio(command, client_session_timeout_seconds=30)
    async with server:
        yield OpenaiAgents(server)


if __name__ == "__main__":
    run(open_session)
