"""The scripted server behind a front on stdin and stdout: what `handfast wrap` is when the eras differ.

python -m tests.gateway.translate.clients.stdio_server [WAITING_BYTES]
It says on stderr what is cancelled, and at its end what was diagnosed and whether anything was left over.
"""

import asyncio
import json
import sys

from handfast.core.call.caller import Caller
from handfast.gateway.translate.clients.stdio import StdioFront
from tests.gateway.translate.clients.scripted import ScriptedServer


async def serve() -> None:
    server = ScriptedServer()
    server.on_cancelled = lambda what: print(f"cancelled {what}", file=sys.stderr, flush=True)
    diagnosed: list[str] = []
    front = StdioFront(
        server,
        caller=Caller(session="stdio"),
        message_limit=1024 * 1024,
        diagnose=lambda rule, _reason: diagnosed.append(rule),
        waiting_bytes=int(sys.argv[1]) if len(sys.argv) > 1 else 64 * 1024 * 1024,
    )
    await front.run()
    await asyncio.sleep(0)
    left = len(asyncio.all_tasks()) - 1
    print(json.dumps({"cancelled": server.cancelled, "diagnosed": diagnosed, "left": left}), file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(serve())
