"""FastMCP's client, of version 2.14 as of version 4: `Client` and its methods that raise what a tool refuses."""

import os
from contextlib import asynccontextmanager

from driving import Session, plain, result, run, texts, tool
from fastmcp import Client
from fastmcp.client.transports import StdioTransport


class Fastmcp(Session):
    def __init__(self, client):
        self._client = client

    async def tools(self):
        listed = [plain(each) for each in await self._client.list_tools()]
        return [tool(each["name"], each.get("description"), each["inputSchema"]) for each in listed]

    async def call(self, name, arguments):
        return result(await self._client.call_tool(name, arguments))

    async def watch(self, name, arguments):
        seen = []

        async def on_progress(progress, total, _message):
            seen.append([progress, total])

        found = await self._client.call_tool(name, arguments, progress_handler=on_progress)
        return {**result(found), "progress": seen}

    async def resources(self):
        return sorted(str(each.uri) for each in await self._client.list_resources())

    async def read(self, uri):
        return texts(await self._client.read_resource(uri))

    async def prompts(self):
        return sorted(each.name for each in await self._client.list_prompts())

    async def prompt(self, name, arguments):
        found = await self._client.get_prompt(name, arguments)
        return texts([each.content for each in found.messages])


@asynccontextmanager
async def open_session(target, **_):
    where = target
    if not isinstance(target, str):
        where = StdioTransport(target[0], target[1:], env=dict(os.environ), keep_alive=False)
    async with Client(where) as client:
        yield Fastmcp(client)


if __name__ == "__main__":
    run(open_session)
