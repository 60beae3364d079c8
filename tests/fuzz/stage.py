"""A whole gateway in this process, with every server and every kind of client, through which cases are sent."""

import asyncio
import json
import logging
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from handfast.activity.query import RecordFilter
from handfast.activity.sqlite import SqliteStore
from handfast.core.call.exchange import Record, Ticket
from handfast.gateway.runtime import Runtime
from handfast.gateway.serving import bind, gateway
from handfast.gateway.settings import load_settings
from tests.fuzz.client import Headers, HttpClient, LineClient, Received, Silence, StandardPipes
from tests.fuzz.promises import PROBE
from tests.fuzz.routes import INITIALIZED, ROUTES, SERVERS, Route, initialize
from tests.fuzz.upstream import Got, Plan, Upstream, Upstreams, read_request
from tests.stubs.script import compact

NUMBER = b"@N@"  # stands in a case where a number goes that no other case has
_QUIET_SECONDS = 3.0
_STRICT = {"mode": "strict"}
_WARN = {"mode": "warn"}


@dataclass(frozen=True, slots=True)
class Case:
    """What a client sends at a place, and, for a call, what its server answers."""

    route: Route
    body: bytes
    headers: Headers = ()
    plan: Plan | None = None
    tool: str = "pay"  # the tool that the plan is for
    method: str = "POST"
    before: "Case | None" = None  # what the same client sends first; only what comes of this one is judged

    def numbered(self, number: int) -> "Case":
        """The case with a number of its own wherever one goes."""
        own = b"%d" % number
        plan = self.plan
        if plan is not None:
            plan = replace(plan, pieces=tuple(piece.replace(NUMBER, own) for piece in plan.pieces))
        headers = tuple((name, value.replace(NUMBER, own)) for name, value in self.headers)
        before = None if self.before is None else self.before.numbered(number)
        return replace(self, body=self.body.replace(NUMBER, own), headers=headers, plan=plan, before=before)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that could be seen of a case."""

    case: Case
    got: tuple[Got, ...] = ()
    sent: tuple[bytes, ...] = ()
    received: Received = field(default_factory=lambda: Received(()))
    records: tuple[Record, ...] = ()
    troubles: tuple[str, ...] = ()
    digest: Callable[[bytes], str] = lambda _: ""


class _Troubles(logging.Handler):
    """Everything that a part of the gateway logs as an error, or with a traceback."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info or record.levelno >= logging.ERROR:
            self.seen.append(self.format(record)[-1500:])


@dataclass(slots=True)
class _Visitor:
    """The client of one route."""

    route: Route
    http: HttpClient | None = None
    line: LineClient | None = None
    session: bytes | None = None


@dataclass(slots=True)
class Stage:
    folder: Path
    upstreams: Upstreams = field(init=False)
    runtime: Runtime = field(init=False)
    records: list[Record] = field(default_factory=list)
    recorded: int = 0
    _numbers: "count[int]" = field(default_factory=lambda: count(1000))
    _servers: dict[str, Upstream] = field(default_factory=dict)
    _visitors: dict[str, _Visitor] = field(default_factory=dict)
    _troubles: _Troubles = field(default_factory=_Troubles)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _port: int = 0
    _running: list["asyncio.Task[None]"] = field(default_factory=list)
    _abandoned: int = 0  # calls that stay open for ever, each of which was a finding

    # --- up and down -----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        logging.getLogger().addHandler(self._troubles)
        asyncio.get_running_loop().set_exception_handler(
            lambda _loop, context: self._troubles.seen.append(f"{context.get('message')} {context.get('exception')!r}")
        )
        self.upstreams = Upstreams(self.folder)
        await self.upstreams.start()
        entries = {}
        for server in SERVERS:
            self._servers[server.name] = self.upstreams.add(server.name, is_modern=server.is_modern)
            command = self.upstreams.command(server.name)
            where: dict[str, object] = {"command": command[0], "args": command[1:]}
            if server.transport == "http":
                where = {"url": self.upstreams.url(server.name)}
            block: dict[str, object] = {"surface": "compact"} if server.is_compact else {}
            if not server.is_strict:
                block |= {"input_validation": _WARN, "output_validation": _WARN}
            entries[server.name] = {**where, "handfast": block, "disabled": server.is_wrapped}
        config = self.folder / "handfast.json"
        # Odd answers count as failures of their server, which must not be left alone for them.
        limits = {"handshake_timeout_s": 10, "call_timeout_s": 60, "connection_failures": 1000, "restarts": 1000}
        settings = {"input_validation": _STRICT, "output_validation": _STRICT, "limits": limits}
        activity = {"durability": "none", "whole_refusals": None}
        config.write_text(
            json.dumps({"mcpServers": entries, **settings, "activity": activity, "listen": "127.0.0.1:0"})
        )
        self.runtime = Runtime(load_settings(config, environ={}), self.folder / "state")
        self._listen_in()
        ready = asyncio.Event()
        self._running.append(asyncio.create_task(self._serve(ready)))
        await ready.wait()

    def _listen_in(self) -> None:
        """Every record is seen here on its way to the store, which is read at the end and must have the same."""
        recorder = self.runtime.recorder
        record, record_refusal = recorder.record, recorder.record_refusal

        def hear(records: tuple[Record, ...]) -> None:
            self.records.extend(records)
            self.recorded += len(records)

        def heard(*records: Record) -> int:
            hear(records)
            return record(*records)

        def heard_refusal(caller: str, *records: Record) -> Ticket:
            hear(records)
            return record_refusal(caller, *records)

        recorder.record = heard  # type: ignore[method-assign]  # an ear, not a stand-in
        recorder.record_refusal = heard_refusal  # type: ignore[method-assign]

    async def _serve(self, ready: asyncio.Event) -> None:
        listener = bind(self.runtime.settings)
        self._port = listener.getsockname()[1]
        async with gateway(self.runtime, listener):
            ready.set()
            await self._stop.wait()

    async def close(self) -> None:
        for visitor in self._visitors.values():
            self._dismiss(visitor)
        self._stop.set()
        if self._running:
            _, left = await asyncio.wait(self._running, timeout=_QUIET_SECONDS)
            for task in left:  # a wrapper that broke does not notice that its client left
                task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self.upstreams.close()
        logging.getLogger().removeHandler(self._troubles)
        store = SqliteStore.open_existing(self.folder / "state")
        try:
            kept = sum(1 for _ in store.query(RecordFilter()))
        finally:
            store.close()
        assert kept == self.recorded, f"{self.recorded} records were made, {kept} are kept"

    # --- one case --------------------------------------------------------------------------------------------------

    async def run(self, case: Case) -> Outcome:
        """Send the case, wait until nothing of it is under way, and give all that was seen."""
        visitor = self._visitors.get(case.route.name) or await self._welcome(case.route)
        upstream = self._servers[case.route.server.name]
        case = case.numbered(next(self._numbers))
        for server in self._servers.values():
            server.got.clear()
            server.sent.clear()
        self.records.clear()
        self._troubles.seen.clear()
        try:
            if case.before is not None:
                upstream.plan = case.before.plan
                await self._send(visitor, case.before)
            upstream.plan = case.plan
            received = await self._send(visitor, case)
            await self._settle(visitor)
        except Silence as problem:
            received = Received(())
            self._troubles.seen.append(f"silence: {problem}")
        upstream.plan = None
        outcome = Outcome(
            case,
            got=tuple(got for server in self._servers.values() for got in server.got if not is_own(got)),
            sent=tuple(upstream.sent),
            received=received,
            records=tuple(record for record in self.records if record.tool != PROBE),
            troubles=tuple(self._troubles.seen),
            digest=self.runtime.recorder.digest,
        )
        if outcome.troubles:
            await self._part_with(visitor)
        return outcome

    async def _send(self, visitor: _Visitor, case: Case) -> Received:
        if visitor.line is not None:
            visitor.line.write(case.body + b"\n")
            is_direct = case.route.is_direct
            await self._probe_line(visitor, may_fail=not is_direct)
            if self._under_way or not is_direct:
                # The first probe has overtaken what is translated, or judged in the slow lane.
                await self._wait_for_calls()
                await self._probe_line(visitor)
            if case.plan is not None:
                await visitor.line.wait_for_answer(compact(read_request(case.body).id))
            lines = visitor.line.take().split(b"\n")
            return Received(tuple(line + b"\n" for line in lines if line and b'"probe-' not in line))
        assert visitor.http is not None
        headers = case.headers
        if visitor.session is not None:
            headers = (*headers, (b"Mcp-Session-Id", visitor.session))
        received = await visitor.http.send(case.method, visitor.route.path, headers, case.body)
        if b"The gateway failed" in received.body or (received.status == 500 and case.plan is None):
            self._troubles.seen.append(f"status {received.status}: {received.body[:200]!r}")
        if case.route.server.transport == "stdio" or not self._servers[case.route.server.name].got:
            await self._probe_http(visitor)
        return received

    async def _probe_line(self, visitor: _Visitor, *, may_fail: bool = False) -> None:
        """A call behind the case: once it is answered, all before it was read.

        `may_fail`: it is under way beside the case, which may lose the session that both are in.
        """
        assert visitor.line is not None
        mark = f'"probe-{next(self._numbers)}"'.encode()
        visitor.line.write(visitor.route.call(PROBE, mark.decode(), "{}").encode() + b"\n")
        await visitor.line.wait_for_answer(mark)
        answer = next(line for line in visitor.line.heard.split(b"\n") if mark in line)
        if b"alive" not in answer and not may_fail:
            self._troubles.seen.append(f"a plain call failed afterwards: {bytes(answer[:300])!r}")

    async def _probe_http(self, visitor: _Visitor) -> None:
        assert visitor.http is not None
        number = next(self._numbers)
        body = visitor.route.call(PROBE, f'"probe-{number}"', "{}").encode()
        received = await visitor.http.send("POST", visitor.route.path, headers_for(visitor, PROBE), body)
        if b"alive" not in received.body:
            self._troubles.seen.append(f"a plain call failed afterwards: {received.status} {received.body[:300]!r}")

    async def _settle(self, visitor: _Visitor) -> None:
        """Wait for what is under way; a call that its client may come back for is ended with its session."""
        if await self._wait_for_calls():
            return
        await self._part_with(visitor)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _QUIET_SECONDS
        while self._under_way:
            if loop.time() > deadline:
                self._troubles.seen.append("a call stays open")
                self._abandoned = self.runtime.path.open_calls
            await asyncio.sleep(0.005)

    @property
    def _under_way(self) -> bool:
        return self.runtime.path.open_calls > self._abandoned

    async def _wait_for_calls(self) -> bool:
        """Whether no call is under way any more, after a moment at most."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + 0.2
        while self._under_way and loop.time() < deadline:  # noqa: ASYNC110 - a number tells nobody
            await asyncio.sleep(0.001)
        return not self._under_way

    # --- clients ---------------------------------------------------------------------------------------------------

    async def _welcome(self, route: Route) -> _Visitor:
        """A client with its handshake done."""
        visitor = _Visitor(route)
        self._visitors[route.name] = visitor
        if route.is_line:
            await self._wrap(visitor)
            return visitor
        visitor.http = HttpClient(self._port)
        if not route.is_modern:
            headers = headers_for(visitor, PROBE)
            answer = await visitor.http.send("POST", route.path, headers, initialize("0"))
            visitor.session = next(iter(answer.values(b"mcp-session-id")), None)
            await visitor.http.send("POST", route.path, headers_for(visitor, PROBE), INITIALIZED)
        await self._probe_http(visitor)
        return visitor

    async def _wrap(self, visitor: _Visitor) -> None:
        """`handfast wrap` as its command runs it, but for the process."""
        from handfast.cli.wrap import _relay, _relay_to_url

        server = visitor.route.server
        if server.transport == "http":
            work = _relay_to_url(self.runtime, server.name, self.upstreams.url(server.name))
        else:
            work = _relay(self.runtime, server.name, self.upstreams.command(server.name))
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        ours = [(number, signal.getsignal(number)) for number in numbers]
        with StandardPipes() as pipes:
            self._running.append(asyncio.create_task(ended(work)))
            visitor.line = await LineClient.open(pipes.to_wrapper, pipes.from_wrapper)
            if not visitor.route.is_modern:
                visitor.line.write(initialize("0") + b"\n")
                await visitor.line.wait_for(b'"protocolVersion"')
                visitor.line.write(INITIALIZED + b"\n")
            await self._probe_line(visitor)  # by now both pipes are open
        visitor.line.take()
        for number, handler in ours:  # a wrapper hands them to its server; here they are for the fuzzer
            asyncio.get_running_loop().remove_signal_handler(number)
            signal.signal(number, handler)

    async def _part_with(self, visitor: _Visitor) -> None:
        """End the client's session, whatever is open in it; the next case on the route gets a new client."""
        if visitor.http is not None and visitor.session is not None:
            await visitor.http.send("DELETE", visitor.route.path, ((b"Mcp-Session-Id", visitor.session),))
        self._dismiss(visitor)
        self._visitors.pop(visitor.route.name, None)

    def _dismiss(self, visitor: _Visitor) -> None:
        if visitor.http is not None:
            visitor.http.close()
        if visitor.line is not None:
            visitor.line.close()


async def ended(work: Awaitable[int]) -> None:
    await work


def headers_for(visitor: _Visitor, tool: str) -> Headers:
    """What a well-behaved client sends with a call."""
    session = () if visitor.session is None else ((b"Mcp-Session-Id", visitor.session),)
    return (*plain_headers(visitor.route, "tools/call", tool), *session)


def plain_headers(route: Route, method: str, tool: str) -> Headers:
    headers: Headers = (
        (b"Content-Type", b"application/json"),
        (b"Accept", b"application/json, text/event-stream"),
    )
    if not route.is_modern:
        return headers
    name = ((b"Mcp-Name", route.call_name(tool).encode()),) if method == "tools/call" else ()
    return (*headers, (b"MCP-Protocol-Version", b"2026-07-28"), (b"Mcp-Method", method.encode()), *name)


def is_own(got: Got) -> bool:
    """Whether this is the probe's."""
    return b'"probe"' in got.body and b'"tools/call"' in got.body


assert len({route.name for route in ROUTES}) == len(ROUTES)
