"""The official Python client, which drives the bridges from the other side. Run by .parts/py/bin/python."""

import os
from contextlib import asynccontextmanager

from driving import Session, plain, result, run, texts, tool
from mcp import Client, StdioServerParameters


class Official(Session):
    def __init__(self, client):
        self._client = client

    async def tools(self):
        listed, cursor = [], None
        while True:
            page = await self._client.list_tools(cursor=cursor)
            listed += [plain(each) for each in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return [tool(each["name"], each.get("description"), each["inputSchema"]) for each in listed]

    async def call(self, name, arguments):
        return result(await self._client.call_tool(name, arguments))

    async def watch(self, name, arguments):
        seen = []

        async def on_progress(progress, total, _message):
            seen.append([progress, total])

        found = await self._client.call_tool(name, arguments, progress_callback=on_progress)
        return {**result(found), "progress": seen}

    async def resources(self):
        return sorted(str(each.uri) for each in (await self._client.list_resources()).resources)

    async def read(self, uri):
        return texts((await self._client.read_resource(uri)).contents)

    async def prompts(self):
        return sorted(each.name for each in (await self._client.list_prompts()).prompts)

    async def prompt(self, name, arguments):
        found = await self._client.get_prompt(name, arguments)
        return texts([each.content for each in found.messages])


@asynccontextmanager
async def open_session(target, mode):
    where = target
    if not isinstance(target, str):
        where = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
    async with Client(where, mode=mode) as client:
        yield Official(client)


if __name__ == "__main__":
    run(open_session)
