"""Routes each request: `/mcp`, `/mcp/<server>`, `/health`; Host and Origin are always checked."""

import logging
from collections.abc import Awaitable
from typing import Protocol

import msgspec

from handfast.core.access.identity import Identity
from handfast.core.access.permissions import Denied, deny_entry, may_enter
from handfast.core.call import rules
from handfast.crashes import describe_crash
from handfast.gateway.admission.draining import STOPPING, Drain
from handfast.gateway.admission.request_rate import RequestRate
from handfast.gateway.calls.rights import deny_request
from handfast.gateway.edge.trusted_hosts import check_host, check_origin
from handfast.gateway.http.exchange import JSON, ClientLeft, HttpExchange, HttpProblem
from handfast.gateway.http.headers import check_described, check_repeated
from handfast.gateway.refused_calls import record_blocked, record_refused
from handfast.gateway.runtime import Runtime
from handfast.gateway.servers import Servers
from handfast.gateway.sign_in import METADATA, SignIn
from handfast.turns import LARGE_BYTES, take_turn
from handfast.wire.codes import INTERNAL_ERROR, INVALID_REQUEST, UPSTREAM_FAILED
from handfast.wire.message import AmbiguousKeys, BadMessage, Message, read_message
from handfast.wire.replies import error_reply
from handfast.wire.scan import NotJson

_log = logging.getLogger("handfast.gateway")
_PREFIX = "/mcp/"
# Bytes of an initialize, kept by its session: thirty times what clients send. 10,000 sessions keep at most 160 MB.
_LARGEST_OPENING = 16 * 1024


class Upstream(Protocol):
    """A server behind the gateway."""

    def post(self, http: HttpExchange, message: Message) -> Awaitable[None]: ...
    def get(self, http: HttpExchange) -> Awaitable[None]: ...
    def delete(self, http: HttpExchange) -> Awaitable[None]: ...


class GatewayApp:
    def __init__(self, runtime: Runtime, upstreams: Servers, drain: Drain) -> None:
        """Raises: StoreError, if callers have to sign in and their tokens cannot be read."""
        self._runtime = runtime
        self.sign_in = SignIn(runtime)
        self._rate = RequestRate(runtime.clock.monotonic)
        self._upstreams = upstreams
        self._drain = drain
        self._welcome: tuple[object, ...] = ()  # the settings, Host and Origin that passed the checks last

    async def handle(self, http: HttpExchange) -> None:
        try:
            await self._route(http)
        except HttpProblem as problem:
            if http.method == "POST" or problem.rule != rules.REQUEST_REFUSED:  # only a POST can have been a call
                self.note(problem, server=_server_of(http))
            reply = error_reply(None, problem.code, problem.text)
            await http.respond(problem.status, [JSON, *problem.headers], reply)
        except ClientLeft:
            pass
        except Exception as error:  # noqa: BLE001 - logged with its traceback right here
            # The outermost edge: one broken request must not take the others along.
            _log.error("A request failed inside the gateway:\n%s", describe_crash(error))
            if not http.has_started:
                text = "The gateway failed on this request. The operator finds the cause in its output."
                await http.respond(500, [JSON], error_reply(None, INTERNAL_ERROR, text))

    def note(self, problem: HttpProblem, *, server: str = "") -> None:
        """Records a refused request, if its problem has a rule."""
        if problem.rule:
            server = server if server in self._runtime.settings.servers else ""  # a client may send any name
            reason = f"A request was refused: {problem.text}"
            self._runtime.journal.diagnose(server, problem.rule, reason)

    # The next two only choose: a coroutine for each would be resumed with every answer.

    def _route(self, http: HttpExchange) -> Awaitable[None]:
        """Raises: HttpProblem."""
        check_repeated(http)
        settings = self._runtime.settings
        caller = (settings, http.header(b"host"), http.header(b"origin"))
        if caller != self._welcome:  # nearly every request has the same values
            check_host(caller[1], settings)
            check_origin(caller[2], settings)
            self._welcome = caller
        if http.path == "/health":
            return self._health(http)
        if self.sign_in.is_needed:
            if http.path.startswith(METADATA) and (metadata := self.sign_in.metadata(http.path)) is not None:
                return self._tell(http, metadata)
            signing_in = self.sign_in.admit(http, _server_of(http))
            if signing_in is not None:
                return self._route_then(http, signing_in)
        return self._find(http)

    async def _route_then(self, http: HttpExchange, signing_in: Awaitable[None]) -> None:
        await signing_in
        await self._find(http)

    async def _tell(self, http: HttpExchange, metadata: dict[str, object]) -> None:
        if http.method != "GET":
            raise HttpProblem(405, "This address only answers GET.", headers=[(b"allow", b"GET")])
        await http.respond(200, [JSON, (b"cache-control", b"max-age=300")], msgspec.json.encode(metadata))

    def _find(self, http: HttpExchange) -> Awaitable[None]:
        """Raises: HttpProblem."""
        identity = http.caller.identity
        if name := _server_of(http):
            if not may_enter(identity, name):  # whether or not it is there: its name is not for everybody
                return self._forbid(http, None, name, None, deny_entry(name))
            return self._mcp(http, self._upstreams.find(name, identity))
        if http.path in ("/mcp", _PREFIX):
            self._upstreams.all.check(http)  # before its body is read
            return self._mcp(http, self._upstreams.all)
        known = ", ".join(name for name in self._upstreams.names() if may_enter(identity, name)) or "none"
        raise HttpProblem(404, f"There is nothing here. Use /mcp, or /mcp/<server>; servers: {known}.")

    def _mcp(self, http: HttpExchange, upstream: Upstream) -> Awaitable[None]:
        if http.method == "POST":
            return self._post(http, upstream)
        if self._drain.is_draining and not (http.method == "GET" and http.header(b"last-event-id")):
            raise HttpProblem(503, STOPPING)
        if http.method == "GET":
            return upstream.get(http)
        if http.method == "DELETE":
            return upstream.delete(http)
        return http.respond(405, [(b"allow", b"POST, GET, DELETE")])

    async def _post(self, http: HttpExchange, upstream: Upstream) -> None:
        most = self._runtime.settings.limits.requests_per_minute
        if most is not None and (seconds := self._rate.take(http.caller.address, most)):
            text = f"More requests came than the {most} a minute that one caller may send. Come back in {seconds} s."
            raise HttpProblem(429, text, rule=rules.CALLER_RATE, headers=[(b"retry-after", b"%d" % seconds)])
        check_described(http)
        body = await http.read_body(self._runtime.settings.limits.body_bytes)
        if len(body) >= LARGE_BYTES:
            await take_turn()
        try:
            message = read_message(body)
        except BadMessage as problem:
            self._runtime.journal.diagnose(_server_of(http), rules.MESSAGE_REFUSED, problem.reason)
            await http.respond(400, [JSON], error_reply(problem.id, problem.code, problem.reason))
            return
        if len(body) >= LARGE_BYTES:
            await take_turn()  # reading it was the first piece of work
        if http.caller.identity is not None:
            denied = self._deny(http, message, http.caller.identity)
            if denied is not None:
                await self._forbid(http, message, *denied)
                return
        if message.method == "initialize" and len(body) > _LARGEST_OPENING:
            text = f"The initialize is over the limit of {_LARGEST_OPENING} bytes. Say less of the client."
            raise HttpProblem(413, text, rule=rules.REQUEST_BODY_TOO_LARGE)
        drain = self._drain
        if drain.is_draining:
            record_refused(
                self._runtime,
                message,
                http.caller,
                server=_server_of(http),
                rule=rules.GATEWAY_STOPPING,
                reason=STOPPING,
            )
            await http.respond(503, [JSON], error_reply(message.id, UPSTREAM_FAILED, STOPPING))
            return
        if message.method == "subscriptions/listen":  # never finishes by itself
            await upstream.post(http, message)
            return
        drain.entered()
        try:
            await upstream.post(http, message)
        finally:
            drain.left()

    def _deny(self, http: HttpExchange, message: Message, identity: Identity) -> tuple[str, str | None, Denied] | None:
        """The server and tool that a caller has no right to, and why; None where it has, or that is not known here.

        What is not known yet, such as a tool's kind before its list was read, is decided on the request's own path.
        """
        server, tool = _server_of(http), message.called_tool()
        try:
            if tool is not None:
                server, tool, denied = self._upstreams.deny_call(server, tool, identity)
            else:
                denied = deny_request(server, message, identity) if server else None
        except (AmbiguousKeys, NotJson):
            return None  # refused where it is read
        return None if denied is None else (server, tool, denied)

    async def _forbid(
        self, http: HttpExchange, message: Message | None, server: str, tool: str | None, denied: Denied
    ) -> None:
        """Answers with 403, and the scope that would do."""
        if message is None and http.method == "POST":
            message = await self._peek(http)
        known = server if server in self._runtime.settings.servers else ""  # a client may send any name
        if message is None:
            self._runtime.journal.diagnose(known, rules.ACCESS_SCOPE, f"A request was refused: {denied.text}")
        else:
            runtime, rule = self._runtime, rules.ACCESS_SCOPE
            await record_blocked(runtime, message, http.caller, server=known, tool=tool, rule=rule, reason=denied.text)
        challenge = self.sign_in.challenge(_server_of(http), "insufficient_scope", denied.text, scope=denied.scope)
        request_id = None if message is None else message.id
        await http.respond(403, [JSON, challenge], error_reply(request_id, INVALID_REQUEST, denied.text))

    async def _peek(self, http: HttpExchange) -> Message | None:
        """What a request that goes no further asked for, for its record; None if it cannot be read."""
        try:
            return read_message(await http.read_body(self._runtime.settings.limits.body_bytes))
        except BadMessage:
            return None

    async def _health(self, http: HttpExchange) -> None:
        recorder = self._runtime.recorder
        report: dict[str, object] = {
            "status": "stopping" if self._drain.is_draining else "failing" if recorder.is_failing else "ok",
            "recording": "failing" if recorder.is_failing else "ok",
        }
        known = self.sign_in.identify(http) if self.sign_in.is_needed else None
        if known is not None or not self.sign_in.is_needed:  # names and errors are not for strangers
            found = self._upstreams.health()
            report["servers"] = {name: each for name, each in found.items() if may_enter(known, name)}
        await http.respond(200 if report["status"] == "ok" else 503, [JSON], msgspec.json.encode(report))


def _server_of(http: HttpExchange) -> str:
    return http.path[len(_PREFIX) :].rstrip("/") if http.path.startswith(_PREFIX) else ""
