"""One legacy client in front of a Backend, over any transport."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Final

import msgspec

from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.gateway.calls.flow import Flow
from handfast.gateway.calls.refused_requests import note_refused
from handfast.gateway.sessions.session_table import INITIALIZED
from handfast.gateway.translate.backend import Backend, Requester, ignore
from handfast.gateway.translate.clients.input_rounds import settle
from handfast.gateway.translate.clients.listening import Subscriptions
from handfast.gateway.translate.clients.questions import CannotContinue, Question, Questions
from handfast.turns import LARGE_BYTES, take_turn
from handfast.wire.codes import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, UPSTREAM_FAILED
from handfast.wire.eras import (
    LEGACY_REVISION,
    LEGACY_REVISIONS,
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_VERSION,
    MODERN_REVISION,
)
from handfast.wire.members import level_of, member, text_member
from handfast.wire.message import AmbiguousKeys, BadMessage, Members, Message, RequestId, read_level, read_message
from handfast.wire.methods import LIST_CHANGES, ONLY_MODERN
from handfast.wire.modern_request import find_ambiguity
from handfast.wire.replies import answer, error_reply, request
from handfast.wire.scan import NotJson
from handfast.wire.translate import greeting_of, to_legacy_answer

_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_BOTH_ERAS: Final = ("experimental", "sampling", "elicitation", "roots")  # capabilities of a client
# Requests of one client under way; a client with more is broken. On stdio, answers to questions come on the same pipe,
# so the pipe cannot simply be left unread.
_OPEN: Final = 1000
_UNUSABLE: Final = "The server's answer was not usable."

Send = Callable[[bytes], None]
Diagnose = Callable[[str, str], None]  # a rule, and the reason
RecordRefused = Callable[[Message, Caller, str, str], None]  # a request, its caller, a rule, and the reason


def record_nothing(_message: Message, _caller: Caller, _rule: str, _reason: str) -> None:
    """For fronts whose refusals are not recorded."""


def check_open(message: Message, open_requests: Mapping[RequestId, object]) -> tuple[str, str, int] | None:
    """Why a request cannot begin beside those that are under way: a rule, a text and a code."""
    if message.id in open_requests:
        return rules.MESSAGE_ID_IN_USE, "This id is that of a request under way. Use each id once.", INVALID_REQUEST
    if len(open_requests) >= _OPEN:
        text = f"There are {_OPEN} requests under way already. Wait for some of their answers."
        return rules.CALLS_FULL, text, UPSTREAM_FAILED
    return None


class LegacyClient:
    def __init__(
        self,
        backend: Backend,
        deliver: Send,
        *,
        caller: Caller,
        diagnose: Diagnose,
        question_seconds: float | None = None,
        record_refused: RecordRefused = record_nothing,
    ) -> None:
        self._record_refused = record_refused
        self._backend = backend
        self._deliver = deliver  # takes messages that belong to no request
        self._caller = caller
        self._diagnose = diagnose
        self._question_seconds = question_seconds
        self._envelope: Members = {}  # what every request says of the client in its `_meta`
        self._questions = Questions(b"{}", seconds=None)
        self._listening: Subscriptions | None = None
        self._greeting: asyncio.Future[bool] | None = None  # whether the handshake succeeded, once that is known
        self._is_ready = False  # the client has sent notifications/initialized
        self._is_closed = False
        self._ending = ""  # the error text of requests that end with the client's session
        self._open: dict[RequestId, asyncio.Task[bytes]] = {}
        self._ids = count(1)

    @property
    def is_busy(self) -> bool:
        return bool(self._open)

    def close(self, reason: str = "") -> None:
        """Cancels the requests of a client that is gone, and answers them with the reason where there is one."""
        self._is_closed = True
        self._ending = reason
        for task in self._open.values():
            task.cancel(reason or None)
        if self._listening is not None:
            self._listening.close()

    def leave(self) -> None:
        """Fails open questions and ends subscriptions of a client that sends nothing more, but may still read."""
        self._questions.fail_all("The client left before it answered what the server asked for.")
        if self._listening is not None:
            self._listening.close()

    # --- from the client -------------------------------------------------------------------------------------------

    async def request(
        self, message: Message, send: Send, flow: Flow | None = None, *, caller: Caller | None = None
    ) -> bytes | None:
        """The answer; None where the client cancelled the request. `send` takes the messages that come before it.

        `caller` has the rights of this request, where its tokens may change.
        """
        assert message.id is not None
        if self._is_closed:
            return self._give_up(message.id)
        if (refusal := check_open(message, self._open)) is not None:
            rule, text, code = refusal
            self._record_refused(message, self._caller, rule, text)
            return error_reply(message.id, code, text)
        task = asyncio.create_task(self._answer(message, send, flow, caller or self._caller), name=message.method)
        self._open[message.id] = task
        try:
            await asyncio.wait((task,))
        finally:
            del self._open[message.id]
            task.cancel()
        return self._give_up(message.id) if task.cancelled() else task.result()

    def _give_up(self, request_id: RequestId) -> bytes | None:
        return error_reply(request_id, UPSTREAM_FAILED, self._ending) if self._ending else None

    def take(self, message: Message) -> None:
        """Takes a notification or an answer of the client's."""
        if message.is_answer:
            if not self._questions.take(message):
                self._diagnose(
                    rules.MESSAGE_UNPAIRED, "An answer from the client belongs to no open request and was dropped."
                )
        elif message.method == "notifications/initialized":
            self._is_ready = True
            self._listen()
        elif message.method == "notifications/cancelled":
            task = self._open.get(cancelled_id(message))
            if task is not None and task.get_name() != "initialize":
                task.cancel()
        # A modern server gets no other notification: it asks for roots when it needs them.

    # --- requests --------------------------------------------------------------------------------------------------

    async def _answer(self, message: Message, send: Send, flow: Flow | None, caller: Caller) -> bytes:
        fault = find_ambiguity(message)
        if fault is None and message.method not in ("ping", "initialize") and not await self._is_greeted():
            fault = error_reply(message.id, INVALID_REQUEST, "There was no initialize yet. Send it first.")
        if fault is not None:
            return note_refused(self._diagnose, message, fault)
        if message.method == "ping":
            return answer(message.id, {})
        try:
            if message.method == "initialize":
                return await self._greet(message)
            return await self._answer_in_session(message, send, flow, caller)
        except CannotContinue as problem:
            return error_reply(message.id, problem.code, problem.text)
        except (AmbiguousKeys, NotJson, BadMessage):
            self._diagnose(rules.MESSAGE_UNREADABLE, "An answer from the server could not be used.")
            return error_reply(message.id, UPSTREAM_FAILED, _UNUSABLE)

    async def _is_greeted(self) -> bool:
        """Whether the handshake succeeded; waits for it, as eager clients send requests before its answer."""
        return self._greeting is not None and await asyncio.shield(self._greeting)

    async def _answer_in_session(self, message: Message, send: Send, flow: Flow | None, caller: Caller) -> bytes:
        if message.method == "logging/setLevel":
            self._set_level(message)
        elif message.method == "resources/subscribe":
            await self._subscriptions().subscribe(_uri(message), partial(self._listen_to, caller=caller))
        elif message.method == "resources/unsubscribe":
            await self._subscriptions().unsubscribe(_uri(message))
        elif message.method in ONLY_MODERN or (message.method or "").startswith("tasks/"):
            raise CannotContinue(f"There is no {message.method} here for this revision.", code=METHOD_NOT_FOUND)
        else:
            return await self._relay(message, send, flow, caller)
        return answer(message.id, {})

    def _set_level(self, message: Message) -> None:
        level = text_member(message.params(), "level")
        if level not in _LEVELS:
            raise CannotContinue(f"The level must be one of {', '.join(_LEVELS)}.", code=INVALID_PARAMS)
        self._envelope[META_LOG_LEVEL] = msgspec.Raw(msgspec.json.encode(level))

    async def _relay(self, message: Message, send: Send, flow: Flow | None, caller: Caller) -> bytes:
        """Raises: CannotContinue, AmbiguousKeys, NotJson, BadMessage."""
        assert message.method is not None
        asked = message.with_meta(self._envelope)
        if message.may_mention("requestState") or message.may_mention("inputResponses"):
            asked = asked.with_members({"requestState": None, "inputResponses": None})  # not members of this revision
        origin = Requester(caller, send, takes_logs=True, flow=flow)

        async def repeat(more: Mapping[str, bytes]) -> Message:
            again = asked.with_members(more).with_id(f"handfast-again-{next(self._ids)}")
            return await self._backend.request(again, origin)

        async def ask(questions: Mapping[str, Question]) -> bytes:
            return await self._questions.ask(questions, send)

        first = await self._backend.request(asked, origin)
        found = await settle(first, message.method, repeat=repeat, ask=ask)
        if len(found.raw) >= LARGE_BYTES:
            await take_turn()
        return to_legacy_answer(found, message.method).with_id(message.id).raw

    # --- the handshake ---------------------------------------------------------------------------------------------

    async def _greet(self, message: Message) -> bytes:
        """Raises: CannotContinue, AmbiguousKeys, NotJson, BadMessage."""
        if self._greeting is not None:
            self._diagnose(rules.SESSION_INITIALIZED, f"initialize was refused. {INITIALIZED}")
            raise CannotContinue(INITIALIZED, code=INVALID_REQUEST)
        self._greeting = asyncio.get_running_loop().create_future()
        is_greeted = False
        try:
            asked_for = text_member(message.params(), "protocolVersion")
            version = asked_for if asked_for in LEGACY_REVISIONS else LEGACY_REVISION
            self._introduce(message.params())
            discover = read_message(request("handfast-discover", "server/discover", {"_meta": self._envelope}))
            origin = Requester(self._caller, ignore)
            found = await self._backend.request(discover, origin)
            if found.has_error:
                return to_legacy_answer(found, "initialize").with_id(message.id).raw
            discovery = found.result()
            if discovery is None:
                raise CannotContinue(_UNUSABLE)
            greeting = greeting_of(discovery, version)
            self._listening = Subscriptions(self._listen_to, self._deliver, _offered(greeting["capabilities"]))
            is_greeted = True
        finally:
            self._greeting.set_result(is_greeted)
            if not is_greeted:
                self._greeting = None  # the client may try again
        if self._is_ready:
            self._listen()
        return answer(message.id, greeting)

    def _introduce(self, params: Members) -> None:
        """Puts what the client said of itself into the `_meta` of all later requests. Raises: CannotContinue."""
        try:
            declared = read_level(member(params, "capabilities") or b"{}")
        except (AmbiguousKeys, NotJson):
            raise CannotContinue("The capabilities of the client cannot be read.", code=INVALID_PARAMS) from None
        capabilities = msgspec.json.encode({name: declared[name] for name in _BOTH_ERAS if name in declared})
        self._questions = Questions(capabilities, seconds=self._question_seconds)
        version = msgspec.json.encode(MODERN_REVISION)
        self._envelope = {META_VERSION: msgspec.Raw(version), META_CAPABILITIES: msgspec.Raw(capabilities)}
        client = member(params, "clientInfo")
        if client is not None:
            self._envelope[META_CLIENT] = msgspec.Raw(client)

    # --- notifications outside requests ----------------------------------------------------------------------------

    def _listen(self) -> None:
        if self._listening is not None:
            self._listening.begin()

    def _subscriptions(self) -> Subscriptions:
        assert self._listening is not None
        return self._listening

    async def _listen_to(self, raw: bytes, send: Send, *, caller: Caller | None = None) -> Message:
        message = read_message(raw).with_meta(self._envelope)
        return await self._backend.request(message, Requester(caller or self._caller, send))


def _offered(capabilities: Mapping[str, msgspec.Raw]) -> tuple[str, ...]:
    """The lists whose changes the server announces."""
    found = dict(capabilities)
    return tuple(
        flag
        for flag, (capability, _notification) in LIST_CHANGES.items()
        if member(level_of(member(found, capability)), "listChanged") == b"true"
    )


def _uri(message: Message) -> str:
    uri = text_member(message.params(), "uri")
    if uri is None:
        raise CannotContinue("params.uri must be a string.", code=INVALID_PARAMS)
    return uri


def cancelled_id(message: Message) -> RequestId:
    try:
        found: RequestId = msgspec.json.decode(member(message.params(), "requestId") or b'""', type=str | int | float)
    except (AmbiguousKeys, NotJson, msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return found
