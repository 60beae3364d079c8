"""A stdio server of both eras that keeps tasks, states and its client's name for the whole process."""

import json
import os
import sys
from typing import Any

Json = Any  # Any: decoded JSON
META = "io.modelcontextprotocol/"
TASKS: dict[str, Json] = {}
STATES: list[str] = []
SEEN: dict[str, str] = {"client": "nobody"}
TOOLS = [
    {"name": name, "inputSchema": {"type": "object"}} for name in ("long", "ask", "who", "unasked", "count", "die")
]
CAPABILITIES = {
    "tools": {"listChanged": True},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
    "extensions": {META + "tasks": {}},
}


def text(words: str) -> Json:
    return {"content": [{"type": "text", "text": words}]}


def call(params: Json, *, is_modern: bool) -> Json:
    name, owner = params["name"], params.get("arguments", {}).get("owner", "")
    if name == "who":
        return text(SEEN["client"])
    if name == "die":
        os._exit(3)
    if name == "count":
        if params.get("requestState") is not None:
            return text(STATES[int(params["requestState"])])
        STATES.append(owner)
        return {"resultType": "input_required", "inputRequests": {}, "requestState": str(len(STATES) - 1)}
    if name == "ask":
        if params.get("requestState") is not None:
            return text(f"confirmed {params['requestState']}")
        return {"resultType": "input_required", "inputRequests": {}, "requestState": f"of {owner}"}
    task = {"taskId": f"task-{len(TASKS) + 1}", "status": "working", "owner": owner}
    TASKS[task["taskId"]] = task
    return {"resultType": "task", **task} if is_modern else {"content": [], "task": task}


def answer(method: str, params: Json, *, is_modern: bool) -> Json:
    task = TASKS.get(params.get("taskId"), {"status": "unknown"})
    if method == "initialize":
        SEEN["client"] = params["clientInfo"]["name"]
        info = {"name": "keeper", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": CAPABILITIES, "serverInfo": info}
    if method == "server/discover":
        return {"supportedVersions": ["2025-11-25", "2026-07-28"], "capabilities": CAPABILITIES, "ttlMs": 0}
    if method == "tools/list":
        return {"tools": TOOLS, "ttlMs": 0, "cacheScope": "private"}
    if method == "tools/call":
        return call(params, is_modern=is_modern)
    if method == "tasks/list":
        return {"tasks": list(TASKS.values())}
    if method == "tasks/result":
        return text(task.get("owner", "nobody's")) | {"_meta": {META + "related-task": {"taskId": params["taskId"]}}}
    if method in ("tasks/cancel", "tasks/update"):
        task["status"] = method
    if method == "logging/setLevel":
        SEEN["client"] = "level"
    return dict(task) if method.startswith("tasks/") else {}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") is None:
            SEEN["client"] = message["method"] if "roots" in message["method"] else SEEN["client"]
            continue
        params = message.get("params", {})
        is_modern = META + "protocolVersion" in params.get("_meta", {})
        if message["method"] == "subscriptions/listen":
            asked = params["notifications"]
            mark = {META + "subscriptionId": message["id"]}
            said = [("notifications/subscriptions/acknowledged", {"notifications": asked, "_meta": mark})]
            # Careless: it tells of every task, whoever asked.
            said += [("notifications/tasks", {**task, "_meta": mark}) for task in TASKS.values()]
            for method, told in said:
                print(json.dumps({"jsonrpc": "2.0", "method": method, "params": told}), flush=True)
            continue
        result = answer(message["method"], params, is_modern=is_modern)
        if is_modern:
            result.setdefault("resultType", "complete")
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
