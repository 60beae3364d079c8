"""The steps of one reply in their order, the same for every transport."""

import asyncio
import os
from collections.abc import Mapping

from tests.stubs.script import META, Reply, Request, Script, Step, Steps, compact, list_changed

BURST = 1000  # notifications that are written at once: floods are to be fast
STRAY = b'{"jsonrpc":"2.0","id":987654321,"result":{"content":[]}}'


async def perform(script: Script, request: Request, reply: Reply) -> Steps:
    """Everything the stub does about one request, as steps that a transport carries out."""
    if request.method == "subscriptions/listen" and request.is_modern:
        async for step in subscription(script, request):
            yield step
        return
    async for step in before(script, request, reply.faults):
        yield step
    if reply.aside:
        yield Step("aside", reply.aside)
    if reply.events:
        yield Step("events", reply.events)
    if "heard" in reply.faults and not request.is_modern:
        async for step in asking(script, "ping"):
            yield step
    for step in message_steps(reply):
        yield step
    if request.method == "tools/call" and request.params.get("name") == "_change_tools":
        yield Step("broadcast", announce(script))


async def before(script: Script, request: Request, faults: Mapping[str, list[str]]) -> Steps:
    """What happens ahead of the message."""
    if "resume" in faults:
        yield Step("cut")
    for count in range(int(faults["progress"][0]) if "progress" in faults else 0):
        await asyncio.sleep(float(faults["progress"][1]))
        own = request.meta.get("progressToken")
        token = faults["progress"][2] if len(faults["progress"]) > 2 else own
        params = {"progressToken": token, "progress": count + 1}
        yield Step("aside", compact({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
    wanted = faults.get("server_request") or (None if request.is_modern else faults.get("ask"))
    if wanted is not None:
        async for step in asking(script, wanted[0] or "elicitation/create"):
            yield step
    if "stderr" in faults:
        await asyncio.to_thread(write_stderr, int(faults["stderr"][0]))
    burst = Step("burst", aside(request) * BURST) if {"notify", "endless"} & faults.keys() else Step("hang")
    for _ in range(int(faults["notify"][0]) // BURST if "notify" in faults else 0):
        yield burst
    while "endless" in faults:
        yield burst
        await asyncio.sleep(0.001)  # a transport that keeps its steps would be filled faster than it can be read
    if "slow" in faults:
        await asyncio.sleep(float(faults["slow"][0]))
    if "exit" in faults:
        os._exit(int(faults["exit"][0]))


async def asking(script: Script, method: str) -> Steps:
    """Ask the client, and go on once it has answered."""
    asked, question = script.question(method)
    answered = script.waiting[asked] = asyncio.get_running_loop().create_future()
    yield Step("aside", question)
    await answered


def message_steps(reply: Reply) -> list[Step]:
    """The message itself, or what comes in its place."""
    if "silence" in reply.faults:
        return [Step("hang")]
    if "close" in reply.faults:
        return [Step("drop")]
    if "forever" in reply.faults:
        return [Step("flood")]
    if "truncate" in reply.faults:
        return [Step("end")]
    if "die" in reply.faults:
        return [Step("die", reply.message)]
    if "close_stdout" in reply.faults:
        return [Step("mute"), Step("hang")]
    if "deaf" in reply.faults:
        return [Step("deaf"), Step("hang")]
    if "half_line" in reply.faults:
        return [Step("half", reply.message), Step("hang")]
    if "trickle" in reply.faults:
        return [Step("message", reply.message, 1, float(reply.faults["trickle"][0]))]
    pieces = 3 if "shred" in reply.faults else 0
    message = Step("message", reply.message, pieces)
    if "stray" in reply.faults:
        return [Step("message", STRAY), message]
    if "contradict" in reply.faults:
        return [message, Step("message", reply.message.replace(b"fine", b"otherwise"))]
    return [message] * (2 if "twice" in reply.faults else 1)


def aside(request: Request) -> bytes:
    """A notification on a line of its own: progress of this request where it may be told, else a message."""
    token = request.meta.get("progressToken")
    if token is not None:
        params = {"progressToken": token, "progress": 1}
        return compact({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}) + b"\n"
    params = {"level": "info", "data": "x" * 100}
    return compact({"jsonrpc": "2.0", "method": "notifications/message", "params": params}) + b"\n"


def write_stderr(lines: int) -> None:
    for _ in range(0, lines, BURST):
        os.write(2, b"what a server has to say about itself\n" * BURST)


async def subscription(script: Script, request: Request) -> Steps:
    """subscriptions/listen: the acknowledgement, then every change until the client goes."""
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    script.listeners.append((request.id, queue))
    params = {
        "_meta": {f"{META}subscriptionId": request.id},
        "notifications": request.params.get("notifications", {}),
    }
    acknowledged = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}
    yield Step("aside", compact(acknowledged))
    try:
        while True:
            yield Step("aside", await queue.get())
    finally:
        script.listeners.remove((request.id, queue))


def announce(script: Script) -> bytes:
    """Tell subscribers at once, each under its own id; the message returned is for clients of the 2025 revisions."""
    for subscription_id, queue in script.listeners:
        queue.put_nowait(list_changed(subscription_id))
    return list_changed()
