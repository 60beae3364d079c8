"""A stdio server that takes what it can: huge lists, lists that never stand still, a question in every call."""

import json
import sys
import threading
from itertools import count
from typing import Any  # Any: JSON

KINDS = ("calm", "many-tools", "many-uris", "storm", "asks")
_MANY = 100_000
_CAPABILITIES = {"tools": {"listChanged": True}, "resources": {"listChanged": True}}
_DONE = {"content": [{"type": "text", "text": "done"}]}
_QUESTION = {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}}


def tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": False}
    return {"name": name, "description": "Does something.", "inputSchema": schema}


class Hostile:
    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._numbers = count()
        self._lock = threading.Lock()
        self._asking: dict[str, object] = {}  # our question → the call that it is about
        self._tools = json.dumps(
            [tool("echo"), *(tool(f"tool_{number}") for number in range(self._many("many-tools")))]
        )
        uris = [{"uri": f"hostile://{number}", "name": str(number)} for number in range(self._many("many-uris"))]
        self._resources = json.dumps(uris)

    def _many(self, kind: str) -> int:
        return _MANY if self._kind == kind else 0

    def write(self, message: str) -> None:
        with self._lock:
            sys.stdout.write(message + "\n")
            sys.stdout.flush()

    def answer(self, request_id: object, result: str) -> None:
        self.write(f'{{"jsonrpc":"2.0","id":{json.dumps(request_id)},"result":{result}}}')

    def take(self, message: dict[str, Any]) -> None:
        method, request_id = message.get("method"), message.get("id")
        if method is None:
            asked = self._asking.pop(str(request_id), None)
            if asked is not None:
                self.answer(asked, json.dumps(_DONE))
        elif method == "initialize":
            info = {"name": "hostile", "version": "1"}
            version = message["params"]["protocolVersion"]
            greeting = {"protocolVersion": version, "capabilities": _CAPABILITIES, "serverInfo": info}
            self.answer(request_id, json.dumps(greeting))
        elif method == "tools/list":
            tools = json.dumps([tool("echo"), tool(f"tool_{next(self._numbers)}")])
            self.answer(request_id, f'{{"tools":{tools if self._kind == "storm" else self._tools}}}')
        elif method == "resources/list":
            self.answer(request_id, f'{{"resources":{self._resources}}}')
        elif method == "tools/call":
            self._call(request_id)
        elif request_id is not None:
            error = {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32601, "message": "Not here."}}
            self.write(json.dumps(error))

    def _call(self, request_id: object) -> None:
        if self._kind != "asks":
            self.answer(request_id, json.dumps(_DONE))
            return
        asked = f"question-{next(self._numbers)}"
        self._asking[asked] = request_id
        question = {"jsonrpc": "2.0", "id": asked, "method": "elicitation/create", "params": _QUESTION}
        self.write(json.dumps(question))

    def rage(self) -> None:
        """Say without end that a list has changed: as fast as a line can be written where it has, else now and then."""
        what = "resources" if self._kind == "many-uris" else "tools"
        pause = threading.Event()
        while not pause.wait(0.001 if self._kind == "storm" else 1.0):
            self.write(f'{{"jsonrpc":"2.0","method":"notifications/{what}/list_changed"}}')


def main() -> None:
    server = Hostile(sys.argv[1])
    if server._kind in ("storm", "many-tools", "many-uris"):
        threading.Thread(target=server.rage, daemon=True).start()
    for line in sys.stdin:
        server.take(json.loads(line))


if __name__ == "__main__":
    main()
