"""What the stub upstream says: the SPEC file, the reply to one request, and the journal of what arrived.

SPEC is one JSON object. Wherever it says RAW, the value is text, or {"base64": "..."}, sent exactly as written.

    journal   file that every received message is appended to
    tools     RAW: the JSON text of the tools array; or a list of RAW, one per page
    answers   {tool: ANSWER or [ANSWER, ...]}: a list is used up call by call, its last entry stays
    methods   {method: ANSWER}: the same for any other method, before the built-in answers;
              "tasks/get x" is for the task x alone
    versions  protocol revisions served (default: 2025-06-18, 2025-11-25 and 2026-07-28)
    capabilities  what the server says that it can do (default: tools, whose changes it announces)
    sessions  whether HTTP gives and asks for Mcp-Session-Id in the 2025 revisions (default true)
    newline   what ends a line and an SSE field (default "\\n")
    next      a second SPEC file, taken over on SIGUSR1, which also announces tools/list_changed
    paging    "fresh" or "same": a tools/list that never ends, each page with a new cursor or with the one before
    stubborn  whether SIGTERM and the end of stdin are ignored (default false)

ANSWER is {"result": RAW} or {"error": RAW} or {"message": RAW}, the whole message with $ID for the request's id;
beside it "faults": [FAULT, ...], "aside": RAW, a message of the server's own sent ahead of the answer, and, for HTTP,
"headers": RAW, whole header lines, and "events": RAW, bytes of a stream ahead of the answer's own event, $ID as above;
where the answer is a JSON body they go to the session's GET stream. FAULTS names what a fault does.
"""

import base64
import json
import os
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal  # Any: JSON, here at the edge

Json = dict[str, Any]  # Any: whatever JSON was sent

META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
VERSIONS = ("2025-06-18", "2025-11-25", MODERN)

FAULTS = {
    "slow": "slow:SECONDS  wait before answering",
    "progress": "progress:N:SECONDS[:TOKEN]  N progress notifications first, each after SECONDS",
    "server_request": "server_request[:METHOD]  ask the client (default elicitation/create), wait for its answer",
    "ask": "ask[:METHOD]  the same in the way of the request's era: a modern one is answered with input_required first",
    "heard": "2025 revisions: a ping before the message, whose answer says that what came before it has arrived",
    "garbage": "bytes that are no JSON in place of the message",
    "half_line": "half of the message and no end, then silence",
    "silence": "no answer, ever",
    "close": "drop the connection without an answer; over stdio the process ends",
    "exit": "exit:N  the process ends with status N",
    "forever": "a message that never ends",
    "wrong_id": "an id nobody asked with",
    "respell_id": "the same id in another spelling: 1 as 1.0, A as \\u0041",
    "id_last": "result first, id last",
    "twice": "the message two times",
    "shred": "the message in pieces of three bytes",
    "resume": "SSE, 2025 revisions: the stream ends early; the answer is on a GET with Last-Event-ID",
    "encoded": "HTTP: content-encoding gzip",
    "status": "status:N  HTTP: another status",
    "wrong_content_type": "HTTP: text/plain",
    "headers_injection": "HTTP: a header value with a bare CR in it",
    "echo": "echo  the result is the text of the string argument `result`, as it is",
    "die": "half of the message, then the process ends; over HTTP the connection is reset",
    "trickle": "trickle:SECONDS  the message one byte at a time, each after SECONDS",
    "stray": "first an answer with an id nobody asked with, then the message; as one JSON body only the former",
    "contradict": "the message, then another answer to the same request",
    "truncate": "the answer ends before it began: a stream without events, an empty body; over stdio silence",
    "notify": "notify:N  N notifications first, as fast as they can be written; progress where there is a token",
    "endless": "notifications without end, and no answer",
    "stderr": "stderr:N  N lines on stderr first",
    "close_stdout": "stdio: closes its output and stays alive; over HTTP silence",
    "deaf": "stdio: no answer, and nothing more is read from stdin; over HTTP silence",
}

ASKED = {
    "elicitation/create": {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {}}},
    "sampling/createMessage": {"messages": [], "maxTokens": 1},
}


def raw_bytes(value: object) -> bytes:
    """RAW of the SPEC as bytes."""
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    assert isinstance(value, str), "RAW is text or {base64: text}"
    return value.encode()


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Request:
    """One message from the client, decoded only to find the answer to it."""

    message: Json

    @property
    def method(self) -> str:
        return str(self.message.get("method", ""))

    @property
    def params(self) -> Json:
        params = self.message.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def meta(self) -> Json:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def id(self) -> object:
        return self.message.get("id")

    @property
    def is_modern(self) -> bool:
        return f"{META}protocolVersion" in self.meta

    @property
    def wants_answer(self) -> bool:
        return "id" in self.message and "method" in self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The message to send, and the faults on the way."""

    message: bytes
    faults: Mapping[str, list[str]] = field(default_factory=dict)
    headers: bytes = b""
    aside: bytes = b""
    events: bytes = b""
    error_code: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One thing a transport does for a reply; each transport in its own way."""

    kind: Literal[
        "aside",
        "events",
        "message",
        "half",
        "flood",
        "drop",
        "hang",
        "cut",
        "broadcast",
        "burst",
        "die",
        "end",
        "mute",
        "deaf",
    ]
    data: bytes = b""
    pieces: int = 0  # size of the pieces it is written in; 0 for all at once
    pause: float = 0.0  # seconds before each piece


class Script:
    """The SPEC in force."""

    def __init__(self, path: Path) -> None:
        self.waiting: dict[object, Any] = {}  # Any: asyncio futures of the requests put to the client
        self.listeners: list[tuple[object, Any]] = []  # Any: asyncio queues, one per subscriptions/listen
        self._asked = 0
        self.load(path)

    def load(self, path: Path) -> None:
        spec = json.loads(path.read_text())
        self.journal = Path(spec["journal"])
        tools = spec.get("tools", "[]")
        self.pages = [raw_bytes(page) for page in (tools if isinstance(tools, list) else [tools])]
        self.answers: Json = spec.get("answers", {})
        self.methods: Json = spec.get("methods", {})
        self.versions: list[str] = spec.get("versions", list(VERSIONS))
        self.capabilities: Json = spec.get("capabilities", {"tools": {"listChanged": True}})
        self.sessions: bool = spec.get("sessions", True)
        self.newline = spec.get("newline", "\n").encode()
        self.next: str | None = spec.get("next")
        self.paging: str = spec.get("paging", "")
        self.stubborn: bool = spec.get("stubborn", False)

    def note(self, raw: bytes | None = None, **more: object) -> None:
        """Append one journal line; a single write, so that lines never mix."""
        entry = {"time": time.time(), **({} if raw is None else {"raw": base64.b64encode(raw).decode()}), **more}
        journal = os.open(self.journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(journal, compact(entry) + b"\n")
        os.close(journal)

    def take_answer(self, message: Json) -> None:
        """The client answered something the stub asked."""
        if (future := self.waiting.pop(message.get("id"), None)) is not None:
            future.set_result(message)

    def reply(self, request: Request) -> Reply:
        """Choose the reply; each choice uses up one scripted answer."""
        for name in (f"{request.method} {request.params.get('taskId')}", request.method):
            if name in self.methods:
                return scripted(request, next_answer(self.methods, name))
        if request.method == "tools/call":
            return self._call(request)
        if request.method == "subscriptions/listen" and request.is_modern:
            return Reply(message=b"")  # an open stream, never a message
        return built_in(self, request)

    def _call(self, request: Request) -> Reply:
        name = str(request.params.get("name"))
        if name == "_change_tools":
            tools = request.params["arguments"]["tools"]
            self.pages = [tools.encode() if isinstance(tools, str) else compact(tools)]
            return scripted(request, {"result": '{"resultType":"complete","content":[]}'})
        if name not in self.answers:
            return refusal(request, -32602, "Unknown tool")
        return scripted(request, next_answer(self.answers, name))

    def page(self, request: Request) -> bytes:
        """The tools/list result for the cursor asked for."""
        if self.paging:
            return self._endless_page(str(request.params.get("cursor", "0")))
        index = int(str(request.params.get("cursor", "page-0")).removeprefix("page-"))
        more = b',"nextCursor":"page-%d"' % (index + 1) if index + 1 < len(self.pages) else b""
        modern = b',"resultType":"complete","ttlMs":0,"cacheScope":"public"' if request.is_modern else b""
        return b'{"tools":' + self.pages[index] + more + modern + b"}"

    def _endless_page(self, cursor: str) -> bytes:
        """A page with a tool of its own, and always one more to come."""
        number = int(cursor) + 1 if self.paging == "fresh" else 1
        first = self.pages[0].rstrip(b"]") if cursor == "0" else b"["
        comma = b"," if first != b"[" else b""
        extra = b'{"name":"page-%d","inputSchema":{"type":"object"}}]' % number
        return b'{"tools":' + first + comma + extra + b',"nextCursor":"%d"}' % number

    def question(self, method: str) -> tuple[str, bytes]:
        """A request from the server to the client."""
        self._asked += 1
        asked = f"stub-{self._asked}"
        message: Json = {"jsonrpc": "2.0", "id": asked, "method": method}
        return asked, compact(message | ({"params": ASKED[method]} if method in ASKED else {}))


def next_answer(answers: Json, name: str) -> Json:
    """The answer whose turn it is."""
    answer = answers[name]
    if not isinstance(answer, list):
        return dict(answer)
    return dict(answer.pop(0) if len(answer) > 1 else answer[0])


def scripted(request: Request, answer: Json) -> Reply:
    """The reply exactly as the SPEC says."""
    faults = {name: rest.split(":") for name, _, rest in (fault.partition(":") for fault in answer.get("faults", []))}
    assert faults.keys() <= FAULTS.keys(), f"unknown fault; one of: {', '.join(FAULTS)}"
    headers = raw_bytes(answer["headers"]) if "headers" in answer else b""
    aside = raw_bytes(answer["aside"]) if "aside" in answer else b""
    request_id = spelled_id(request.id, faults)
    events = raw_bytes(answer["events"]).replace(b"$ID", request_id) if "events" in answer else b""
    if "message" in answer:
        message = raw_bytes(answer["message"]).replace(b"$ID", request_id)
        return Reply(message=message, faults=faults, headers=headers, aside=aside, events=events)
    kind = "error" if "error" in answer else "result"
    body = raw_bytes(answer.get(kind, '{"content":[]}'))
    if "echo" in faults:
        body = str(request.params["arguments"]["result"]).encode()
    if "ask" in faults and request.is_modern and "inputResponses" not in request.params:
        body = input_required(faults["ask"][0] or "elicitation/create")
    parts = [b'"jsonrpc":"2.0"', b'"id":' + request_id, b'"%s":' % kind.encode() + body]
    message = b"{" + b",".join(reversed(parts) if "id_last" in faults else parts) + b"}"
    message = b"%%% not JSON %%%" if "garbage" in faults else message
    return Reply(message=message, faults=faults, headers=headers, aside=aside, events=events)


def input_required(method: str) -> bytes:
    """The answer of a modern server that wants to know something first."""
    asked = {"method": method, "params": ASKED[method]}
    return compact({"resultType": "input_required", "inputRequests": {"asked": asked}, "requestState": "stub's own"})


def spelled_id(request_id: object, faults: Mapping[str, list[str]]) -> bytes:
    if "wrong_id" in faults:
        return b"987654321"
    if "respell_id" not in faults:
        return compact(request_id)
    if isinstance(request_id, str):
        return b'"' + b"".join(b"\\u%04x" % ord(letter) for letter in request_id) + b'"'
    return compact(request_id) + b".0"


def refusal(request: Request, code: int, message: str, data: Json | None = None) -> Reply:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return Reply(message=compact({"jsonrpc": "2.0", "id": request.id, "error": error}), error_code=code)


def built_in(script: Script, request: Request) -> Reply:
    """What a well-behaved server says to everything but tools/call."""
    handshake = [version for version in script.versions if version != MODERN]
    capabilities = script.capabilities
    info = {"name": "stub", "version": "1"}
    if request.method == "initialize" and handshake:
        asked = request.params.get("protocolVersion")
        version = asked if asked in handshake else handshake[-1]
        result = compact({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
    elif request.method == "initialize":
        data = {"supported": script.versions, "requested": request.params.get("protocolVersion")}
        return refusal(request, -32022, "Unsupported protocol version", data)
    elif request.method == "server/discover" and MODERN in script.versions:
        found = {"resultType": "complete", "supportedVersions": [MODERN], "capabilities": capabilities}
        result = compact(found | {"ttlMs": 0, "cacheScope": "public", "_meta": {f"{META}serverInfo": info}})
    elif request.method == "tools/list":
        result = script.page(request)
    elif request.method == "ping" and not request.is_modern:
        result = b"{}"
    else:
        return refusal(request, -32601, "Method not found")
    return scripted(request, {"result": result.decode()})


def list_changed(subscription: object = None) -> bytes:
    """The notification that the tools are others now; with the id of its subscription where it has one."""
    message: Json = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    if subscription is not None:
        message["params"] = {"_meta": {f"{META}subscriptionId": subscription}}
    return compact(message)


Steps = AsyncIterator[Step]
