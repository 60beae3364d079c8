"""The stub over the HTTP transport of 2024-11-05: each GET is a session, on whose stream POSTs are answered."""

import asyncio
import itertools
import json

from tests.stubs.http_wire import Connection, Head, HttpRequest
from tests.stubs.perform import perform
from tests.stubs.script import Reply, Request, Script, Step, refusal
from tests.stubs.streamable import EVENT_STREAM, Stream, events, sse_event


class EventServer:
    def __init__(self, script: Script) -> None:
        self._script = script
        self._streams: dict[str, Stream] = {}
        self._counted = itertools.count(1)
        self._working: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        server = await asyncio.start_server(self._converse, "127.0.0.1", 0)
        print(f"PORT {server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()

    async def broadcast(self, message: bytes) -> None:
        for stream in self._streams.values():
            stream.add(None, Step("message", message))

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        while (request := await connection.read_request()) is not None:
            self._script.note(request.body, headers=request.headers, http=f"{request.method} {request.path}")
            if request.method == "GET":
                await self._follow(connection)
                break
            await self._take(connection, request)
        connection.close()

    async def _follow(self, connection: Connection) -> None:
        """One session, until its client goes or it is told to break off."""
        session = str(next(self._counted))
        stream = self._streams[session] = Stream()
        sending = asyncio.create_task(self._send(connection, stream, session))
        leaving = asyncio.create_task(connection.gone())
        await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if leaving.done():
            self._script.note(event="disconnected", http=f"GET {session}")
        del self._streams[session]
        for task in (sending, leaving):
            task.cancel()
        await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send(self, connection: Connection, stream: Stream, session: str) -> None:
        await connection.send(Head(content_type=EVENT_STREAM).lines(None))
        newline = self._script.newline
        await connection.send_chunk(
            newline.join((b"event: endpoint", b"data: /messages?s=" + session.encode(), b"", b""))
        )
        async for _, step in stream.follow():
            event = sse_event(None, step.data, newline)
            if step.kind in ("aside", "message"):
                await connection.send_chunk(event, pieces=step.pieces, pause=step.pause)
            elif step.kind == "burst":
                await connection.send_chunk(events(step.data, newline))
            elif step.kind == "events":
                await connection.send_chunk(step.data)
            elif step.kind == "flood":
                await connection.flood(b"data: ")
            elif step.kind in ("half", "die"):
                await connection.send_chunk(event[: len(event) // 2])
            if step.kind in ("die", "drop"):
                connection.drop()
                return

    async def _take(self, connection: Connection, http: HttpRequest) -> None:
        stream = self._streams.get(http.path.removeprefix("/messages?s="))
        if stream is None:
            await connection.send(Head(status=404).lines(0))
            return
        try:
            message = json.loads(http.body)
        except ValueError:
            message = None
        request = Request(message if isinstance(message, dict) else {})
        if not isinstance(message, dict):
            stream.add(None, Step("message", refusal(request, -32700, "Parse error").message))
        elif request.wants_answer:
            reply = self._script.reply(request)
            if "status" in reply.faults:
                await connection.send(Head(status=int(reply.faults["status"][0])).lines(0))
                return
            working = asyncio.create_task(self._work(request, reply, stream))
            self._working.add(working)
            working.add_done_callback(self._working.discard)
        else:
            self._script.take_answer(request.message)
        await connection.send(Head(status=202).lines(0))

    async def _work(self, request: Request, reply: Reply, stream: Stream) -> None:
        async for step in perform(self._script, request, reply):
            if step.kind == "broadcast":
                await self.broadcast(step.data)
            elif step.kind in ("hang", "mute", "deaf"):
                await asyncio.get_running_loop().create_future()
            else:
                stream.add(None, step)
