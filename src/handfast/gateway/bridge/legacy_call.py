"""One request to a legacy server under way: what the server says and asks before it answers."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, Protocol

from handfast.gateway.backend import Origin
from handfast.wire.eras import INTERACTIVE, META_LOG_LEVEL
from handfast.wire.message import AmbiguousKeys, Message, RequestId
from handfast.wire.reshape import put
from handfast.wire.scan import NotJson

# A server that asks three things at once writes three requests, one after the other: they are passed on as one round.
_TOGETHER_SECONDS = 0.03
_LEVELS: Final = (b"debug", b"info", b"notice", b"warning", b"error", b"critical", b"alert", b"emergency")


class Home(Protocol):
    """The session that a call was made in, whichever one its retry comes by."""

    def send(self, raw: bytes) -> None: ...
    def forget(self, call: "LegacyCall") -> None: ...
    def abandoned(self, call: "LegacyCall") -> None: ...


class LegacyCall:
    """Held while the client is asked: `origin` is then nobody, and a retry brings a new one."""

    def __init__(
        self,
        message: Message,
        origin: Origin,
        exchange: Coroutine[Any, Any, Message],  # Any: a coroutine's send types
        home: Home,
    ) -> None:
        self.method = message.method
        self.questions: dict[str, Message] = {}  # asked and not answered, by the name the client knows them by
        self._count = 0
        self.home = home
        self._origin: Origin | None = None
        self._token: bytes | None = None
        self._level: bytes | None = None
        self._news = asyncio.Event()
        self._exchange = asyncio.create_task(exchange)
        self._exchange.add_done_callback(self._ended)
        self.take_up(message, origin)

    @property
    def may_ask(self) -> bool:
        return self.method in INTERACTIVE and not self._exchange.done()

    def take_up(self, message: Message, origin: Origin) -> None:
        """Whoever waits for the answer now. Raises: AmbiguousKeys, NotJson."""
        meta = message.meta()
        token, level = meta.get("progressToken"), meta.get(META_LOG_LEVEL)
        self._origin = origin
        self._token = None if token is None else bytes(token)
        self._level = None if level is None else bytes(level)

    def put_down(self) -> None:
        """Nobody waits at the moment: what the server says meanwhile reaches nobody."""
        self._origin = None

    def _ended(self, exchange: "asyncio.Task[Message]") -> None:
        if not exchange.cancelled():
            exchange.exception()  # looked at, because a held call that fails may never be asked for again
        self._news.set()

    # --- from the server -------------------------------------------------------------------------------------------

    def ask(self, question: Message) -> None:
        self._count += 1
        assert question.method is not None
        self.questions[f"{question.method.partition('/')[0]}-{self._count}"] = question
        self._news.set()

    def withdraw(self, question: RequestId) -> None:
        """The server does not want to know any more."""
        self.questions = {name: asked for name, asked in self.questions.items() if asked.id != question}

    def progress(self, message: Message) -> None:
        if self._origin is not None and self._token is not None:
            self._origin.send(put(message.raw, {("params", "progressToken"): self._token}))

    def log(self, message: Message) -> bool:
        """Pass on a log message if the client asked for its level."""
        if self._origin is None or self._level is None:
            return False
        try:
            level = bytes(message.params()["level"]).strip(b'"')
        except (KeyError, AmbiguousKeys, NotJson):
            return False
        wanted = self._level.strip(b'"')
        if level not in _LEVELS or wanted not in _LEVELS or _LEVELS.index(level) < _LEVELS.index(wanted):
            return False
        self._origin.send(message.raw)
        return True

    # --- towards the client ----------------------------------------------------------------------------------------

    async def step(self) -> Message | None:
        """The answer, or None once the server waits for answers itself. Raises: UpstreamFailed."""
        try:
            while not self._exchange.done():
                if self.questions:
                    return None
                self._news.clear()
                await self._news.wait()
                await self._gather()
            return self._exchange.result()
        except asyncio.CancelledError:
            self.abandon()
            raise

    async def _gather(self) -> None:
        while self.questions and not self._exchange.done():
            before = self._count
            await asyncio.wait({self._exchange}, timeout=_TOGETHER_SECONDS)
            if self._count == before:
                return

    def abandon(self) -> None:
        self.home.abandoned(self)
        self._exchange.cancel()
