"""The stub over Streamable HTTP: JSON or SSE answers, sessions, GET streams and replay, in raw bytes."""

import asyncio
import base64
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace

from tests.stubs.http_wire import Connection, Head, HttpRequest
from tests.stubs.perform import STRAY, perform
from tests.stubs.script import META, MODERN, Json, Reply, Request, Script, Step, Steps, refusal

EVENT_STREAM = "text/event-stream"


class Stream:
    """The events of one answer, or of one GET stream: kept, so that they can be followed again from anywhere."""

    def __init__(self) -> None:
        self.steps: list[tuple[int | None, Step]] = []
        self.is_done = False
        self._changed = asyncio.Event()

    def add(self, event_id: int | None, step: Step) -> None:
        self.steps.append((event_id, step))
        self._wake()

    def end(self) -> None:
        self.is_done = True
        self._wake()

    def has(self, event_id: int) -> bool:
        return any(known == event_id for known, _ in self.steps)

    async def follow(self, after: int = 0) -> AsyncIterator[tuple[int | None, Step]]:
        """Every step past an event id, until the stream ends."""
        position = 0
        while True:
            for event_id, step in self.steps[position:]:
                position += 1
                if (event_id or after + 1) > after:
                    yield event_id, step
            if position == len(self.steps) and self.is_done:
                return
            await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


@dataclass(slots=True)
class Session:
    """One client of the 2025 revisions."""

    id: str
    aside: Stream = field(default_factory=Stream)
    streams: list[Stream] = field(default_factory=list)
    event_ids: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))


class Streamable:
    def __init__(self, script: Script, *, streams: bool) -> None:
        self._script = script
        self._streams = streams
        self._sessions: dict[str, Session] = {}
        self._counted = itertools.count(1)
        self._working: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        server = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        print(f"PORT {server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()

    async def broadcast(self, message: bytes) -> None:
        for session in self._sessions.values():
            session.aside.add(next(session.event_ids), Step("message", message))

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        while (request := await connection.read_request()) is not None:
            self._script.note(request.body, headers=request.headers, http=f"{request.method} {request.path}")
            answering = asyncio.create_task(self._answer(connection, request))
            leaving = asyncio.create_task(connection.gone())
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            left = leaving.done()
            if left:
                where = f"{request.method} {request.path}"
                self._script.note(event="disconnected", headers=request.headers, http=where)
            for task in (answering, leaving):
                task.cancel()
            outcome, _ = await asyncio.gather(answering, leaving, return_exceptions=True)
            if outcome is not None and not isinstance(outcome, ConnectionError | asyncio.CancelledError):
                raise outcome  # a mistake in the SPEC, or in the stub
            if left or outcome is not None:
                break
        connection.close()

    async def _answer(self, connection: Connection, http: HttpRequest) -> None:
        session = self._sessions.get(http.headers.get("mcp-session-id", ""))
        if http.method == "GET" and session is not None:
            await self._resume(connection, session, http.headers.get("last-event-id"))
        elif http.method == "DELETE" and session is not None:
            del self._sessions[session.id]
            await connection.send(Head(status=204).lines(0))
        elif http.method != "POST":
            await connection.send(Head(status=405).lines(0))
        else:
            await self._post(connection, http, session)

    async def _post(self, connection: Connection, http: HttpRequest, session: Session | None) -> None:
        try:
            message = json.loads(http.body)
        except ValueError:
            message = None
        request = Request(message if isinstance(message, dict) else {})
        if (refused := self._refusal(http, request, session, is_json=isinstance(message, dict))) is not None:
            status, reply = refused
            await connection.send(Head(status=status).whole(reply.message))
            return
        if not request.wants_answer:
            self._script.take_answer(request.message)
            await connection.send(Head(status=202).lines(0))
            return
        if request.method == "initialize" and self._script.sessions:
            session = Session(f"stub-session-{next(self._counted)}")
            self._sessions[session.id] = session
        await self._reply(connection, request, session)

    def _refusal(
        self, http: HttpRequest, request: Request, session: Session | None, *, is_json: bool
    ) -> tuple[int, Reply] | None:
        """Why the request is not even looked at, as the specification has it."""
        if not is_json:
            return 400, refusal(request, -32700, "Parse error")
        if request.is_modern and MODERN in self._script.versions:
            return wrong_headers(http.headers, request)
        if request.method == "initialize":
            return None
        if any(version != MODERN for version in self._script.versions):
            if session is not None or not self._script.sessions:
                return None
            status = 404 if "mcp-session-id" in http.headers else 400
            return status, refusal(request, -32000, "Bad Request: No valid session ID provided")
        return 400, refusal(request, -32602, f"params._meta lacks {META}protocolVersion")

    async def _reply(self, connection: Connection, request: Request, session: Session | None) -> None:
        reply = self._script.reply(request)
        head = reply_head(request, reply, session)
        wanted = self._streams or request.method == "subscriptions/listen"
        streams = wanted and head.status == 200 and not head.encoded
        if streams and "wrong_content_type" not in reply.faults:
            head = replace(head, content_type=EVENT_STREAM)
        stream = Stream()
        if session is not None:
            session.streams.append(stream)
        working = asyncio.create_task(self._work(perform(self._script, request, reply), session, stream, streams))
        self._working.add(working)
        working.add_done_callback(self._working.discard)
        try:
            await (self._send_stream if streams else self._send_json)(connection, stream, head)
        finally:
            # A 2026 client cancels by leaving; a call of the 2025 revisions runs on and may be resumed.
            if request.is_modern:
                working.cancel()

    async def _work(self, steps: Steps, session: Session | None, stream: Stream, streams: bool) -> None:
        """Put the steps where their readers find them."""
        async for step in steps:
            if step.kind == "broadcast":
                await self.broadcast(step.data)
            elif step.kind in ("aside", "events") and not streams:
                if session is not None:
                    session.aside.add(next(session.event_ids), step)
            elif step.kind == "burst" and not streams:
                pass  # a body has no room for it
            elif step.kind in ("hang", "mute", "deaf"):
                await asyncio.get_running_loop().create_future()
            else:
                numbered = session is not None and step.kind in ("aside", "message", "cut")
                stream.add(next(session.event_ids) if session is not None and numbered else None, step)
        stream.end()

    async def _send_json(self, connection: Connection, stream: Stream, head: Head) -> None:
        body, pieces, pause = b"", 0, 0.0
        async for _, step in stream.follow():
            if step.kind == "message":
                if step.data == STRAY:
                    body = step.data
                    break
                body, pieces, pause = body + step.data, step.pieces, step.pause
            elif step.kind == "half":
                await connection.send(head.whole(step.data)[: -(len(step.data) // 2)])
            elif step.kind == "die":
                await connection.send(head.whole(step.data)[: -(len(step.data) // 2)])
                connection.drop()
                return
            elif step.kind == "drop":
                connection.drop()
                return
            elif step.kind == "flood":
                await connection.send(head.lines(None))
                await connection.flood(b'{"jsonrpc":"2.0","result":"')
        await connection.send(head.whole(body), pieces=pieces, pause=pause)

    async def _send_stream(self, connection: Connection, stream: Stream, head: Head) -> None:
        is_open = False
        async for event_id, step in stream.follow():
            if step.kind == "drop":
                connection.drop()
                return
            if not is_open:
                await connection.send(head.lines(None))
                is_open = True
            if step.kind == "cut":
                newline = self._script.newline
                await connection.send_chunk(b"id: %d%sretry: 10%sdata: %s%s" % (event_id or 0, *[newline] * 4))
                break
            await self._send_event(connection, event_id, step)
            if step.kind == "die":
                connection.drop()
                return
        await connection.send_chunk(b"")

    async def _send_event(self, connection: Connection, event_id: int | None, step: Step) -> None:
        event = sse_event(event_id, step.data, self._script.newline)
        if step.kind in ("aside", "message"):
            await connection.send_chunk(event, pieces=step.pieces, pause=step.pause)
        elif step.kind == "burst":
            await connection.send_chunk(events(step.data, self._script.newline))
        elif step.kind == "events":
            await connection.send_chunk(step.data)
        elif step.kind in ("half", "die"):
            await connection.send_chunk(event[: len(event) // 2])
        elif step.kind == "flood":
            await connection.flood(b"data: ")

    async def _resume(self, connection: Connection, session: Session, last: str | None) -> None:
        """A GET: server messages, or the rest of the stream that the last event belonged to."""
        after = int(last or 0)
        stream = next((stream for stream in session.streams if last and stream.has(after)), session.aside)
        await connection.send(Head(content_type=EVENT_STREAM).lines(None))
        async for event_id, step in stream.follow(after):
            if step.kind in ("aside", "events", "message"):
                await self._send_event(connection, event_id, step)
        await connection.send_chunk(b"")


def reply_head(request: Request, reply: Reply, session: Session | None) -> Head:
    status = 404 if request.is_modern and reply.error_code == -32601 else 200
    head = Head(
        status=int(reply.faults["status"][0]) if "status" in reply.faults else status,
        session=session.id if session is not None and request.method == "initialize" else None,
        encoded="encoded" in reply.faults,
        extra=reply.headers + (b"X-Stub: one\rX-Injected: two\r\n" if "headers_injection" in reply.faults else b""),
    )
    return replace(head, content_type="text/plain") if "wrong_content_type" in reply.faults else head


def wrong_headers(headers: Mapping[str, str], request: Request) -> tuple[int, Reply] | None:
    """Revision 2026-07-28: the headers say what the body says, and the envelope is complete."""
    if not isinstance(request.meta.get(f"{META}clientCapabilities"), dict):
        return 400, refusal(request, -32602, f"params._meta lacks {META}clientCapabilities")
    version = request.meta[f"{META}protocolVersion"]
    if version != MODERN:
        data: Json = {"supported": [MODERN], "requested": version}
        return 400, refusal(request, -32022, "Unsupported protocol version", data)
    expected = {"mcp-protocol-version": version, "mcp-method": request.method}
    if request.method == "tools/call":
        expected["mcp-name"] = str(request.params.get("name"))
    if any(plain(headers.get(name, "")) != value for name, value in expected.items()):
        return 400, refusal(request, -32020, "Header mismatch")
    return None


def plain(value: str) -> str:
    """A header's text, out of the encoding for what is not plain ASCII."""
    if value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[9:-2]).decode()
    return value


def events(lines: bytes, newline: bytes) -> bytes:
    """Many messages, each an event without an id."""
    return b"".join(sse_event(None, line, newline) for line in lines.splitlines())


def sse_event(event_id: int | None, data: bytes, newline: bytes) -> bytes:
    lines = [] if event_id is None else [b"id: %d" % event_id]
    lines += [b"event: message", *(b"data: " + line for line in data.split(b"\n"))]
    return newline.join(lines) + newline * 2
