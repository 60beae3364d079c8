"""A pipe to a server that several conversations may share: ids are rewritten both ways, so no answer crosses over."""

import asyncio
import contextlib
from collections.abc import Callable
from itertools import count
from secrets import token_hex
from typing import NamedTuple, Protocol

import msgspec

from handfast.gateway.calls.conversation import overlong_text
from handfast.gateway.http.response import Headers
from handfast.gateway.process.pipe import PipeEnds, Reach
from handfast.gateway.settings.blocks import Limits
from handfast.wire.alias import Alias, read_number, token_of
from handfast.wire.codes import METHOD_NOT_FOUND
from handfast.wire.eras import META_SUBSCRIPTION
from handfast.wire.lines import OverlongLine
from handfast.wire.message import AmbiguousKeys, BadMessage, Message, RequestId, id_in_head, read_message
from handfast.wire.replies import error_reply, notification
from handfast.wire.scan import NotJson
from handfast.wire.splice import replace_values

_OPENINGS = ("initialize", "server/discover")  # only a client sends these
# Such a command sends this back as well, so whoever opened the session reads it as the answer.
_ECHOES = "The command sends back what it is sent, so it is no MCP server. Name the command of a server."
_SHARED = "Several clients share this server, and it cannot be known which one is meant."

_CLOSED = "The gateway closed the server before it answered. Repeat the call if that is safe."
_GIVEN_UP = 10_000  # abandoned requests that are remembered; most servers answer none of them, and each takes 60 bytes


class RequestListener(Protocol):
    """The receiver of the answer to a request."""

    def deliver(self, message: Message) -> None:
        """Takes a message that belongs to the request: its answer, progress, a notification of its subscription."""

    def fail(self, text: str) -> None:
        """No answer will come."""

    def lost(self, text: str, *, was_sent: bool) -> None:
        """No answer will come on this pipe; `was_sent`: the server may have begun to work on the request."""


class ChannelOwner(Protocol):
    """The receiver of messages that name no request of ours, and of the child's failures."""

    def uncorrelated(self, channel: "Channel", message: Message) -> bool:
        """Takes the message if its receiver can be known; False otherwise."""

    def unreadable(self, problem: BadMessage) -> None: ...

    def overlong(self, limit: int) -> None: ...

    def exited(self, channel: "Channel", code: int) -> None: ...


class MessageRefused(ConnectionError):
    """The server did not take a request of handfast's own; the message says why."""


class _SentRequest(NamedTuple):
    listener: RequestListener
    alias: Alias


class Channel:
    def __init__(
        self,
        reach: Reach,
        owner: ChannelOwner,
        *,
        limits: Limits,
        on_stderr: Callable[[bytes], None],
        headers: Headers | None,
    ) -> None:
        """`headers` are those of the client that it is for, where it is for one."""
        self._owner = owner
        self._limits = limits
        self._open: dict[int, _SentRequest] = {}
        self._own: dict[int, asyncio.Future[Message]] = {}
        self._given_up: set[int] = set()  # requests that the child may still answer; once full, the set stays as it is
        self._ids = count(1)
        self.incarnation = token_hex(8)  # unlike that of any other process: what this process gives out is bound to it
        self._pipe = reach.make_pipe(
            PipeEnds(
                limits=limits,
                limit_of=self._limit_of,
                on_line=self._line,
                on_exit=self._exited,
                on_congestion=self._congested,
                on_stderr=on_stderr,
                on_refused=self._refused,
                headers=headers,
            )
        )
        self._is_forgotten = False  # by its server, which may still answer what is under way
        self.had_requests = False  # under way, when the pipe ended
        self._has_room = asyncio.Event()  # in the child's input
        self._has_room.set()
        self._held_back_by = 0
        self.has_answered = False  # a request, whatever the answer
        self.greeting: Message | None = None  # the answer to initialize, where handfast itself did the handshake

    async def start(self) -> None:
        """Raises: PipeFailed."""
        await self._pipe.open()

    @property
    def is_alive(self) -> bool:
        """Whether it takes requests."""
        return not (self._is_forgotten or self._pipe.gone.is_set())

    @property
    def has_ended(self) -> bool:
        return self._pipe.gone.is_set()

    @property
    def is_process(self) -> bool:
        return self._pipe.is_process

    @property
    def started(self) -> str:
        return self._pipe.started

    def ended(self, code: int) -> str:
        return self._pipe.ended(code)

    async def stop(self) -> None:
        await self._pipe.stop()

    async def close(self) -> None:
        """Stops the child for good; requests that wait for it fail at once."""
        self.dismiss(_CLOSED)
        await self.stop()

    def dismiss(self, text: str) -> None:
        """Ends each waiting request with this text."""
        waiting, self._open = list(self._open.values()), {}
        for entry in waiting:
            entry.listener.fail(text)

    @property
    def is_busy(self) -> bool:
        """Whether the child has requests of clients to answer."""
        return bool(self._open)

    @property
    def has_given_up(self) -> bool:
        """Whether the child may still be at work on a request that was given up."""
        return bool(self._given_up)

    @property
    def has_room(self) -> bool:
        """Whether the child reads what it was sent."""
        return self._has_room.is_set()

    async def room(self) -> None:
        """Waits until the child reads, or is gone."""
        await self._has_room.wait()

    def _congested(self, is_congested: bool) -> None:
        if is_congested:
            self._has_room.clear()
        else:
            self._has_room.set()

    def hold_back(self, is_held: bool) -> None:
        """Stops reading from the child while at least one receiver wants it held back."""
        self._held_back_by += 1 if is_held else -1
        if not self.has_ended and self._held_back_by == is_held:
            self._pipe.pause_reading(is_held)

    # --- to the child ----------------------------------------------------------------------------------------------

    def send_request(self, message: Message, listener: RequestListener, headers: Headers | None = None) -> int:
        """Sends a client's request under an id of ours, which is also its progress token. Raises: AmbiguousKeys."""
        assert message.id is not None
        own_id = next(self._ids)
        alias = Alias(own_id, message, token_of(message))
        self._open[own_id] = _SentRequest(listener, alias)
        if self.is_alive:
            self._pipe.send(alias.take_raw(), own_id, headers)
        else:
            self._open.pop(own_id).listener.lost(self._pipe.lost, was_sent=False)  # it ended during judgement
        return own_id

    def send(self, raw: bytes, headers: Headers | None = None) -> None:
        """Sends what carries no id of the client's: a notification, an answer to the child."""
        self._pipe.send(raw, None, headers)

    def send_cancel(self, message: Message, listener: RequestListener) -> None:
        """Passes on a notifications/cancelled for the request of this listener."""
        for own_id, entry in self._open.items():
            if entry.listener is listener:
                del self._open[own_id]  # what the child still says about it is dropped
                self._give_up(own_id)
                self._pipe.send(replace_values(message.raw, {("params", "requestId"): b"%d" % own_id}))
                self._end_if_forgotten()
                return

    def abandon(self, own_id: int, reason: str) -> None:
        """Cancels a request at the child, and drops what the child still says about it."""
        if self._open.pop(own_id, None) is not None and not self.has_ended:
            self._give_up(own_id)
            self._pipe.send(notification("notifications/cancelled", {"requestId": own_id, "reason": reason}))
            self._end_if_forgotten()

    def _give_up(self, own_id: int) -> None:
        if len(self._given_up) < _GIVEN_UP:
            self._given_up.add(own_id)

    def _heard_of(self, own_id: int) -> None:
        if len(self._given_up) < _GIVEN_UP:
            self._given_up.discard(own_id)

    async def ask(self, render: Callable[[int], bytes]) -> Message:
        """Sends a request of handfast's own. Raises: ConnectionError if the server is gone or refuses the request."""
        if not self.is_alive:
            raise ConnectionError(self._pipe.over)
        own_id = next(self._ids)
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._own[own_id] = answer
        self._pipe.send(render(own_id), own_id)
        try:
            return await answer
        finally:
            if self._own.pop(own_id, None) is not None:
                self._give_up(own_id)
                self._end_if_forgotten()

    # --- from the child --------------------------------------------------------------------------------------------

    def _line(self, line: bytes | OverlongLine) -> None:
        if isinstance(line, OverlongLine):
            self._overlong(line)
            return
        try:
            message = read_message(line)
        except BadMessage as problem:
            self._unreadable(problem)
            return
        with contextlib.suppress(AmbiguousKeys, NotJson):
            if self._correlated(message):
                self._end_if_forgotten()
                return
        if self._owner.uncorrelated(self, message):
            return
        if message.is_request:
            text = _ECHOES if message.method in _OPENINGS else _SHARED
            self._pipe.send(error_reply(message.id, METHOD_NOT_FOUND, text))

    def _limit_of(self, head: bytes) -> int:
        """The size limit of a long line, by its beginning: a list has less room than a result."""
        own_id = id_in_head(head)
        return self._limit_to(own_id) if isinstance(own_id, int) else self._limits.message_bytes

    def _limit_to(self, own_id: int) -> int:
        if own_id in self._own:  # answers to our own requests are lists, or short
            return self._limits.list_bytes
        entry = self._open.get(own_id)
        return self._limits.answer_bytes(None if entry is None else entry.alias.method)

    def _overlong(self, line: OverlongLine) -> None:
        """Fails the request that the line would have answered, if it can be known which one that is."""
        own_id = id_in_head(line.head)
        if own_id is None:  # a request that was given up may still be answered
            meant = {*self._open, *self._own, *self._given_up}
            own_id = meant.pop() if len(meant) == 1 else None
        self._drop_answer(own_id, line.limit)

    def _drop_answer(self, own_id: RequestId | None, limit: int) -> None:
        self._owner.overlong(limit)
        if not isinstance(own_id, int):
            return
        self._heard_of(own_id)
        asked, entry = self._own.pop(own_id, None), self._open.pop(own_id, None)
        if asked is not None and not asked.done():
            asked.set_exception(ConnectionError(overlong_text(limit)))
        if entry is not None:
            entry.listener.fail(overlong_text(limit))

    def _unreadable(self, problem: BadMessage) -> None:
        self._owner.unreadable(problem)
        entry = self._open.pop(problem.id, None) if isinstance(problem.id, int) else None
        if entry is not None:
            entry.listener.fail(f"The server's answer could not be used: {problem.reason}")

    def _correlated(self, message: Message) -> bool:
        """Delivers a message that names one of our ids. Raises: AmbiguousKeys, NotJson."""
        if message.is_answer:
            return self._answered(message)
        if message.method == "notifications/progress":
            token = message.params().get("progressToken")
            entry = self._entry(token)
            if entry is not None and entry.alias.restore_progress(message):  # else late or unknown: dropped
                entry.listener.deliver(message)
            return True
        if message.is_notification and message.may_mention(META_SUBSCRIPTION):
            entry = self._entry(message.meta().get(META_SUBSCRIPTION))
            if entry is not None:
                entry.alias.restore_subscription(message)
                entry.listener.deliver(message)
                return True
        return False

    def _entry(self, token: msgspec.Raw | None) -> _SentRequest | None:
        number = read_number(token)
        return None if number is None else self._open.get(number)

    def _answered(self, message: Message) -> bool:
        own_id = message.id
        if isinstance(own_id, float) and own_id.is_integer():
            own_id = int(own_id)
        if not isinstance(own_id, int):
            return False
        self.has_answered = True
        if len(message.raw) > self._limits.list_bytes and len(message.raw) > (limit := self._limit_to(own_id)):
            self._drop_answer(own_id, limit)  # the beginning of the line did not show its id
            return True
        if own_id in self._own:
            answer = self._own.pop(own_id)
            if not answer.done():  # the requester may have given up in this very moment
                answer.set_result(message)
            return True
        entry = self._open.pop(own_id, None)
        if entry is None:
            is_late = own_id in self._given_up  # nobody waits for it, and there is nothing odd about it
            self._heard_of(own_id)
            return is_late
        entry.alias.restore_answer(message)
        entry.listener.deliver(message)
        return True

    def _refused(self, own_id: int, text: str, is_unknown: bool) -> None:
        """One request fails."""
        asked, entry = self._own.pop(own_id, None), self._open.pop(own_id, None)
        self._is_forgotten = self._is_forgotten or is_unknown
        self._end_if_forgotten()
        if asked is not None and not asked.done():
            asked.set_exception(MessageRefused(text))
        if entry is not None and is_unknown:
            entry.listener.lost(text, was_sent=False)
        elif entry is not None:
            entry.listener.fail(text)

    def _end_if_forgotten(self) -> None:
        """Ends a pipe that its server has forgotten, once nothing is under way on it."""
        if self._is_forgotten and not self._open and not self._own:
            self._pipe.end()

    def _exited(self, code: int) -> None:
        self._has_room.set()
        self.had_requests = bool(self._own or self._open)
        for future in self._own.values():
            if not future.done():
                future.set_exception(ConnectionError(self._pipe.over))
        waiting, self._open = list(self._open.values()), {}
        for entry in waiting:
            entry.listener.lost(self._pipe.lost, was_sent=True)
        self._owner.exited(self, code)
