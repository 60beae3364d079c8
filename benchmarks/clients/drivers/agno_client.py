"""agno: `MCPTools` and the functions it makes of a server's tools; what fails comes back as text like any result."""

import os
from contextlib import asynccontextmanager

from agno.tools.mcp import MCPTools
from driving import Session, run, said, tool
from mcp import StdioServerParameters


class Agno(Session):
    def __init__(self, tools):
        self._functions = tools.functions

    async def tools(self):
        return [tool(name, each.description, each.parameters) for name, each in self._functions.items()]

    async def call(self, name, arguments):
        found = await self._functions[name].entrypoint(**arguments)
        # It has no mark for a failure: a model is told by the text alone.
        failed = found.content.startswith(("Error", f"MCP tool '{name}' failed"))
        return said(found.content, failed=failed, data=(found.metadata or {}).get("structured_content"))


@asynccontextmanager
async def open_session(target, **_):
    if isinstance(target, str):
        tools = MCPTools(url=target, transport="streamable-http", timeout_seconds=30)
    else:
        command = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
        tools = MCPTools(server_params=command, transport="stdio", timeout_seconds=30)
    async with tools:
        yield Agno(tools)


if __name__ == "__main__":
    run(open_session)
