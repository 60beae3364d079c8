"""A server whose handlers go wrong in every way: `python -m tests.toolkit.misbehaving stdio|http`."""

import asyncio
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvicorn
from pydantic import BaseModel, field_serializer

from handfast.toolkit import Args, Call, Reply, Toolbox, ToolError, ToolResult, read_tool

SECRET = "hunter2-should-never-be-seen"
TIMEOUT_S = 0.3
MB_50 = 50_000_000


class How(Args):
    how: str


class Thing(BaseModel):
    id: int
    name: str = ""
    score: float = 0.5
    more: Any = None  # Any: whatever somebody puts there


class Vitals(BaseModel):
    """What a server has, besides the call that asks."""

    pid: int
    tasks: int
    threads: int
    children: int
    open_calls: int
    resident_mb: float


class Unwritable(BaseModel):
    name: str = ""

    @field_serializer("name")
    def refuse(self, _: str) -> str:
        raise RuntimeError(SECRET)


class OwnBase(BaseException):
    """Neither an Exception nor one of Python's own."""


async def _raise() -> Any:
    raise KeyError(SECRET)


async def _group() -> Any:
    async with asyncio.TaskGroup() as group:
        group.create_task(_raise())
        group.create_task(_raise())


async def _exit() -> Any:
    sys.exit(SECRET)


async def _own_base() -> Any:
    raise OwnBase(SECRET)


async def _interrupt() -> Any:
    raise KeyboardInterrupt


async def _cancel_what_it_waits_for() -> Any:
    task = asyncio.create_task(asyncio.sleep(60))
    task.cancel()
    await task


async def _undeclared() -> Any:
    raise ToolError("nobodys_code", SECRET)


async def _long_failure() -> Any:
    raise ToolError("conflict", "It is taken. " * 1_000_000, {"padding": "x" * MB_50})


async def _hang() -> Any:
    await asyncio.Event().wait()


async def _hang_in_group() -> Any:
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(_hang())


async def _generator() -> Any:
    return (number for number in range(3))


async def _coroutine() -> Any:
    return _raise()


async def _deep() -> Any:
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    return {"id": 1, "name": deep}


async def _itself() -> Any:
    itself: dict[str, Any] = {"id": 1}
    itself["name"] = itself
    return itself


def _returning(value: Callable[[], Any]) -> Callable[[], Awaitable[Any]]:
    async def give() -> Any:
        return value()

    return give


FAULTS: dict[str, tuple[Callable[[], Awaitable[Any]], str]] = {
    "raises": (_raise, "internal_error"),
    "raises a group": (_group, "internal_error"),
    "exits": (_exit, "internal_error"),
    "raises its own kind": (_own_base, "internal_error"),
    "cancels what it waits for": (_cancel_what_it_waits_for, "internal_error"),
    "has an undeclared code": (_undeclared, "internal_error"),
    "fails at length": (_long_failure, "conflict"),
    "hangs": (_hang, "timeout"),
    "hangs in a group": (_hang_in_group, "timeout"),
    "returns text": (_returning(lambda: SECRET), "output_violation"),
    "returns the wrong shape": (_returning(lambda: {"id": SECRET}), "output_violation"),
    "returns NaN": (_returning(lambda: Thing(id=1, score=float("nan"))), "output_violation"),
    "returns half a character": (_returning(lambda: Thing.model_construct(id=1, name="\ud800")), "output_violation"),
    "returns 50 MB": (_returning(lambda: Thing(id=1, name="x" * MB_50)), "output_violation"),
    "returns a generator": (_generator, "output_violation"),
    "returns a coroutine": (_coroutine, "output_violation"),
    "returns what cannot be written": (_returning(lambda: Thing(id=1, more=Unwritable())), "output_violation"),
    "returns an object": (_returning(object), "output_violation"),
    "returns itself within itself": (_itself, "output_violation"),
    "returns 10,000 levels": (_deep, "output_violation"),
    "returns a block that is none": (_returning(lambda: Reply(Thing(id=1), SECRET)), "output_violation"),
    "says it failed with an undeclared code": (
        _returning(lambda: ToolResult.fail(ToolError("nobodys_code", SECRET))),
        "internal_error",
    ),
}


def _stop() -> Any:
    return next(iter(()))


def _exit_thread() -> Any:
    sys.exit(SECRET)


def _block() -> Any:
    time.sleep(TIMEOUT_S * 2)


def _raise_in_thread() -> Any:
    raise ValueError(SECRET)


BLOCKING: dict[str, tuple[Callable[[], Any], str]] = {
    "raises": (_raise_in_thread, "internal_error"),
    "ends an iteration": (_stop, "internal_error"),
    "exits": (_exit_thread, "internal_error"),
    "blocks": (_block, "timeout"),
    "returns NaN": (lambda: Thing(id=1, score=float("nan")), "output_violation"),
}
TEXTS: dict[str, tuple[str, str]] = {
    "nonsense": (SECRET, "output_violation"),
    "a key twice": ('{"status":"ok","data":{"id":1,"id":2}}', "output_violation"),
    "NaN": ('{"status":"ok","data":{"id":NaN}}', "output_violation"),
    "an unknown code": (json.dumps({"status": "error", "domain_code": "odd", "message": SECRET}), "output_violation"),
    "50 MB": (f'{{"status":"ok","data":{{"id":1,"name":"{"x" * MB_50}"}}}}', "output_violation"),
}


def make_toolbox(**more: Any) -> Toolbox:
    tools = Toolbox("misbehaving", timeout_s=TIMEOUT_S, **more)

    @tools.read
    async def misbehave(args: How) -> Thing:
        """Go wrong."""
        made: Thing = await (_interrupt if args.how == "interrupts" else FAULTS[args.how][0])()
        return made

    @tools.read
    def misbehave_blocking(args: How) -> Thing:
        """Go wrong in a thread."""
        made: Thing = BLOCKING[args.how][0]()
        return made

    @tools.read(timeout_s=60)
    async def wait() -> Thing:
        """Wait for somebody to give up."""
        await asyncio.Event().wait()
        return Thing(id=1)

    @tools.read
    async def fine() -> Thing:
        """Be fine."""
        return Thing(id=1)

    @tools.read
    async def vitals(call: Call) -> Vitals:
        """Look at the server."""
        pid = os.getpid()
        path = tools.registry.freeze().path
        return Vitals(
            pid=pid,
            tasks=len(asyncio.all_tasks()),
            threads=threading.active_count(),
            children=len(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()),
            open_calls=path.open_calls - 1,
            resident_mb=int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6,
        )

    async def misbehave_in_text(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return TEXTS[arguments["how"]][0]

    tools.add(
        read_tool(
            "misbehave_in_text", "Go wrong by text.", args_model=How, output_schema=THING, handler=misbehave_in_text
        )
    )
    return tools


THING = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


def main() -> None:
    tools = make_toolbox()
    if sys.argv[1] == "stdio":
        tools.run()
        return
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(tools.asgi(), log_level="warning", ws="none")).run(sockets=[listening])


if __name__ == "__main__":
    main()
