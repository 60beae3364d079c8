"""The official Python client, headless: steps in, one JSON line per step out. Run by .parts/py/bin/python.

python py_client.py [--mode auto|legacy|2026-07-28] URL | --stdio COMMAND ARGS...
Steps, a JSON list on stdin: {"info": true}, {"list": true}, {"call": {"name": ..., "arguments": ...}}.
"""

import argparse
import asyncio
import json
import os
import sys
from typing import Any  # steps and results are JSON

from mcp import Client, MCPError, StdioServerParameters  # type: ignore[import-not-found]  # lives in .parts only


def read_command_line() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", default="auto")
    parser.add_argument("--stdio", nargs=argparse.REMAINDER)
    parser.add_argument("url", nargs="?")
    return parser.parse_args()


async def take(client: Client, step: dict[str, Any]) -> Any:  # Any: as above
    if "list" in step:
        return (await client.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)
    if "call" in step:
        result = await client.call_tool(step["call"]["name"], step["call"].get("arguments"))
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)
    info = client.server_info
    return {
        "serverInfo": None if info is None else info.model_dump(mode="json", by_alias=True, exclude_none=True),
        "protocolVersion": client.protocol_version,
    }


def show(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)


def failure(error: BaseException) -> dict[str, object]:
    """The innermost error: task groups wrap it, once per level."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    code = error.error.code if isinstance(error, MCPError) else type(error).__name__
    return {"error": {"code": code, "message": str(error)}}


async def drive(options: argparse.Namespace, steps: list[dict[str, Any]]) -> None:  # Any: as above
    server = options.url
    if options.stdio:
        command, *args = options.stdio
        server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with Client(server, mode=options.mode) as client:
        for step in steps:
            try:
                show({"result": await take(client, step)})
            except Exception as error:  # noqa: BLE001 - whatever the client raises is the step's outcome
                show(failure(error))


if __name__ == "__main__":
    try:
        asyncio.run(drive(read_command_line(), json.load(sys.stdin)))
    except Exception as error:  # noqa: BLE001 - it did not connect: that is the outcome
        show(failure(error))
        sys.exit(1)
