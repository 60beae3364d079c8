"""The calls of one client to one server: admitted before they are forwarded, settled when their answers come.

Sending, receiving, and pairing answers with requests are the business of `conversation`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any, NamedTuple, Protocol

from handfast.core.access.identity import Identity
from handfast.core.access.permissions import Denied, deny_call, may_call
from handfast.core.access.scopes import ScopeKind
from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.contract import LIST_UNAVAILABLE, UNLISTED
from handfast.core.call.exchange import RAN_UNRECORDED, Exchange, RecordingFailed, Status
from handfast.core.call.policy import Allowed, Blocked, Decision, InputErrors, ToolPolicy, Violation
from handfast.core.call.result import ResultView, ambiguous_violation, blocked_text
from handfast.core.words.redaction import scrub_name
from handfast.core.words.wording import META_VIOLATIONS
from handfast.gateway.admission.call_places import NoPlace, Place
from handfast.gateway.callers.caller_ids import Foreign
from handfast.gateway.calls.pending import Pending
from handfast.gateway.calls.result_view import view_result
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.calls.task_results import created_tasks, read_task
from handfast.wire.codes import INVALID_PARAMS, INVALID_REQUEST, RECORDING_FAILED, UPSTREAM_FAILED
from handfast.wire.message import AmbiguousKeys, Members, Message, RequestId
from handfast.wire.replies import error_reply, tool_error
from handfast.wire.scan import NotJson

_GREETING_SECONDS = 60.0

LEFT = "The client left before the call reached its server, so the tool did not run."


class Step(NamedTuple):
    """What follows from one message: something to send on, something to answer, or nothing."""

    to_server: bytes | None = None
    to_client: bytes | None = None


NOTHING = Step()


class Client(Protocol):
    """The connection of the client that waits for an answer; it says when the client leaves."""

    caller: Caller

    def watch(self, on_left: Callable[[], None]) -> None: ...
    def unwatch(self) -> None: ...


AskForPage = Callable[[Any, bytes | None], Awaitable[Message]]  # Any: the conversation, which is built on this


class JudgedCalls:
    def __init__(self, server: ServerSide, ask_for_page: AskForPage, caller: Caller) -> None:
        self._server = server
        self._ask_for_page = ask_for_page
        self._greeting: asyncio.Future[None] | None = None  # while initialize is under way
        self.caller = caller
        self.session: bytes | None = None  # the session's id, while answers in it can be resumed
        self.has_called = False
        self._meta: Members = {}  # how a modern client introduced itself; empty for a legacy one
        self._view = b""  # a key of the client's capabilities, if it has any: a server may list other tools by them

    def _open_call(self, pending: Pending, tool: str) -> tuple[Exchange, Place | None]:
        """Opens a call, which will be recorded; its record gives back its place at the server. Raises: NoPlace."""
        server = self._server
        place = None if server.places is None else server.places.open(server.name, self.caller.key)
        policy = server.policy_of(tool)
        call = server.path.open(server=server.name, tool=scrub_name(tool), policy=policy, caller=pending.caller)
        pending.call, pending.tool = call, tool
        self.has_called = True
        call.release = None if place is None else place.release
        return call, place

    async def admit_call(self, message: Message, pending: Pending, client: Client | None) -> Step:
        """Judges a tools/call and waits for its place at the server; then it goes on, or is answered here."""
        assert message.id is not None
        params = message.params()
        tool = message.called_tool()
        if tool is None:
            text = "params.name must be the name of a tool. Add it and call again."
            self._server.journal.diagnose(self._server.name, rules.REQUEST_REFUSED, f"A request was refused: {text}")
            return Step(to_client=error_reply(message.id, INVALID_PARAMS, text))
        server = self._server
        try:
            call, place = self._open_call(pending, tool)
        except NoPlace as problem:
            return self.turn_away(message, problem.rule, str(problem), code=UPSTREAM_FAILED)
        policy = call.policy
        is_strict = policy.blocks_unknown_tools
        identity = pending.caller.identity
        needs_contract = policy.judges or is_strict or (identity is not None and self._kind_of(tool) is None)
        if needs_contract and not await self._find_contract(call, tool, client, must_be_listed=is_strict):
            return NOTHING  # cancelled, given up, or its client left meanwhile
        pending.asks_for_task = "task" in params
        given = params.get("arguments")
        arguments = None if given is None else bytes(given)
        try:
            denied = None if identity is None else self._deny_call(tool, identity)
            if denied is not None or (call.contract is None and is_strict):
                return Step(to_client=await self._refuse_unjudged(message.id, pending, arguments, denied))
            decision = await server.path.admit(call, arguments)
        except RecordingFailed as problem:
            server.path.conclude(call, Status.ERROR, rule=rules.RECORDING_FAILED, reason=str(problem))
            return Step(to_client=error_reply(message.id, RECORDING_FAILED, str(problem)))
        if isinstance(decision, Blocked):
            return Step(to_client=_refusal(message.id, decision, policy, is_modern=pending.is_modern))
        if pending.is_cancelled or pending.ended:
            return NOTHING  # while it was being judged: the call never reaches the tool
        if place is not None:
            try:
                place.ask(len(message.raw))
                if not place.is_granted:
                    await self._wait_in_line(place, pending, call, client)
            except NoPlace as problem:
                return Step(to_client=self.fail(message.id, pending, str(problem), rule=problem.rule))
        if call.end is not None:
            return NOTHING  # cancelled while it waited, or its time was over while it was judged
        return Step(to_server=message.raw)

    def _kind_of(self, tool: str) -> ScopeKind | None:
        contract = self._server.learner.contracts.find(tool)
        return None if contract is None else contract.kind

    def _deny_call(self, tool: str, identity: Identity) -> Denied | None:
        """Why the caller may not call a tool; one that is not known may do anything."""
        server, kind = self._server.name, self._kind_of(tool) or "admin"
        return None if may_call(identity, server, tool, kind) else deny_call(server, tool, kind)

    async def _refuse_unjudged(
        self, request_id: RequestId, pending: Pending, arguments: bytes | None, denied: Denied | None
    ) -> bytes:
        """Refuses a call to which its caller has no right, or whose tool must be known and is not."""
        call = pending.call
        assert call is not None
        if denied is None:
            return await self._refuse_unknown(request_id, call, arguments)
        await self._server.path.refuse(call, arguments, Violation(rules.ACCESS_SCOPE, denied.text))
        return tool_error(request_id, denied.text, is_modern=pending.is_modern)

    async def _refuse_unknown(self, request_id: RequestId, call: Exchange, arguments: bytes | None) -> bytes:
        """Refuses a call without a contract, because its policy blocks unknown tools."""
        is_listed = self._server.learner.contracts.is_complete(self._view)
        violation = UNLISTED if is_listed else LIST_UNAVAILABLE
        await self._server.path.refuse(call, arguments, violation)
        return error_reply(request_id, INVALID_PARAMS if is_listed else UPSTREAM_FAILED, violation.message)

    async def _wait_in_line(self, place: Place, pending: Pending, call: Exchange, client: Client | None) -> None:
        """Waits for the place, which the record of the call gives back however the wait ends. Raises: NoPlace."""
        began = self._server.now()
        pending.place = place
        pending.touched = inf
        if client is not None:
            # A legacy client may resume an answer that has begun, but not that of a call that has not.
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

    async def _find_contract(self, call: Exchange, tool: str, client: Client | None, *, must_be_listed: bool) -> bool:
        """Finds the contract of the tool; asks for it once the server has greeted, which may take npx a while.

        Returns False if the call is over by then.
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
                tool, self._list_page, self._view, must_be_listed=must_be_listed, asker=self.caller.key
            )
        finally:
            if client is not None:
                client.unwatch()
        return call.end is None

    def _leave(self, call: Exchange) -> None:
        self._server.path.conclude(call, Status.CANCELLED, rule=rules.CLIENT_LEFT, reason=LEFT)

    def abandon(self, message: Message) -> None:
        """Puts on record a call whose client left before anything was done about it."""
        call = self._open_unsent(message)
        if call is not None:
            self._leave(call)

    def turn_away(self, message: Message, rule: str, text: str, *, code: int = INVALID_REQUEST) -> Step:
        """Refuses a request before anything is done about it. A call is recorded nevertheless."""
        call = self._open_unsent(message)
        if call is not None:
            self._server.path.conclude(call, Status.ERROR, rule=rule, reason=text, refusal=())
        return Step(to_client=error_reply(message.id, code, text))

    def _open_unsent(self, message: Message) -> Exchange | None:
        """Opens a call that will not reach the server; None if the message is not a call. Raises: AmbiguousKeys."""
        if message.method != "tools/call" or not message.is_request:
            return None
        message.params()  # raises for ambiguous keys
        tool = message.called_tool()
        if tool is None:
            return None
        server, policy = self._server, self._server.policy_of(tool)
        return server.path.open(server=server.name, tool=scrub_name(tool), policy=policy, caller=self.caller)

    def _list_page(self, cursor: bytes | None) -> Awaitable[Message]:
        # A method, not a stored callable: a conversation that refers to itself would be left to the garbage collector.
        return self._ask_for_page(self, cursor)

    async def settle_call(self, call: Exchange, pending: Pending, message: Message) -> bytes:
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
            return await server.tasks.begin(call, pending.tool, tasks, read_task(result, view.size))
        if "task" in result:
            view = await self._find_wrong(call, result, view)
        return await server.path.settle(call, view)

    async def _find_wrong(self, call: Exchange, result: Members, view: ResultView) -> ResultView:
        """Returns the first result in a task that is not allowed, as some client could find it, else the call's own."""
        for found in read_task(result, view.size).results:
            if not isinstance(await self._server.path.judge(call, found), Allowed):
                return found
        return view

    def fail(
        self,
        request_id: RequestId,
        pending: Pending,
        text: str,
        *,
        code: int = UPSTREAM_FAILED,
        rule: str = rules.UPSTREAM_FAILED,
    ) -> bytes:
        """Answers a request that will get no answer from the server."""
        if pending.call is not None:
            self._server.path.conclude(pending.call, Status.ERROR, rule=rule, reason=text)
        return error_reply(request_id, code, text)

    async def refuse_foreign(self, request_id: RequestId, pending: Pending, problem: Foreign) -> bytes:
        """Answers a request that names another caller's task or state, on record and without asking the server."""
        text = str(problem)
        if pending.call is None:
            self._server.journal.diagnose(
                self._server.name, rules.ACCESS_FOREIGN, f"{pending.method} was refused: {text}"
            )
        else:
            try:
                await self._server.path.block(pending.call, Blocked(rules.ACCESS_FOREIGN, text))
            except RecordingFailed as failure:
                return self.fail(request_id, pending, str(failure), code=RECORDING_FAILED, rule=rules.RECORDING_FAILED)
        return error_reply(request_id, problem.code, text)


def _refusal(request_id: RequestId, refused: Blocked, policy: ToolPolicy, *, is_modern: bool) -> bytes:
    if policy.input.errors is InputErrors.PROTOCOL:
        return error_reply(request_id, INVALID_PARAMS, refused.reason)
    meta = {META_VIOLATIONS: refused.facts} if refused.facts else None
    return tool_error(request_id, refused.reason, is_modern=is_modern, meta=meta)
