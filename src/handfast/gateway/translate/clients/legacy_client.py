"""One client of the handshake's revisions in front of a Backend, whatever carries its messages."""

import asyncio
from collections.abc import Callable, Mapping
from itertools import count
from typing import Final

import msgspec

from handfast.gateway.calls.flow import Flow
from handfast.gateway.calls.refused_requests import note_refused
from handfast.gateway.translate.backend import Backend, Origin, ignore
from handfast.gateway.translate.clients.input_rounds import settle
from handfast.gateway.translate.clients.listening import Listening
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
from handfast.wire.lenient_reading import level_of
from handfast.wire.members import member, text_member
from handfast.wire.message import AmbiguousKeys, BadMessage, Members, Message, RequestId, read_level, read_message
from handfast.wire.modern_request import find_ambiguity
from handfast.wire.replies import answer, error_reply, request
from handfast.wire.reshape import drop, put
from handfast.wire.scan import NotJson
from handfast.wire.splice import replace_values
from handfast.wire.translate import greeting_of, to_legacy_answer, to_modern_request

_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_BOTH_ERAS: Final = ("experimental", "sampling", "elicitation", "roots")  # capabilities of a client
_ONLY_MODERN: Final = frozenset(("server/discover", "subscriptions/listen"))
# Requests of one client under way; one with more is broken. On stdio answers to questions come on the same line, which
# cannot simply be left unread.
_OPEN: Final = 1000
_LISTS: Final = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}
_UNUSABLE: Final = "The server's answer was not usable."

Send = Callable[[bytes], None]
Diagnose = Callable[[str, str], None]  # a rule, and the reason
RecordRefused = Callable[[Message, str, str, str], None]  # a request, the actor, a rule, and the reason


def record_nothing(_message: Message, _actor: str, _rule: str, _reason: str) -> None:
    """For fronts whose refusals are not kept."""


def check_open(message: Message, open_requests: Mapping[RequestId, object]) -> tuple[str, str, int] | None:
    """Why a request cannot begin beside those that are under way: a rule, a text and a code."""
    if message.id in open_requests:
        return "message.id_in_use", "This id is that of a request under way. Use each id once.", INVALID_REQUEST
    if len(open_requests) >= _OPEN:
        text = f"There are {_OPEN} requests under way already. Wait for some of their answers."
        return "calls.full", text, UPSTREAM_FAILED
    return None


class LegacyClient:
    def __init__(
        self,
        backend: Backend,
        deliver: Send,
        *,
        caller: str,
        actor: str = "",
        address: str = "",
        diagnose: Diagnose,
        question_seconds: float | None = None,
        record_refused: RecordRefused = record_nothing,
    ) -> None:
        self._record_refused = record_refused
        self._backend = backend
        self._deliver = deliver  # takes what belongs to no request
        self._caller = caller
        self._actor = actor
        self._address = address
        self._diagnose = diagnose
        self._question_seconds = question_seconds
        self._envelope: dict[str, bytes] = {}
        self._questions = Questions(b"{}", seconds=None)
        self._listening: Listening | None = None
        self._greeting: asyncio.Future[bool] | None = None  # whether the server greeted, once that is known
        self._is_ready = False  # the client has said so
        self._is_closed = False
        self._ending = ""  # what is said to requests that end with the client's session
        self._open: dict[RequestId, asyncio.Task[bytes]] = {}
        self._ids = count(1)

    @property
    def is_busy(self) -> bool:
        return bool(self._open)

    def close(self, reason: str = "") -> None:
        """The client is gone: whatever it asked for is cancelled, and answered with the reason where there is one."""
        self._is_closed = True
        self._ending = reason
        for task in self._open.values():
            task.cancel(reason or None)
        if self._listening is not None:
            self._listening.close()

    def leave(self) -> None:
        """The client says nothing more but may still read: what needs no answer of its own is brought to its end."""
        self._questions.fail_all("The client left before it answered what the server asked for.")
        if self._listening is not None:
            self._listening.close()

    # --- from the client -------------------------------------------------------------------------------------------

    async def request(self, message: Message, send: Send, flow: Flow | None = None) -> bytes | None:
        """The answer; None where the client cancelled the request. What belongs to it is sent before."""
        assert message.id is not None
        if self._is_closed:
            return self._give_up(message.id)
        if (refusal := check_open(message, self._open)) is not None:
            rule, text, code = refusal
            self._record_refused(message, self._actor, rule, text)
            return error_reply(message.id, code, text)
        task = asyncio.create_task(self._answer(message, send, flow), name=message.method)
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
        """A notification or an answer of the client's."""
        if message.is_answer:
            if not self._questions.take(message):
                self._diagnose(
                    "message.unpaired", "An answer from the client belongs to no open request and was dropped."
                )
        elif message.method == "notifications/initialized":
            self._is_ready = True
            self._listen()
        elif message.method == "notifications/cancelled":
            task = self._open.get(cancelled_id(message))
            if task is not None and task.get_name() != "initialize":
                task.cancel()
        # Modern servers hear of nothing else: roots are asked for when they are needed.

    # --- requests --------------------------------------------------------------------------------------------------

    async def _answer(self, message: Message, send: Send, flow: Flow | None) -> bytes:
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
            return await self._answer_in_session(message, send, flow)
        except CannotContinue as problem:
            return error_reply(message.id, problem.code, problem.text)
        except (AmbiguousKeys, NotJson, BadMessage):
            self._diagnose("message.unreadable", "An answer from the server could not be used.")
            return error_reply(message.id, UPSTREAM_FAILED, _UNUSABLE)

    async def _is_greeted(self) -> bool:
        """Eager clients send their first request before the answer to initialize."""
        return self._greeting is not None and await asyncio.shield(self._greeting)

    async def _answer_in_session(self, message: Message, send: Send, flow: Flow | None) -> bytes:
        if message.method == "logging/setLevel":
            self._set_level(message)
        elif message.method == "resources/subscribe":
            await self._subscriptions().subscribe(_uri(message))
        elif message.method == "resources/unsubscribe":
            await self._subscriptions().unsubscribe(_uri(message))
        elif message.method in _ONLY_MODERN or (message.method or "").startswith("tasks/"):
            raise CannotContinue(f"There is no {message.method} here for this revision.", code=METHOD_NOT_FOUND)
        else:
            return await self._relay(message, send, flow)
        return answer(message.id, {})

    def _set_level(self, message: Message) -> None:
        level = text_member(message.params(), "level")
        if level not in _LEVELS:
            raise CannotContinue(f"The level must be one of {', '.join(_LEVELS)}.", code=INVALID_PARAMS)
        self._envelope[META_LOG_LEVEL] = msgspec.json.encode(level)

    async def _relay(self, message: Message, send: Send, flow: Flow | None) -> bytes:
        """Raises: CannotContinue, AmbiguousKeys, NotJson, BadMessage."""
        assert message.method is not None
        raw = message.raw
        if message.may_mention("requestState") or message.may_mention("inputResponses"):
            raw = drop(raw, [("params", "requestState"), ("params", "inputResponses")])  # no words of this revision
        raw = to_modern_request(raw, self._envelope)
        origin = Origin(self._caller, send, self._actor, address=self._address, takes_logs=True, flow=flow)

        async def repeat(more: Mapping[str, bytes]) -> Message:
            own_id = msgspec.json.encode(f"handfast-again-{next(self._ids)}")
            values: dict[tuple[str, ...], bytes] = {("params", name): value for name, value in more.items()}
            return await self._ask(put(raw, {("id",): own_id, **values}), origin)

        async def ask(questions: Mapping[str, Question]) -> bytes:
            return await self._questions.ask(questions, send)

        found = await settle(await self._ask(raw, origin), message.method, repeat=repeat, ask=ask)
        own_id = msgspec.json.encode(message.id)
        if len(found.raw) >= LARGE_BYTES:
            await take_turn()
        return replace_values(to_legacy_answer(found, message.method), {("id",): own_id})

    async def _ask(self, raw: bytes, origin: Origin) -> Message:
        answer = await self._backend.request(read_message(raw), origin)
        if len(answer) >= LARGE_BYTES:
            await take_turn()
        return read_message(answer)

    # --- the handshake ---------------------------------------------------------------------------------------------

    async def _greet(self, message: Message) -> bytes:
        """Raises: CannotContinue, AmbiguousKeys, NotJson, BadMessage."""
        if self._greeting is not None:
            text = "This session has had its initialize. Open another one."
            self._diagnose("session.initialized", f"initialize was refused. {text}")
            raise CannotContinue(text, code=INVALID_REQUEST)
        self._greeting = asyncio.get_running_loop().create_future()
        is_greeted = False
        try:
            asked_for = text_member(message.params(), "protocolVersion")
            version = asked_for if asked_for in LEGACY_REVISIONS else LEGACY_REVISION
            self._introduce(message.params())
            meta = {name: msgspec.Raw(value) for name, value in self._envelope.items()}
            discover = request("handfast-discover", "server/discover", {"_meta": meta})
            found = await self._ask(discover, Origin(self._caller, ignore, self._actor, address=self._address))
            if found.has_error:
                return replace_values(to_legacy_answer(found, "initialize"), {("id",): msgspec.json.encode(message.id)})
            discovery = found.result()
            if discovery is None:
                raise CannotContinue(_UNUSABLE)
            greeting = greeting_of(discovery, version)
            self._listening = Listening(self._listen_to, self._deliver, _offered(greeting["capabilities"]))
            is_greeted = True
        finally:
            self._greeting.set_result(is_greeted)
            if not is_greeted:
                self._greeting = None  # the client may try again
        if self._is_ready:
            self._listen()
        return answer(message.id, greeting)

    def _introduce(self, params: Members) -> None:
        """Say in every request from now on what the client said of itself. Raises: CannotContinue."""
        try:
            declared = read_level(member(params, "capabilities") or b"{}")
        except (AmbiguousKeys, NotJson):
            raise CannotContinue("The capabilities of the client cannot be read.", code=INVALID_PARAMS) from None
        capabilities = msgspec.json.encode({name: declared[name] for name in _BOTH_ERAS if name in declared})
        self._questions = Questions(capabilities, seconds=self._question_seconds)
        self._envelope = {META_VERSION: msgspec.json.encode(MODERN_REVISION), META_CAPABILITIES: capabilities}
        client = member(params, "clientInfo")
        if client is not None:
            self._envelope[META_CLIENT] = client

    # --- what nobody asked for -------------------------------------------------------------------------------------

    def _listen(self) -> None:
        if self._listening is not None:
            self._listening.begin()

    def _subscriptions(self) -> Listening:
        assert self._listening is not None
        return self._listening

    async def _listen_to(self, raw: bytes, send: Send) -> bytes:
        message = read_message(to_modern_request(raw, self._envelope))
        return await self._backend.request(message, Origin(self._caller, send, self._actor, address=self._address))


def _offered(capabilities: Mapping[str, msgspec.Raw]) -> tuple[str, ...]:
    """What the server tells when it changes."""
    offered = {name: level_of(member(dict(capabilities), name)) for name in _LISTS}
    return tuple(flag for name, flag in _LISTS.items() if member(offered[name], "listChanged") == b"true")


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
