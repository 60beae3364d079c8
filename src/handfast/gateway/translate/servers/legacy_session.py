"""A session with a legacy server behind the modern form: its handshake is done, calls that ask are held."""

import asyncio
import re
from collections.abc import Callable
from contextlib import nullcontext
from itertools import count
from typing import Any, Final

import msgspec

from handfast.gateway.callers.caller_ids import Foreign
from handfast.gateway.callers.held_calls import LOST, HeldCalls, TooMuchToHold
from handfast.gateway.http.response import UpstreamFailed, UpstreamTimeout
from handfast.gateway.translate.backend import Requester
from handfast.gateway.translate.servers.legacy_call import LegacyCall, rank_of
from handfast.gateway.translate.servers.legacy_listen import LegacyListens
from handfast.gateway.translate.servers.line import Line
from handfast.gateway.translate.servers.questions import (
    responses_in,
    to_answer,
    to_input_request,
    to_refusal,
    urls_required,
)
from handfast.turns import LARGE_BYTES, take_turn
from handfast.wire.codes import METHOD_NOT_FOUND
from handfast.wire.eras import META_LOG_LEVEL
from handfast.wire.members import level_of, member, text_member
from handfast.wire.message import AmbiguousKeys, Members, Message, RequestId, read_level, read_message
from handfast.wire.methods import CAPABILITY_ASKED, INTERACTIVE
from handfast.wire.replies import answer, answer_message, error_message, error_reply
from handfast.wire.scan import NotJson
from handfast.wire.translate import discovery_of, input_required, to_legacy_request, to_modern_answer

_REVISION: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NO_STATE: Final = (
    "The requestState is not known, not for this request, or has expired. Send the request again without it."
)

_NO_CALL: Final = "The client cannot be asked now: between revisions and at /mcp only a call that is under way can ask."
_SEVERAL: Final = "Several calls are under way, and it cannot be known which one asks. Call this tool again."
_GIVEN_UP: Final = "Another call was given up, and it cannot be known which one asks. Call this tool again."
_LOST: Final = "The server ended while the call waited for its client, so it has no result. Repeat it if that is safe."
_CLOSED: Final = "The session with the server was closed before it answered. Repeat the call if that is safe."


class SeenAsking:
    """Whether one server was seen to ask its clients something without saying which call it is about."""

    def __init__(self) -> None:
        self.was_seen = False


class LegacyServerSession:
    def __init__(
        self,
        line: Line,
        greeting: Members,
        *,
        held: HeldCalls,
        refused: Callable[[str], None],
        seconds: Callable[[], float],
        asking: SeenAsking | None = None,
    ) -> None:
        """`refused` takes the reason where a question is refused. `seconds` is the limit of our own requests.

        `asking` is None in a session whose clients cannot be asked: callers may share it.
        """
        self.line = line
        self._asking = asking
        self._turn = asyncio.Lock()
        self._discovery = discovery_of(greeting)
        self._info = _short_info(member(greeting, "serverInfo"))
        revision = text_member(greeting, "protocolVersion") or ""
        # What tells this server from another version of it; empty where it named no revision, which proves nothing.
        self.mark = b"%s %s" % (revision.encode(), self._info or b"") if _REVISION.fullmatch(revision) else b""
        self._held = held
        self._refused = refused
        self._seconds = seconds
        self._ids = count(1)
        self._calls: dict[int, LegacyCall] = {}  # in the order in which they began
        self._listens = LegacyListens(self, self._discovery["capabilities"])
        self._sending: set[asyncio.Task[None]] = set()
        self._under_way = 0  # requests of clients, those not sent yet included
        self._is_of_one_client = False  # then it is asked whichever of its calls a question is about
        self._log_rank: int | None = None  # of the level that the server was asked to log at
        self._is_unclear = False  # a question was refused because a call that was given up may have asked it
        self.last_used = 0.0
        self.has_called = False

    @property
    def is_idle(self) -> bool:
        return not self._calls and not self._listens and not self._under_way

    @property
    def is_alive(self) -> bool:
        """Whether it takes requests. Where questions are unclear another session takes over, once this one rests.

        Most servers never answer a call that was cancelled, so questions would be refused here for ever. A server that
        never asked keeps its session, with whatever state it has.
        """
        if not self.line.is_alive or self._calls or self._under_way:
            return self.line.is_alive
        has_asked = self._asking is not None and self._asking.was_seen
        return not self._is_unclear and not (has_asked and self._may_be_of_another)

    @property
    def _may_be_of_another(self) -> bool:
        """Whether a question may be about a call that was given up, and by another client than the one to be asked."""
        if self._is_of_one_client:
            return False
        return self.line.has_given_up or any(call.is_given_up for call in self._calls.values())

    async def close(self) -> None:
        calls = list(self._calls.values())
        self.ended()
        for call in calls:
            call.lose(_CLOSED)
        await self.line.close()

    async def finished(self) -> None:
        """Ends subscriptions, whose clients listen again in another session; returns once no call is under way."""
        self._listens.end()
        while running := {call.exchange for call in self._calls.values() if not call.exchange.done()}:
            await asyncio.wait(running)

    def ended(self) -> None:
        """Called when the server is gone: held calls are lost, subscriptions end. Other calls end with their line."""
        self._listens.end()
        calls, self._calls = self._calls, {}
        for call in calls.values():
            self._held.lose(call)

    # --- towards the client ----------------------------------------------------------------------------------------

    async def request(self, message: Message, origin: Requester) -> Message:
        """Raises: UpstreamFailed, Foreign, AmbiguousKeys, NotJson."""
        assert message.method is not None
        if (level := message.meta().get(META_LOG_LEVEL)) is not None:
            await self._log_at(bytes(level))
        if message.method == "server/discover":
            return answer_message(message.id, self._discovery)
        if message.method == "subscriptions/listen":
            return await self._listens.listen(message, origin)
        if message.method.startswith("tasks/"):
            text = "The server's tasks are of an earlier revision and cannot be offered in this one."
            return error_message(message.id, METHOD_NOT_FOUND, text)
        self.has_called = self.has_called or message.method in INTERACTIVE
        is_retry = message.method in INTERACTIVE and member(message.params(), "requestState") is not None
        if not is_retry:
            return await self._run(message, origin)
        held = self._held.claim(text_member(message.params(), "requestState") or "", message, origin.caller.name)
        if isinstance(held, LegacyCall):
            # In the session that the call began in, even where the client's capabilities differ by now.
            return await held.resume(message, origin)
        if held is None:
            raise Foreign(_NO_STATE)
        if held is LOST:
            raise UpstreamFailed(_LOST)
        return await self._run(message, origin)

    async def _run(self, message: Message, origin: Requester, held: LegacyCall | None = None) -> Message:
        """Runs a call until its answer, or until a question that its client must answer.

        Calls to a server that was seen to ask run one at a time, so that a question belongs to a known call. One that
        waits for its client asks nothing meanwhile, and the next may run.
        """
        self._under_way += 1
        try:
            async with self._turn if self._asks(message) else nullcontext():
                if len(message.raw) >= LARGE_BYTES:
                    await take_turn()
                call = self._begin(message, origin) if held is None else self._continue(held, message, origin)
                held = None  # from here on `_step` abandons it
                return await self._step(call, message, origin)
        except asyncio.CancelledError:
            if held is not None:
                held.abandon()  # its requestState is used up, so no retry can continue it
            raise
        finally:
            self._under_way -= 1

    def _asks(self, message: Message) -> bool:
        return self._asking is not None and self._asking.was_seen and message.method in INTERACTIVE

    async def _resume(self, call: LegacyCall, message: Message, origin: Requester) -> Message:
        """Continues a held call with a retry."""
        return await self._run(message, origin, call)

    def _continue(self, call: LegacyCall, message: Message, origin: Requester) -> LegacyCall:
        call.take_up(message, origin)
        for name, response in responses_in(message).items():
            question = call.questions.pop(name, None)
            if question is not None and question.id is not None:
                self._send(to_answer(question.id, response))
        return call

    def _begin(self, message: Message, origin: Requester) -> LegacyCall:
        self._is_of_one_client = origin.caller.is_one_client
        own_id = next(self._ids)
        sent = to_legacy_request(message)
        call = LegacyCall(
            message,
            origin,
            lambda call: self.line.exchange(sent, lambda found: self._deliver(own_id, found), room=call.room),
            on_resume=self._resume,
            on_abandon=lambda: self._abandoned(own_id),
            hold_back=self.line.hold_back,
            on_put_down=sent.forget,
        )
        self._calls[own_id] = call
        call.exchange.add_done_callback(lambda _: self._calls.pop(own_id, None))
        return call

    async def _step(self, call: LegacyCall, message: Message, origin: Requester) -> Message:
        try:
            found = await call.step()
            if found is None and len(message.raw) >= LARGE_BYTES:
                await take_turn()  # a held call is found by a digest of the whole request
        except asyncio.CancelledError:
            call.abandon()
            raise
        if found is None:
            requests = {name: to_input_request(question) for name, question in call.questions.items()}
            call.put_down()
            return input_required(message, requests, self._hold(call, message, origin))
        urls = urls_required(found) if message.method in INTERACTIVE else {}
        if urls:
            return input_required(message, urls, self._hold(_Again(), message, origin))
        assert message.method is not None
        # A held call was sent under the id of the request that began it.
        return to_modern_answer(found, message.method, self._info).with_id(message.id)

    def _hold(self, call: "LegacyCall | _Again", message: Message, origin: Requester) -> str:
        """Raises: UpstreamFailed where it is too much to be held."""
        try:
            return self._held.hold(call, message, origin.caller.name, origin.caller.address)
        except TooMuchToHold as problem:
            call.abandon()
            raise UpstreamFailed(str(problem)) from None

    def _abandoned(self, own_id: int) -> None:
        call = self._calls.get(own_id)
        if call is not None and self.line.is_alive:
            for question in call.questions.values():
                self._send(to_refusal(question))

    # --- from the server -------------------------------------------------------------------------------------------

    def _deliver(self, own_id: int, message: Message) -> None:
        """Takes what belongs to one request and comes before its answer."""
        call = self._calls.get(own_id)
        if call is not None and message.is_request and self._is_askable(message) and call.may_ask:
            call.ask(message)
        elif call is not None and message.method == "notifications/progress":
            call.progress(message)
        elif call is None or message.method != "notifications/message" or not call.log(message):
            self.stray(message)

    def stray(self, message: Message) -> None:
        """Takes a message that does not name the request it belongs to, if any."""
        if message.is_request:
            self._asked(message)
        elif message.method == "notifications/message":
            for call in reversed(self._calls.values()):
                if call.log(message):
                    return
        elif message.method == "notifications/cancelled":
            self._withdrawn(message)
        elif message.is_notification:
            self._listens.notify(message)

    def _asked(self, question: Message) -> None:
        """Gives a question to the only call that it can be about, else refuses it: no other client may answer."""
        assert question.id is not None
        if question.method == "ping":
            self._send(answer(question.id, {}))
            return
        running: list[LegacyCall] = []
        if self._asking is not None and self._is_askable(question):
            self._asking.was_seen = True
            running = [call for call in self._calls.values() if call.may_ask and call.is_running]
        may_be_of_another = self._may_be_of_another
        if len(running) == 1 and not may_be_of_another:
            running[0].ask(question)
            return
        when, text = "outside a call", _NO_CALL
        if running and may_be_of_another:
            self._is_unclear = True
            when, text = "after another call was given up", _GIVEN_UP
        elif running:
            when, text = "while several calls were under way", _SEVERAL
        self._refused(f"The server sent {question.method} {when}, and was refused.")
        self._send(error_reply(question.id, METHOD_NOT_FOUND, text))

    def _is_askable(self, message: Message) -> bool:
        return message.method in CAPABILITY_ASKED

    def _withdrawn(self, message: Message) -> None:
        try:
            question: RequestId = msgspec.json.decode(message.params()["requestId"], type=str | int)
        except (KeyError, AmbiguousKeys, NotJson, msgspec.DecodeError):
            return
        for call in self._calls.values():
            call.withdraw(question)

    # --- to the server ---------------------------------------------------------------------------------------------

    async def _log_at(self, level: bytes) -> None:
        """Makes the server log at least this much; each call passes on what it asked for. Raises: UpstreamFailed."""
        wanted = rank_of(level)
        if wanted is None or (self._log_rank is not None and self._log_rank <= wanted):
            return
        self._log_rank = wanted
        await self.plain("logging/setLevel", {"level": msgspec.Raw(level)})

    async def plain(self, method: str, params: dict[str, Any]) -> Message:  # Any: JSON
        """Sends a request of handfast's own, with its own time limit. Raises: UpstreamFailed."""
        own_id = next(self._ids)
        raw = msgspec.json.encode({"jsonrpc": "2.0", "id": own_id, "method": method, "params": params})
        try:
            async with asyncio.timeout(self._seconds()):
                return await self.line.exchange(read_message(raw), self.stray)
        except TimeoutError:
            raise UpstreamTimeout(f"The server did not answer {method} within {self._seconds():g} s.") from None

    def _send(self, raw: bytes) -> None:
        task = asyncio.create_task(self._send_quietly(raw))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send_quietly(self, raw: bytes) -> None:
        try:
            await self.line.send(raw)
        except UpstreamFailed:
            return  # the call that asked fails by itself


class _Again:
    """Stands in for a call that has ended: its retry is the call once more."""

    size = 0

    def abandon(self) -> None:
        """Does nothing: no call is under way."""


def _short_info(info: bytes | None) -> bytes | None:
    """Name and version, for every result. Icons and the rest, which may be long, are in the discovery."""
    told = level_of(info)
    kept = {name: told[name] for name in ("name", "version") if name in told}
    return msgspec.json.encode(kept) if kept else None


def read_greeting(found: Message) -> Members:
    """The members of an answer to initialize. Raises: UpstreamFailed."""
    try:
        result = read_level(found.raw).get("result")
        if result is not None:
            return read_level(bytes(result))
    except (AmbiguousKeys, NotJson):
        pass
    raise UpstreamFailed("The server's answer to initialize could not be used.")
