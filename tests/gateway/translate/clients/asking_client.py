"""The official Python client with somebody who answers questions: steps in, one JSON line per step out.

.parts/py/bin/python asking_client.py MODE TARGET...: TARGET is a URL, or a command line. Steps, a JSON list on stdin:
{"call": [TOOL, ARGUMENTS]}, {"follow": [TOOL, ARGUMENTS]} (with its progress), {"cancel": [TOOL, ARGUMENTS]} (given up
once its first question was put), {"level": LEVEL}, {"subscribe": URI}, {"unsubscribe": URI}, {"heard": N} (the next N
notifications, sorted).
"""

import asyncio
import json
import sys
import warnings
from typing import Any  # steps and results are JSON

from mcp import Client, StdioServerParameters
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    Root,
    TextContent,
)

warnings.simplefilter("ignore")  # what 2026-07-28 deprecates is what this is about


class Asked:
    def __init__(self) -> None:
        self.heard: asyncio.Queue[str] = asyncio.Queue()
        self.is_asked = asyncio.Event()
        self.hangs = False

    async def elicit(self, _context: object, params: Any) -> ElicitResult:  # Any: as above
        self.is_asked.set()
        if self.hangs:
            await asyncio.Event().wait()
        wanted = params.requested_schema["properties"].items()
        values = {"integer": len(params.message), "boolean": True}
        return ElicitResult(action="accept", content={name: values.get(one["type"], "Ada") for name, one in wanted})

    async def sample(self, _context: object, _params: object) -> CreateMessageResult:
        return CreateMessageResult(role="assistant", model="m", content=TextContent(type="text", text="hm"))

    async def list_roots(self, _context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri="file:///a")])

    async def hear(self, message: Any) -> None:  # Any: as above
        method = getattr(message, "method", repr(message))
        if method not in ("notifications/message", "notifications/progress"):  # those have listeners of their own
            self.heard.put_nowait(method)

    async def log(self, params: Any) -> None:  # Any: as above
        self.heard.put_nowait(f"log {params.level} {params.data}")

    async def progress(self, progress: float, total: float | None, _message: str | None) -> None:
        self.heard.put_nowait(f"progress {progress:g}/{total:g}")


async def take(client: Client, asked: Asked, step: dict[str, Any]) -> Any:  # Any: as above
    ((kind, value),) = step.items()
    if kind in ("call", "follow"):
        progress = asked.progress if kind == "follow" else None
        result = await client.call_tool(*value, progress_callback=progress)
        text = result.content[-1].text
        return json.loads(text) if text[:1] in "[{n0123456789" else text
    if kind == "cancel":
        asked.hangs = True
        task = asyncio.create_task(client.call_tool(*value))
        await asked.is_asked.wait()
        task.cancel()
        await asyncio.wait((task,))
        asked.hangs = False
        return "given up"
    if kind == "level":
        return (await client.set_logging_level(value)).model_dump(exclude_none=True, exclude={"result_type"})
    if kind == "subscribe":
        return (await client.subscribe_resource(value)).model_dump(exclude_none=True, exclude={"result_type"})
    if kind == "unsubscribe":
        return (await client.unsubscribe_resource(value)).model_dump(exclude_none=True, exclude={"result_type"})
    return sorted([await asyncio.wait_for(asked.heard.get(), 20) for _ in range(value)])


async def drive(mode: str, target: list[str], steps: list[dict[str, Any]]) -> None:  # Any: as above
    asked = Asked()
    server = target[0] if len(target) == 1 else StdioServerParameters(command=target[0], args=target[1:])
    async with Client(
        server,
        mode=mode,
        elicitation_callback=asked.elicit,
        sampling_callback=asked.sample,
        list_roots_callback=asked.list_roots,
        message_handler=asked.hear,
        logging_callback=asked.log,
    ) as client:
        for step in steps:
            try:
                print(json.dumps(await take(client, asked, step)), flush=True)
            except Exception as error:  # noqa: BLE001 - whatever the client raises is the step's outcome
                print(json.dumps({"error": str(error)}), flush=True)


if __name__ == "__main__":
    asyncio.run(drive(sys.argv[1], sys.argv[2:], json.load(sys.stdin)))
