"""strands-agents: `MCPClient`, which keeps its session in a thread of its own."""

import asyncio
import os
from contextlib import asynccontextmanager

from driving import Session, run, said, texts, tool
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from strands.tools.mcp import MCPClient


class Strands(Session):
    def __init__(self, client, seen):
        self._client = client
        self._seen = seen

    async def tools(self):
        listed = [each.tool_spec for each in await asyncio.to_thread(self._client.list_tools_sync)]
        return [tool(each["name"], each["description"], each["inputSchema"]["json"]) for each in listed]

    async def call(self, name, arguments):
        found = await self._client.call_tool_async("1", name, arguments)
        text = "\n".join(block.get("text") or f"[{next(iter(block))}]" for block in found["content"])
        return said(text, failed=found["status"] == "error", data=found.get("structuredContent"))

    async def watch(self, name, arguments):
        self._seen.clear()
        return {**await self.call(name, arguments), "progress": list(self._seen)}

    async def resources(self):
        found = await asyncio.to_thread(self._client.list_resources_sync)
        return sorted(str(each.uri) for each in found.resources)

    async def read(self, uri):
        return texts((await asyncio.to_thread(self._client.read_resource_sync, uri)).contents)

    async def prompts(self):
        found = await asyncio.to_thread(self._client.list_prompts_sync)
        return sorted(each.name for each in found.prompts)

    async def prompt(self, name, arguments):
        found = await asyncio.to_thread(self._client.get_prompt_sync, name, arguments)
        return texts([each.content for each in found.messages])


@asynccontextmanager
async def open_session(target, **_):
    seen = []

    async def on_progress(progress, total, _message):
        seen.append([progress, total])

    def connect():
        if isinstance(target, str):
            return streamable_http_client(target)
        return stdio_client(StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ)))

    client = MCPClient(connect, progress_callback=on_progress)
    await asyncio.to_thread(client.start)
    try:
        yield Strands(client, seen)
    finally:
        await asyncio.to_thread(client.stop, None, None, None)


if __name__ == "__main__":
    run(open_session)
