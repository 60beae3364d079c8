"""llama-index-tools-mcp: tools of `McpToolSpec` over a `BasicMCPClient`, which opens a new session for each request."""

import os
from contextlib import asynccontextmanager

from driving import Session, result, run, texts, tool
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


class LlamaIndex(Session):
    def __init__(self, client):
        self._client = client
        self._known = {}

    async def tools(self):
        made = await McpToolSpec(client=self._client).to_tool_list_async()
        self._known = {each.metadata.name: each for each in made}
        return [
            tool(name, each.metadata.description, each.metadata.get_parameters_dict())
            for name, each in self._known.items()
        ]

    async def call(self, name, arguments):
        if not self._known:
            await self.tools()
        return result((await self._known[name].acall(**arguments)).raw_output)

    async def watch(self, name, arguments):
        seen = []

        async def on_progress(progress, total, _message):
            seen.append([progress, total])

        return {**result(await self._client.call_tool(name, arguments, on_progress)), "progress": seen}

    async def resources(self):
        return sorted(str(each.uri) for each in (await self._client.list_resources()).resources)

    async def read(self, uri):
        return texts((await self._client.read_resource(uri)).contents)

    async def prompts(self):
        return sorted(each.name for each in (await self._client.list_prompts()).prompts)

    async def prompt(self, name, arguments):
        return "\n".join(str(message.content) for message in await self._client.get_prompt(name, arguments))


@asynccontextmanager
async def open_session(target, **_):
    if isinstance(target, str):
        yield LlamaIndex(BasicMCPClient(target))
    else:
        yield LlamaIndex(BasicMCPClient(target[0], args=target[1:], env=dict(os.environ)))


if __name__ == "__main__":
    run(open_session)
