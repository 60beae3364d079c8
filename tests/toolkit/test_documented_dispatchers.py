"""The servers of docs/dispatchers.md and docs/large-results.md, as they stand there, driven by the official client."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from tests.demo import ROOT


@asynccontextmanager
async def serving(page: str, folder: Path) -> AsyncIterator[Client]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    (source,) = re.findall(r"<!-- server -->\n```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (folder / "server.py").write_text(source, "utf-8")
    env = {**os.environ, "HANDFAST_STATE": str(folder / "state"), "HANDFAST_ACTOR": "ada"}
    async with Client(
        StdioServerParameters(command=sys.executable, args=[str(folder / "server.py")], env=env)
    ) as client:
        yield client


def test_the_dispatcher_of_the_page_does_what_the_page_says(tmp_path: Path) -> None:
    async def session() -> None:
        async with serving("dispatchers.md", tmp_path) as client:

            async def answer(**arguments: Any) -> Any:
                return (await client.call_tool("contacts", arguments)).structured_content

            assert [tool.name for tool in (await client.list_tools()).tools] == ["contacts"]
            made = await answer(action="create", arguments={"email": "ada@example.com"})
            assert made == {"id": 1, "email": "ada@example.com"}
            assert list((await answer(action="help"))["actions"]) == ["create", "delete"]
            assert list((await answer(help=True))["actions"]) == ["create", "delete"]
            assert list((await answer(action="help", arguments={"find": "delete"}))["actions"]) == ["delete"]
            one = await answer(action="create", help=True)
            assert one == await answer(action="help", arguments={"action": "create"})
            assert list(one) == ["action", "description", "inputSchema", "outputSchema", "annotations"]
            refused = await client.call_tool("contacts", {"action": "create", "data": {"email": "a"}})
            assert refused.is_error
            old = await client.call_tool("add_contact", {"email": "b"})
            assert (old.meta or {})["handfast/deprecated"] == {"use": "create_contact", "until": "2999-03-01"}

    asyncio.run(session())


def test_the_pieces_of_the_page_are_as_the_page_says(tmp_path: Path) -> None:
    async def session() -> None:
        async with serving("large-results.md", tmp_path) as client:

            async def answer(**arguments: Any) -> Any:
                return ((await client.call_tool("search", arguments)).structured_content or {})["result"]

            first = await answer(word="boom")
            about = first["piece"]
            assert (about["number"], about["of"], about["total_items"]) == (1, 4, 200)
            second = await answer(continuation_token=about["continuation_token"])
            assert second["items"][0]["number"] == len(first["items"])
            assert len(await answer(word="boom", mode="full")) == 200
            chosen = await answer(word="boom", filters={"number": 7}, filter_keys=["text"])
            assert chosen["items"] == [{"text": "boom again"}]

    asyncio.run(session())
