"""`ClientSession` of mcp 1.2, which knows only stdio and HTTP with SSE: what programs of early 2025 carry."""

import asyncio
import os
from contextlib import asynccontextmanager

from driving import Session, result, run, texts, tool
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.session import RequestResponder
from mcp.types import ErrorData
from pydantic import AnyUrl


class Old(Session):
    def __init__(self, client, revision):
        self._client = client
        self.revision = revision

    async def tools(self):
        listed = (await self._client.list_tools()).tools
        return [tool(each.name, each.description, each.inputSchema) for each in listed]

    async def call(self, name, arguments):
        return result(await self._client.call_tool(name, arguments))

    async def resources(self):
        return sorted(str(each.uri) for each in (await self._client.list_resources()).resources)

    async def read(self, uri):
        return texts((await self._client.read_resource(AnyUrl(uri))).contents)

    async def prompts(self):
        return sorted(each.name for each in (await self._client.list_prompts()).prompts)

    async def prompt(self, name, arguments):
        found = await self._client.get_prompt(name, arguments)
        return texts([each.content for each in found.messages])


async def read_on(client):
    """What the server says by itself must be taken, or this client stops reading altogether."""
    async for message in client.incoming_messages:
        if isinstance(message, RequestResponder):
            # It declares that it has roots, and leaves it to its user to have any.
            await message.respond(ErrorData(code=-32601, message="Not supported."))


@asynccontextmanager
async def open_session(target, **_):
    where = StdioServerParameters(command=target[0], args=target[1:], env=dict(os.environ))
    async with stdio_client(where) as streams, ClientSession(*streams) as client:
        reading = asyncio.create_task(read_on(client))
        try:
            answer = await client.initialize()
            yield Old(client, str(answer.protocolVersion))
        finally:
            reading.cancel()


if __name__ == "__main__":
    run(open_session)
