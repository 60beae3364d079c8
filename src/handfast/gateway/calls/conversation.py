"""One client's conversation with one server: answers paired with requests, calls judged, lists learnt.

Knows nothing of transports: `wrap`, a stdio child behind HTTP and an HTTP server all relay through it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from typing import NamedTuple, Protocol

import msgspec

from handfast.catalog.contracts import short_key
from handfast.core.call.contract import LIST_UNAVAILABLE, UNLISTED
from handfast.core.call.exchange import RAN_UNRECORDED, Exchange, RecordingFailed, Status
from handfast.core.call.policy import Allowed, Blocked, Decision, InputErrors, ToolPolicy
from handfast.core.call.result import ResultView, ambiguous_violation, blocked_text
from handfast.core.words.redaction import scrub_name
from handfast.gateway.admission.call_places import NoPlace, Place
from handfast.gateway.callers.caller_ids import FOREIGN, Foreign
from handfast.gateway.callers.identity import Holder, Peer, address_of, name_caller
from handfast.gateway.calls.call_time import too_long, too_silent
from handfast.gateway.calls.learnt_lists import learn_list
from handfast.gateway.calls.pending import Pending
from handfast.gateway.calls.result_view import view_result
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.calls.task_results import TASK_METHODS, TASK_NOTIFICATIONS, created_tasks, read_task, read_task_id
from handfast.gateway.http.exchange import REFUSED
from handfast.gateway.settings.blocks import Limits
from handfast.wire.alias import Alias
from handfast.wire.codes import INVALID_PARAMS, INVALID_REQUEST, RECORDING_FAILED, UPSTREAM_FAILED
from handfast.wire.eras import META_CAPABILITIES, META_CLIENT, META_VERSION
from handfast.wire.message import AmbiguousKeys, BadMessage, Members, Message, RequestId, id_in_head
from handfast.wire.replies import error_reply, request, tool_error
from handfast.wire.scan import NotJson
from handfast.wire.splice import replace_values

_GREETING_SECONDS = 60.0
_HEARS_OF_TASKS = TASK_METHODS | {"subscriptions/listen"}
_OPEN_REQUESTS = 10_000  # of one conversation; a client with more open than this is broken


LEFT = "The client left before the call reached its server, so the tool did not run."


class Step(NamedTuple):
    """What follows from one message: something to send on, something to answer, or nothing."""

    to_server: bytes | None = None
    to_client: bytes | None = None


NOTHING = Step()


class Client(Peer, Protocol):
    """Whoever waits for an answer, where they can be seen to leave."""

    def watch(self, on_left: Callable[[], None]) -> None: ...
    def unwatch(self) -> None: ...


Caller = str | bytes | tuple[str, bytes]
AskForPage = Callable[["Conversation", bytes | None], Awaitable[Message]]


class Conversation:
    def __init__(self, server: ServerSide, ask_for_page: AskForPage) -> None:
        self._server = server
        self._ask_for_page = ask_for_page
        self._pending: dict[RequestId, Pending] = {}
        self._asked_by_server: set[RequestId] = set()
        self._greeting: asyncio.Future[None] | None = None  # while initialize is under way
        self.session: bytes | None = None  # the session's id, where there is a session
        self.has_lost_session = False  # the server knew it no more when it was asked for its tools
        self.caller = ""  # whose calls they are, where that is known otherwise
        self.address = ""  # whose room its session counts towards
        self.has_called = False
        self._asker: Caller = ""  # of all its requests, once one of them may be about a task
        self._meta: Members = {}  # how a modern client introduced itself; empty for a legacy one
        self._view = b""  # what the client can do, where it can do anything: a server may list more tools to it

    @property
    def open_requests(self) -> dict[RequestId, Pending]:
        return self._pending

    def list_request(self, request_id: RequestId, cursor: bytes | None) -> bytes:
        """A tools/list of handfast's own, in the era that this client and server speak."""
        params: dict[str, object] = {}
        if cursor is not None:
            params["cursor"] = msgspec.Raw(cursor)
        if self._meta:
            params["_meta"] = self._meta
        return request(request_id, "tools/list", params or None)

    def _list_page(self, cursor: bytes | None) -> Awaitable[Message]:
        # A method, not something kept: a conversation that held on to itself would be left to the garbage collector.
        return self._ask_for_page(self, cursor)

    def stop_waiting(self) -> None:
        """The greeting has come, or never will: calls that wait for it go on."""
        if self._greeting is not None:
            self._greeting.cancel()  # nobody reads it: it only has to be over
            self._greeting = None

    def close(self, reason: str) -> None:
        """No answer can come any more: whatever is still open ends with this reason, to its client and on record."""
        ended, self._pending = self._pending, {}
        for pending in ended.values():
            self._end(pending, reason)

    def close_unattended(self, reason: str) -> None:
        """The same for requests that were sent and have nobody who relays their answer; the others go on."""
        for key in [key for key, pending in self._pending.items() if pending.alias and not pending.is_attended]:
            self._end(self._pending.pop(key), reason)

    def _end(self, pending: Pending, reason: str) -> None:
        pending.ended = reason if pending.place is None else f"{reason} It never reached the server."
        if pending.call is not None:
            self._server.path.conclude(pending.call, Status.CANCELLED, rule="session.ended", reason=pending.ended)
        if pending.place is not None:
            pending.place.dismiss(pending.ended)
        if pending.when_over is not None:
            pending.when_over()

    def dismiss(self, text: str) -> None:
        """Send away the calls that still wait in line for the server."""
        for pending in self._pending.values():
            if pending.place is not None:
                pending.place.dismiss(text)

    def take_overdue(self, now: float, limits: Limits) -> list[tuple[RequestId, Pending, str]]:
        """Requests that have waited too long for an answer or for progress, or are under way for too long, and why.

        Not those that wait in line or are still being judged. They are open no more.
        """
        found = [
            (key, pending, too_silent(limits.call_timeout_s) if is_silent else too_long(limits.call_total_s))
            for key, pending in self._pending.items()
            if not pending.is_attended
            and (
                (is_silent := now - pending.touched > limits.call_timeout_s)
                or (now - pending.began > limits.call_total_s and pending.touched != inf)
            )
            and (pending.call or pending.method not in ("tools/call", "subscriptions/listen"))
        ]
        for key, _, _ in found:
            del self._pending[key]
        return found

    def cancelled_id(self, message: Message) -> RequestId:
        """Which request a notifications/cancelled means."""
        return _request_id(message.params().get("requestId"))

    def cancellation(self, message: Message) -> bytes | None:
        """A notifications/cancelled as an HTTP server understands it; None where that was not sent the request."""
        pending = self._pending.get(self.cancelled_id(message))
        if pending is None or pending.alias is None:
            return None
        return replace_values(message.raw, {("params", "requestId"): b"%d" % pending.alias.number})

    # --- from the client -----------------------------------------------------------------------------------------

    async def from_client(self, message: Message, client: Client | None = None) -> Step:
        """Decide about one message of the client's. A call may wait here until the server has a place for it."""
        if message.is_answer:
            return self._answer_from_client(message)
        try:
            if message.is_notification:
                return self._notification_from_client(message)
            return await self._request_from_client(message, client)
        except (AmbiguousKeys, NotJson) as problem:
            self._server.journal.diagnose(self._server.name, "message.ambiguous", f"A request was refused: {problem}.")
            text = f"The request is ambiguous: {problem}. Send each key once."
            if isinstance(problem, NotJson):
                text = f"The request cannot be read: {problem}"
            return Step(to_client=error_reply(message.id, INVALID_REQUEST, text) if message.is_request else None)

    def _answer_from_client(self, message: Message) -> Step:
        if message.id not in self._asked_by_server:
            self.note_unpaired("client")
            return NOTHING
        self._asked_by_server.discard(message.id)
        return Step(to_server=message.raw)

    def _notification_from_client(self, message: Message) -> Step:
        if message.method == "notifications/cancelled":
            pending = self._pending.get(self.cancelled_id(message))
            if pending is not None:
                pending.is_cancelled = True
                if pending.call is not None:
                    self._server.path.conclude(pending.call, Status.CANCELLED, reason="The client cancelled the call.")
                if pending.when_over is not None:
                    pending.when_over()
        elif message.method == "notifications/initialized":
            self._discover(None)
        return Step(to_server=message.raw)

    async def _request_from_client(self, message: Message, client: Client | None) -> Step:
        assert message.id is not None
        assert message.method is not None
        if message.id in self._pending:
            return self._turn_away(message, client, "message.id_in_use", "This id is in use. Use a fresh id.")
        if len(self._pending) >= _OPEN_REQUESTS:
            text = f"{_OPEN_REQUESTS} requests are open. Wait for answers before sending more."
            return self._turn_away(message, client, "calls.full", text)
        pending = self._open(message, message.method, client)
        if message.method == "tools/list":
            pending.cursor = _cursor(message)
        self._pending[message.id] = pending  # after all that may refuse the request, or its id would stay in use
        if message.method != "tools/call":
            return Step(to_server=message.raw)
        try:
            step = await self._call(message, pending, client)
        except BaseException:
            self._pending.pop(message.id, None)
            if pending.call is not None:
                self._server.path.conclude(pending.call, Status.CANCELLED, rule="client.left", reason=LEFT)
            raise
        if step.to_server is None:
            self._pending.pop(message.id, None)
            if pending.ended:
                return Step(to_client=error_reply(message.id, UPSTREAM_FAILED, pending.ended))
        return step

    def _discover(self, client: Client | None) -> None:
        self._server.learner.discover(self._list_page, self._view, asker=self._caller(client))

    def _open(self, message: Message, method: str, client: Client | None) -> Pending:
        meta = message.meta() if message.may_mention("_meta") else {}
        now = self._server.now()
        pending = Pending(method, META_VERSION in meta, touched=now, began=now)
        if pending.is_modern:
            self._view = _view(meta.get(META_CAPABILITIES))
            self._meta = {key: meta[key] for key in (META_VERSION, META_CAPABILITIES, META_CLIENT) if key in meta}
            if method != "server/discover" and not self._server.learner.has_discovered:
                # A probe is not yet a way of speaking: a legacy server would refuse our list, or give half of one.
                self._discover(client)
        elif method == "initialize":
            self._meta = {}  # the client tried the modern way and fell back
            self._view = _view(message.params().get("capabilities"))
            self._greeting = asyncio.get_running_loop().create_future()
        if "progressToken" in meta:
            pending.progress_token = _request_id(meta["progressToken"])
        if method in _HEARS_OF_TASKS:
            self._asker = self._caller(client)
            if method in TASK_METHODS:
                pending.task_id = read_task_id(message.params()) or ""  # a result without an owner is still told of
        return pending

    async def _call(self, message: Message, pending: Pending, client: Client | None) -> Step:
        assert message.id is not None
        params = message.params()
        tool = _name(params)
        if tool is None:
            text = "params.name must be the name of a tool. Add it and call again."
            self._server.journal.diagnose(self._server.name, REFUSED, f"A request was refused: {text}")
            return Step(to_client=error_reply(message.id, INVALID_PARAMS, text))
        server = self._server
        caller = self._caller(client)
        try:
            place = None if server.places is None else server.places.open(server.name, caller)
        except NoPlace as problem:
            return self._turn_away(message, client, problem.rule, str(problem), code=UPSTREAM_FAILED)
        policy = server.policy_of(tool)
        is_strict = policy.blocks_unknown_tools
        call = server.path.open(
            server=server.name, tool=scrub_name(tool), policy=policy, contract=None, actor=server.actor
        )
        pending.call = call
        self.has_called = True
        call.caller = self._asker = caller
        call.release = None if place is None else place.release
        pending.tool = tool
        if (policy.judges or is_strict) and not await self._find_contract(call, tool, client, must_be_listed=is_strict):
            return NOTHING  # cancelled, given up or left meanwhile
        contract = call.contract
        pending.asks_for_task = "task" in params
        given = params.get("arguments")
        arguments = None if given is None else bytes(given)
        try:
            if contract is None and is_strict:
                return Step(to_client=await self._refuse_unknown(message.id, call, arguments))
            decision = await server.path.admit(call, arguments)
        except RecordingFailed as problem:
            server.path.conclude(call, Status.ERROR, rule="recording.failed", reason=str(problem))
            return Step(to_client=error_reply(message.id, RECORDING_FAILED, str(problem)))
        if isinstance(decision, Blocked):
            return Step(to_client=_refusal(message.id, decision.reason, policy, is_modern=pending.is_modern))
        if pending.is_cancelled or pending.ended:
            return NOTHING  # while it was being judged: it never reaches the tool
        if place is not None:
            try:
                place.ask(len(message.raw))
                if not place.is_granted:
                    await self._wait_in_line(place, pending, call, client)
            except NoPlace as problem:
                return Step(to_client=self.fail(message.id, pending, str(problem), rule=problem.rule))
            if call.is_recorded:
                return NOTHING  # cancelled while it waited
        return Step(to_server=message.raw)

    async def _refuse_unknown(self, request_id: RequestId, call: Exchange, arguments: bytes | None) -> bytes:
        """Nothing is known to judge the call by, and this tool is held too firmly to let it pass."""
        is_listed = self._server.learner.contracts.is_complete(self._view)
        violation = UNLISTED if is_listed else LIST_UNAVAILABLE
        await self._server.path.refuse(call, arguments, violation)
        return error_reply(request_id, INVALID_PARAMS if is_listed else UPSTREAM_FAILED, violation.message)

    async def _wait_in_line(self, place: Place, pending: Pending, call: Exchange, client: Client | None) -> None:
        """However the wait ends, the record of the call gives the place back. Raises: NoPlace."""
        began = self._server.now()
        pending.place = place
        pending.touched = inf
        if client is not None:
            # A legacy client may come back for an answer that has begun, but not for one to a call that has not.
            reason = "The client left while the call waited, so it never reached the server."
            client.watch(lambda: self._server.path.conclude(call, Status.CANCELLED, reason=reason))
        try:
            await place.granted()
        finally:
            if client is not None:
                client.unwatch()
            pending.place = None
            pending.began = pending.touched = self._server.now()
            call.details["queued_ms"] = round((pending.touched - began) * 1000, 3)

    def _caller(self, client: Client | None) -> Caller:
        """Who has a turn of its own, as in `callers`; no digest is made of a name that is kept nowhere."""
        known = (client.actor if client is not None else "") or self.session or self.caller
        if known:
            return known
        return (client.peer if client is not None else "", bytes(self._meta.get(META_CLIENT, b"")))

    def _holder(self) -> Holder:
        """Whose the tasks are. A session may have a process of its own, so one caller's sessions are told apart."""
        asker = self._asker
        name = asker.decode("latin-1") if isinstance(asker, bytes) else asker
        address = self.address
        if isinstance(name, tuple):
            peer, client = name
            name = name_caller(peer, client)
            address = address or address_of(peer, name)
        return Holder(self.session.decode("latin-1") if self.session else name, address or name)

    async def _find_contract(self, call: Exchange, tool: str, client: Client | None, *, must_be_listed: bool) -> bool:
        """What the tool promises; asked for once the server has greeted, which may take npx a while.

        False where the call is over by then.
        """
        learner = self._server.learner
        if self._greeting is None and learner.knows(tool, self._view, must_be_listed=must_be_listed):
            call.contract = learner.contracts.find(tool)
            return True
        if client is not None:
            client.watch(lambda: self._leave(call))
        try:
            if self._greeting is not None:
                await asyncio.wait({self._greeting}, timeout=_GREETING_SECONDS)
            call.contract = await learner.find(
                tool, self._list_page, self._view, must_be_listed=must_be_listed, asker=call.caller
            )
        finally:
            if client is not None:
                client.unwatch()
        return not call.is_recorded

    def _leave(self, call: Exchange) -> None:
        self._server.path.conclude(call, Status.CANCELLED, rule="client.left", reason=LEFT)

    def abandon(self, message: Message) -> None:
        """Put on record a call whose client left before anything was done about it."""
        call = self._open_unsent(message)
        if call is not None:
            self._leave(call)

    def _turn_away(
        self, message: Message, client: Client | None, rule: str, text: str, *, code: int = INVALID_REQUEST
    ) -> Step:
        """Refuse a request before anything is done about it. A call is on record all the same."""
        call = self._open_unsent(message)
        if call is not None:
            call.caller = self._caller(client)
            self._server.path.conclude(call, Status.ERROR, rule=rule, reason=text, refusal=())
        return Step(to_client=error_reply(message.id, code, text))

    def _open_unsent(self, message: Message) -> Exchange | None:
        """A call that will not reach the server, to be recorded; None where the message is no call of a tool."""
        tool = _name(message.params()) if message.method == "tools/call" and message.is_request else None
        if tool is None:
            return None
        server, policy = self._server, self._server.policy_of(tool)
        return server.path.open(
            server=server.name, tool=scrub_name(tool), policy=policy, contract=None, actor=server.actor
        )

    # --- from the server -----------------------------------------------------------------------------------------

    async def from_server(self, message: Message) -> bytes | None:
        """What the client gets for one message of the server's; None when nothing."""
        if message.is_request:
            assert message.id is not None
            if len(self._asked_by_server) < _OPEN_REQUESTS:
                self._asked_by_server.add(message.id)
            return message.raw
        if message.is_notification:
            if message.method == "notifications/tools/list_changed":
                self._server.learner.refresh(self._list_page, self._view)
            elif message.method == "notifications/progress":
                self._progressed(message)
            elif message.method in TASK_NOTIFICATIONS:
                return await self._server.tasks.settle_notification(message, self._holder())
            return message.raw
        pending = self._pending.pop(message.id, None) if message.id is not None else None
        if pending is None:
            self.note_unpaired("server")
            return None
        if pending.method == "initialize":
            self.stop_waiting()
        if pending.call is not None:
            return await self._settle(pending.call, pending, message)
        if pending.task_id is not None:
            return await self._server.tasks.settle_answer(
                message, pending.task_id, pending.method, self._holder(), is_modern=pending.is_modern
            )
        if pending.method == "tools/list" and not message.has_error:
            return await learn_list(self._server, message, cursor=pending.cursor, view=self._view)
        return message.raw

    def find_sent(self, number: RequestId | None) -> Alias | None:
        """The open request that an HTTP server knows by this number."""
        for pending in self._pending.values():
            if pending.alias is not None and pending.alias.number == number:
                return pending.alias
        return None

    def note_unreadable(self, problem: BadMessage) -> None:
        reason = f"Dropped from the server: {problem.reason}"
        self._server.journal.diagnose(self._server.name, "message.unreadable", reason)

    async def refuse_answer(self, problem: BadMessage) -> bytes | None:
        """The server sent something that is no message; the request it names, if any, gets an error."""
        self.note_unreadable(problem)
        pending = self._pending.pop(problem.id, None) if problem.id is not None else None
        if pending is None or problem.id is None:
            return None
        return self.fail(problem.id, pending, f"The server's answer could not be used: {problem.reason}")

    def refuse_overlong(self, head: bytes, limit: int) -> bytes | None:
        """As `note_overlong`; the call it would have answered gets an error where it can be known which one that is."""
        self.note_overlong(limit)
        request_id = id_in_head(head)
        if request_id is None and len(self._pending) == 1:
            (request_id,) = self._pending
        pending = self._pending.pop(request_id, None) if request_id is not None else None
        if pending is None or request_id is None:
            return None
        return self.fail(request_id, pending, overlong_text(limit))

    def note_overlong(self, limit: int) -> None:
        """The server sent a message that is too large to be looked at, so it goes nowhere."""
        reason = f"A message over the limit of {limit} bytes was dropped."
        self._server.journal.diagnose(self._server.name, "message.too_large", reason)

    def fail(
        self,
        request_id: RequestId,
        pending: Pending,
        text: str,
        *,
        code: int = UPSTREAM_FAILED,
        rule: str = "upstream.failed",
    ) -> bytes:
        """Answer a request that will get no answer from the server."""
        if pending.call is not None:
            self._server.path.conclude(pending.call, Status.ERROR, rule=rule, reason=text)
        return error_reply(request_id, code, text)

    async def refuse_foreign(self, request_id: RequestId, pending: Pending, problem: Foreign) -> bytes:
        """Answer a request that names another caller's task or state, on record and without asking the server."""
        text = str(problem)
        if pending.call is None:
            self._server.journal.diagnose(self._server.name, FOREIGN, f"{pending.method} was refused: {text}")
        else:
            try:
                await self._server.path.block(pending.call, Blocked(FOREIGN, text))
            except RecordingFailed as failure:
                return self.fail(request_id, pending, str(failure), code=RECORDING_FAILED, rule="recording.failed")
        return error_reply(request_id, problem.code, text)

    async def _settle(self, call: Exchange, pending: Pending, message: Message) -> bytes:
        assert message.id is not None
        path = self._server.path
        try:
            if message.has_error:
                path.conclude(call, Status.ERROR, reason="The server answered with a protocol error.")
                await path.durable(call)
                return message.raw
            decision = await self._judge(call, pending, message)
        except RecordingFailed:
            return error_reply(message.id, RECORDING_FAILED, RAN_UNRECORDED)
        if isinstance(decision, Blocked):
            return tool_error(message.id, blocked_text(call.tool, decision.reason), is_modern=pending.is_modern)
        return message.raw

    async def _judge(self, call: Exchange, pending: Pending, message: Message) -> Decision:
        server = self._server
        try:
            result = message.result() or {}
            view = view_result(result, len(message.raw), is_modern=pending.is_modern)
            is_task = pending.asks_for_task or not view.is_final
            tasks = created_tasks(result, is_modern=pending.is_modern) if is_task else None
        except (AmbiguousKeys, NotJson) as problem:
            return await server.path.reject(call, ambiguous_violation(str(problem)))
        if tasks:
            return await server.tasks.begin(call, pending.tool, tasks, read_task(result, view.size), self._holder())
        if "task" in result:
            view = await self._find_wrong(call, result, view)
        return await server.path.settle(call, view)

    async def _find_wrong(self, call: Exchange, result: Members, view: ResultView) -> ResultView:
        """The result that some client could find beside the one that the call is answered with, if it is wrong."""
        for found in read_task(result, view.size).results:
            if not isinstance(await self._server.path.judge(call, found), Allowed):
                return found
        return view

    def _progressed(self, message: Message) -> None:
        try:
            token = _request_id(message.params().get("progressToken"))
        except (AmbiguousKeys, NotJson):
            return
        for pending in self._pending.values():
            if pending.progress_token == token:
                pending.touched = self._server.now()

    def note_unpaired(self, side: str) -> None:
        reason = f"An answer from the {side} belongs to no open request and was dropped."
        self._server.journal.diagnose(self._server.name, "message.unpaired", reason)


def is_sign_of_life(message: Message, pending: Pending) -> bool:
    """Whether a call that brings this is getting on: its own progress, or a question to the client; babble is not."""
    if message.is_request:
        return True
    if message.method != "notifications/progress" or pending.progress_token is None:
        return False
    try:
        return _request_id(message.params().get("progressToken")) == pending.progress_token
    except (AmbiguousKeys, NotJson):
        return False


def overlong_text(limit: int) -> str:
    return f"The server's answer is over the limit of {limit} bytes and was dropped. Ask for less at a time."


def _refusal(request_id: RequestId, text: str, policy: ToolPolicy, *, is_modern: bool) -> bytes:
    if policy.input.errors is InputErrors.PROTOCOL:
        return error_reply(request_id, INVALID_PARAMS, text)
    return tool_error(request_id, text, is_modern=is_modern)


def _name(params: Members) -> str | None:
    try:
        return msgspec.json.decode(params["name"], type=str)
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _view(capabilities: msgspec.Raw | None) -> bytes:
    found = b"" if capabilities is None else bytes(capabilities)
    return b"" if found == b"{}" else short_key(found)


def _cursor(message: Message) -> bytes | None:
    cursor = message.params().get("cursor")
    return None if cursor is None or bytes(cursor) == b"null" else bytes(cursor)


def _request_id(text: msgspec.Raw | None) -> RequestId:
    try:
        value: RequestId = msgspec.json.decode(text or b'""', type=str | int | float)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return value
