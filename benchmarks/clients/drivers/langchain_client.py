"""langchain-mcp-adapters: tools of `MultiServerMCPClient`, which opens a new session for each call."""

import os
from contextlib import asynccontextmanager

from driving import Session, run, said, tool
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient


class Langchain(Session):
    def __init__(self, client, seen):
        self._client = client
        self._seen = seen
        self._known = {}

    async def tools(self):
        self._known = {each.name: each for each in await self._client.get_tools()}
        return [tool(each.name, each.description, each.args_schema) for each in self._known.values()]

    async def call(self, name, arguments):
        if not self._known:
            await self.tools()
        call = {"type": "tool_call", "id": "1", "name": name, "args": arguments}
        message = await self._known[name].ainvoke(call)
        blocks = message.content if isinstance(message.content, list) else [message.content]
        text = "\n".join(
            block if isinstance(block, str) else block.get("text", f"[{block['type']}]") for block in blocks
        )
        return said(text, failed=message.status == "error", data=(message.artifact or {}).get("structured_content"))

    async def watch(self, name, arguments):
        self._seen.clear()
        return {**await self.call(name, arguments), "progress": list(self._seen)}

    async def resources(self):
        return sorted(str(blob.metadata["uri"]) for blob in await self._client.get_resources("only"))

    async def read(self, uri):
        return "\n".join(blob.as_string() for blob in await self._client.get_resources("only", uris=uri))

    async def prompt(self, name, arguments):
        messages = await self._client.get_prompt("only", name, arguments=arguments)
        return "\n".join(str(message.content) for message in messages)


@asynccontextmanager
async def open_session(target, **_):
    seen = []

    async def on_progress(progress, total, _message, _context):
        seen.append([progress, total])

    entry = {"transport": "http", "url": target}
    if not isinstance(target, str):
        entry = {"transport": "stdio", "command": target[0], "args": target[1:], "env": dict(os.environ)}
    yield Langchain(MultiServerMCPClient({"only": entry}, callbacks=Callbacks(on_progress=on_progress)), seen)


if __name__ == "__main__":
    run(open_session)
