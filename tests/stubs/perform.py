"""The steps of one reply in their order, the same for every transport."""

import asyncio
import os
from collections.abc import Mapping

from tests.stubs.script import META, Reply, Request, Script, Step, Steps, compact, list_changed


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
        params = {"progressToken": request.meta.get("progressToken"), "progress": count + 1}
        yield Step("aside", compact({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
    if "server_request" in faults:
        asked, question = script.question(faults["server_request"][0] or "elicitation/create")
        script.waiting[asked] = asyncio.get_running_loop().create_future()
        answered = script.waiting[asked]
        yield Step("aside", question)
        await answered
    if "slow" in faults:
        await asyncio.sleep(float(faults["slow"][0]))
    if "exit" in faults:
        os._exit(int(faults["exit"][0]))


def message_steps(reply: Reply) -> list[Step]:
    """The message itself, or what comes in its place."""
    if "silence" in reply.faults:
        return [Step("hang")]
    if "close" in reply.faults:
        return [Step("drop")]
    if "forever" in reply.faults:
        return [Step("flood")]
    if "half_line" in reply.faults:
        return [Step("half", reply.message), Step("hang")]
    pieces = 3 if "shred" in reply.faults else 0
    return [Step("message", reply.message, pieces)] * (2 if "twice" in reply.faults else 1)


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
