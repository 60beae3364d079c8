"""Two official Python clients with roots of their own, and one without, at one server at the same time.

.parts/py/bin/python roots_client.py TARGET ROOT_A ROOT_B: TARGET is a URL or a command to start once for each
client. Prints, as one JSON object, what each was allowed to see and which root's `own.txt` it could read.
"""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.types import ListRootsResult, Root

SECONDS = 20


def make_client(target: str, root: Path | None) -> Client:
    async def list_roots(_context: object) -> ListRootsResult:
        assert root is not None
        return ListRootsResult(roots=[Root(uri=root.as_uri())])

    server = target if target.startswith("http") else StdioServerParameters(command=target, args=[])
    return Client(server, mode="legacy", list_roots_callback=list_roots if root else None)


async def call(client: Client, tool: str, **arguments: str) -> tuple[bool, str]:
    result = await client.call_tool(tool, arguments)
    return not result.is_error, result.content[0].text


async def allowed(client: Client, root: Path | None) -> str:
    """What the server says it allows; it asks for roots in its own time, so ask until it has them."""
    async with asyncio.timeout(SECONDS):
        while True:
            _, text = await call(client, "list_allowed_directories")
            if root is None or str(root) in text:
                return text


async def look(target: str, roots: dict[str, Path]) -> dict[str, object]:
    async with AsyncExitStack() as stack:
        names: dict[str, Path | None] = {"none": None, **roots}
        clients = {n: await stack.enter_async_context(make_client(target, root)) for n, root in names.items()}
        seen: dict[str, object] = {}
        # Every client has its roots before any of them reads: one that overwrote another's would show.
        listed = {name: await allowed(client, names[name]) for name, client in clients.items()}
        for name, client in clients.items():
            read = [r for r, root in roots.items() if (await call(client, "read_text_file", path=f"{root}/own.txt"))[0]]
            seen[name] = {"allowed": listed[name].splitlines()[1:], "read": read}
        return seen


if __name__ == "__main__":
    target, *folders = sys.argv[1:]
    print(json.dumps(asyncio.run(look(target, dict(zip("ab", map(Path, folders), strict=True))))))
