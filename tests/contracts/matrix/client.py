"""A client of either era at any front, which hears everything as it comes: answers, notifications, questions."""

import http.client
import json
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from socket import SHUT_RDWR, socket
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.contracts.rig import (
    ANSWER_SECONDS,
    EVENTS,
    MODERN_META,
    Answer,
    Gateway,
    HttpGateway,
    Json,
    WrapGateway,
    envelope,
)

PREFIX = "io.modelcontextprotocol/"
CAPABILITIES: Json = {"elicitation": {}}
MODERN_ENVELOPE = MODERN_META | {f"{PREFIX}clientCapabilities": CAPABILITIES}


class Heard(NamedTuple):
    message: Json  # of an answer only the id, where it is plain
    raw: bytes

    @property
    def method(self) -> str | None:
        found: str | None = self.message.get("method")
        return found


class Inbox:
    """Whatever arrived and was not taken yet, in the order it came."""

    def __init__(self) -> None:
        self._heard: list[Heard] = []
        self._changed = threading.Condition()

    def put(self, raw: bytes) -> Heard:
        heard = Heard(envelope(raw), raw)
        with self._changed:
            self._heard.append(heard)
            self._changed.notify_all()
        return heard

    def take(self, fits: Callable[[Heard], bool], what: str, *, seconds: float = ANSWER_SECONDS) -> Heard:
        """The first that fits, once there is one. Raises: TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: any(map(fits, self._heard)), seconds):
                raise TimeoutError(f"never arrived: {what}; there is {[heard.raw[:200] for heard in self._heard]}")
            return self._heard.pop(next(at for at, heard in enumerate(self._heard) if fits(heard)))


@dataclass(slots=True)
class Asked:
    """A request under way."""

    id: int
    message: bytes
    inbox: Inbox
    wire: socket | None = None  # of its own, over HTTP
    reader: threading.Thread | None = None
    status: int = 200

    def answer(self) -> Answer:
        heard = self.inbox.take(lambda heard: heard.method is None and heard.message.get("id") == self.id, "an answer")
        return Answer(heard.raw, self.status)

    def leave(self) -> None:
        """Stop waiting; over HTTP the connection is closed."""
        if self.wire is not None and self.reader is not None:
            with suppress(OSError):
                self.wire.shutdown(SHUT_RDWR)
            self.reader.join(ANSWER_SECONDS)


class Calls(Gateway):
    """What clients of both eras and all fronts have in common, on top of the rig's gateways."""

    inbox: Inbox
    prefix: str  # before the names of tools and prompts
    sent: Counter[str]  # the calls of each tool, by its own name

    def begin(self, message: bytes) -> Asked:
        """Send a request whose answer is waited for later."""
        raise NotImplementedError

    def hear(self, raw: bytes) -> None:
        heard = self.inbox.put(raw)
        if heard.method == "ping":
            self.send(json.dumps({"jsonrpc": "2.0", "id": heard.message["id"], "result": {}}).encode())

    def begin_call(self, tool: str, arguments: bytes = b"{}", *, meta: Json = None, more: bytes = b"") -> Asked:
        """A tools/call whose arguments are exactly these bytes; `more` are further members of the params."""
        self.sent[tool] += 1
        name = json.dumps(self.prefix + tool).encode()
        return self.begin_request("tools/call", b'"name":' + name + b',"arguments":' + arguments + more, meta=meta)

    def begin_request(self, method: str, members: bytes = b"", *, meta: Json = None) -> Asked:
        """A request whose params have exactly these members, and the `_meta` that the era wants."""
        whole = (MODERN_ENVELOPE if self.is_modern else {}) | (meta or {})
        spelled = b'"_meta":' + json.dumps(whole).encode() if whole else b""
        params = b",".join(part for part in (members, spelled) if part)
        head = b'{"jsonrpc":"2.0","id":%d,"method":%s,"params":' % (self.next_id(), json.dumps(method).encode())
        return self.begin(head + b"{" + params + b"}}")

    def ask(self, method: str, members: bytes = b"", *, meta: Json = None) -> Answer:
        return self.begin_request(method, members, meta=meta).answer()


class HttpClient(Calls, HttpGateway):
    def __init__(self, base: str, state: Path, *, path: str, prefix: str, is_modern: bool) -> None:
        super().__init__(base, state, is_modern=is_modern)
        self.path = path
        self.prefix = prefix
        self.inbox = Inbox()
        self.sent = Counter()
        self._under_way: list[Asked] = []

    def exchange(self, message: bytes) -> Answer:
        return self.begin(message).answer()

    def begin(self, message: bytes) -> Asked:
        return self._begin("POST", json.loads(message)["id"], message, self.headers(message))

    def listen(self) -> None:
        """The stream of its own that a legacy client holds."""
        self._begin("GET", 0, b"", {"Accept": EVENTS, "Mcp-Session-Id": self.session or ""})

    def close(self) -> None:
        for asked in self._under_way:
            asked.leave()

    def _begin(self, method: str, number: int, body: bytes, headers: dict[str, str]) -> Asked:
        address = urlsplit(self.base)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=60)
        connection.connect()
        asked = Asked(number, body, self.inbox, connection.sock)
        asked.reader = threading.Thread(target=self._read, args=(asked, connection), daemon=True)
        self._under_way.append(asked)
        connection.request(method, self.path, body or None, headers)
        asked.reader.start()
        return asked

    def _read(self, asked: Asked, connection: http.client.HTTPConnection) -> None:
        left = suppress(
            OSError, http.client.HTTPException, ValueError
        )  # whichever http.client makes of a closed socket
        with closing(connection), left, connection.getresponse() as response:
            asked.status = response.status
            self.session = response.getheader("Mcp-Session-Id") or self.session
            if not (response.getheader("Content-Type") or "").startswith(EVENTS):
                body = response.read()
                if body:
                    self.hear(body)
                return
            while line := response.readline():  # no message here has a line end in it
                data = line.removeprefix(b"data:").strip()
                if line.startswith(b"data:") and data:
                    self.hear(data)


class LineClient(Calls, WrapGateway):
    def __init__(self, process: "subprocess.Popen[bytes]", state: Path, *, is_modern: bool) -> None:
        self.prefix = ""
        self.inbox = Inbox()
        self.sent = Counter()
        super().__init__(process, state, is_modern=is_modern)

    def exchange(self, message: bytes) -> Answer:
        return self.begin(message).answer()

    def begin(self, message: bytes) -> Asked:
        self.send(message)
        return Asked(json.loads(message)["id"], message, self.inbox)

    def listen(self) -> None:
        """Its one line carries everything."""

    def close(self) -> None:
        """The process is ended by whoever started it."""

    def _read_all(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.hear(line.removesuffix(b"\n"))


Client = HttpClient | LineClient
