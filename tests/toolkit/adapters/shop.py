"""A low-level server of the SDK whose list and answers a test decides."""

import asyncio
from typing import Any

from mcp.server.lowlevel import Server

from tests.toolkit.adapters.faulty_sdk import answer

Json = Any  # Any: decoded JSON


class Shop:
    """A low-level server that counts how often it is asked for its list, and answers as it is told."""

    def __init__(self, tools: list[Json], result: Json = None, *, per_page: int = 100) -> None:
        self.tools = tools
        self.result = result
        self.lists = 0
        self.calls: list[Json] = []
        self.opens = asyncio.Event()  # no list comes before
        self.opens.set()
        self._per_page = per_page
        self.server: Server[Any] = Server(
            "shop", version="2.0", title="The shop", on_list_tools=self._list, on_call_tool=self._call
        )

    async def _list(self, _context: Any, params: Any) -> Json:
        self.lists += 1
        await self.opens.wait()
        start = int(params.cursor or 0)
        page = self.tools[start : start + self._per_page]
        following = {"nextCursor": str(start + self._per_page)} if start + self._per_page < len(self.tools) else {}
        return {"tools": page, "resultType": "complete", "ttlMs": 0, "cacheScope": "public", **following}

    async def _call(self, _context: Any, params: Any) -> Json:
        self.calls.append((params.name, params.arguments))
        return answer(params.arguments) if self.result is None else self.result


def listed(name: str, *fields: str, output: Json = None) -> Json:
    schema = {"type": "object", "properties": {field: {"type": "integer"} for field in fields}}
    return {"name": name, "inputSchema": schema, **({} if output is None else {"outputSchema": output})}
