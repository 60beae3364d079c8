"""One request to a legacy server under way, with what the server sends and asks before it answers."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from handfast.gateway.calls.flow import HoldBack
from handfast.gateway.http.response import UpstreamFailed
from handfast.gateway.translate.backend import Requester
from handfast.wire.eras import META_LOG_LEVEL
from handfast.wire.message import AmbiguousKeys, Message, RequestId
from handfast.wire.methods import INTERACTIVE
from handfast.wire.scan import NotJson
from handfast.wire.splice import put

# A server that asks three things at once writes three requests, one after the other: they are passed on as one round.
_TOGETHER_SECONDS = 0.03
_LEVELS: Final = (b"debug", b"info", b"notice", b"warning", b"error", b"critical", b"alert", b"emergency")


def rank_of(level: bytes) -> int | None:
    """The severity of a log level in raw JSON; None for an unknown level."""
    name = level.strip(b'"')
    return _LEVELS.index(name) if name in _LEVELS else None


class LegacyCall:
    """A call under way, held while its client is asked: it has no `origin` then, and a retry brings a new one."""

    def __init__(
        self,
        message: Message,
        origin: Requester,
        exchange: Callable[["LegacyCall"], Coroutine[Any, Any, Message]],  # Any: a coroutine's send types
        *,
        on_resume: Callable[["LegacyCall", Message, Requester], Awaitable[Message]],
        on_abandon: Callable[[], None],
        hold_back: HoldBack | None,
        on_put_down: Callable[[], None],
    ) -> None:
        """`hold_back` pauses the server, where that is possible; `on_put_down` frees the memory of what was sent."""
        self._on_put_down = on_put_down
        self.method = message.method
        self.questions: dict[str, Message] = {}  # asked and not answered, by the name the client knows them by
        self._count = 0
        self._on_resume = on_resume
        self._on_abandon = on_abandon
        self._hold_back = hold_back
        self._lost = "The call was given up before the server answered."
        self._origin: Requester | None = None
        self._token: bytes | None = None
        self._level: bytes | None = None
        self._news = asyncio.Event()
        self.take_up(message, origin)
        self.exchange = asyncio.create_task(exchange(self))
        self.exchange.add_done_callback(self._ended)

    @property
    def may_ask(self) -> bool:
        return self.method in INTERACTIVE and not self.exchange.done() and not self.is_given_up

    @property
    def is_given_up(self) -> bool:
        """Whether its client takes no answer any longer."""
        return self.exchange.cancelling() > 0

    @property
    def is_running(self) -> bool:
        """Whether a request waits for its answer; a held call waits for its client instead, having asked already."""
        return self._origin is not None

    def take_up(self, message: Message, origin: Requester) -> None:
        """Sets the request that waits for the answer now. Raises: AmbiguousKeys, NotJson."""
        meta = message.meta()
        token, level = meta.get("progressToken"), meta.get(META_LOG_LEVEL)
        self._origin = origin
        self._token = None if token is None else bytes(token)
        self._level = None if level is None else bytes(level)
        if origin.flow is not None:
            origin.flow.attach(self._hold_back)

    async def resume(self, message: Message, origin: Requester) -> Message:
        """Continues the call with the client's retry. Raises: UpstreamFailed, AmbiguousKeys, NotJson."""
        return await self._on_resume(self, message, origin)

    async def room(self) -> None:
        """Waits until the client has room for what comes before the answer."""
        if self._origin is not None and self._origin.flow is not None:
            await self._origin.flow.room()

    def put_down(self) -> None:
        """Holds the call: until a retry comes, the server's messages are dropped."""
        self._origin = None
        self._on_put_down()

    @property
    def size(self) -> int:
        """The bytes that a held call keeps: what the server asked."""
        return sum(len(question.raw) for question in self.questions.values())

    def _ended(self, exchange: "asyncio.Task[Message]") -> None:
        if not exchange.cancelled():
            exchange.exception()  # retrieved, because a held call that fails may never be retried
        self._news.set()

    # --- from the server -------------------------------------------------------------------------------------------

    def ask(self, question: Message) -> None:
        self._count += 1
        assert question.method is not None
        self.questions[f"{question.method.partition('/')[0]}-{self._count}"] = question
        self._news.set()

    def withdraw(self, question: RequestId) -> None:
        """Drops a question that the server has cancelled."""
        self.questions = {name: asked for name, asked in self.questions.items() if asked.id != question}

    def progress(self, message: Message) -> None:
        if self._origin is not None and self._token is not None:
            self._origin.send(put(message.raw, {("params", "progressToken"): self._token}))

    def log(self, message: Message) -> bool:
        """Passes on a log message if the client asked for its level; whether it did."""
        if self._origin is None or self._level is None:
            return False
        try:
            level = rank_of(bytes(message.params()["level"]))
        except (KeyError, AmbiguousKeys, NotJson):
            return False
        wanted = rank_of(self._level)
        if level is None or wanted is None or level < wanted:
            return False
        self._origin.send(message.raw)
        return True

    # --- towards the client ----------------------------------------------------------------------------------------

    async def step(self) -> Message | None:
        """The answer, or None once the server waits for answers of the client. Raises: UpstreamFailed."""
        while not self.exchange.done():
            if self.questions:
                return None
            self._news.clear()
            await self._news.wait()
            await self._gather()
        if self.exchange.cancelled():
            raise UpstreamFailed(self._lost)
        return self.exchange.result()

    async def _gather(self) -> None:
        while self.questions and not self.exchange.done():
            before = self._count
            await asyncio.wait({self.exchange}, timeout=_TOGETHER_SECONDS)
            if self._count == before:
                return

    def abandon(self) -> None:
        """Cancels the call: no request waits for its answer any longer."""
        self._on_abandon()
        self.exchange.cancel()

    def lose(self, text: str) -> None:
        """Ends the call without an answer: a request that waits for it fails with this text."""
        self._lost = text
        self.exchange.cancel()
