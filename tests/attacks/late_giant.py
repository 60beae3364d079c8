"""A stdio server of both eras that answers late with more than may be read, and says whose answer it was at the end."""

import json
import sys
from typing import Any

Json = Any  # Any: decoded JSON
META = "io.modelcontextprotocol/"
GIANT = "x" * 200_000
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("held", "seen", "own", "grow", "alone")]
HELD: list[Json] = []
SEEN: list[str] = []


def say(message: Json) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def say_giant(request_id: Json) -> None:
    say({"result": {"content": [{"type": "text", "text": GIANT}]}, "id": request_id})


def call(message: Json) -> None:
    name = message["params"]["name"]
    if name == "held":
        HELD.append(message["id"])
        return
    if name == "grow":  # answered once the list was asked for
        HELD.append(message["id"])
        say({"method": "notifications/tools/list_changed"})
        return
    if name == "alone":
        say_giant(message["id"])
        return
    if name == "own" and HELD:
        say_giant(HELD.pop())
    text = json.dumps([len(HELD), SEEN.count("notifications/cancelled")]) if name == "seen" else name
    say({"id": message["id"], "result": {"resultType": "complete", "content": [{"type": "text", "text": text}]}})


def main() -> None:
    capabilities = {"tools": {"listChanged": True}}
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        SEEN.append(method)
        if method == "tools/call":
            call(message)
        elif method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "giant", "version": "1"}
            say(
                {
                    "id": message["id"],
                    "result": {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info},
                }
            )
        elif method == "server/discover":
            found = {"supportedVersions": ["2025-11-25", "2026-07-28"], "capabilities": capabilities, "ttlMs": 0}
            say({"id": message["id"], "result": {"resultType": "complete", **found}})
        elif method == "tools/list" and HELD:
            say_giant(message["id"])
            say(
                {"id": HELD.pop(), "result": {"resultType": "complete", "content": [{"type": "text", "text": "grown"}]}}
            )
        elif method == "tools/list":
            result = {"resultType": "complete", "tools": TOOLS, "ttlMs": 0, "cacheScope": "private"}
            say({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()
