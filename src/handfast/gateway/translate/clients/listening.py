"""A legacy client's notifications outside requests: one `subscriptions/listen` for all that it subscribed to."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Final

import msgspec

from handfast.gateway.translate.clients.questions import CannotContinue
from handfast.wire.codes import INVALID_PARAMS, METHOD_NOT_FOUND
from handfast.wire.eras import META_SUBSCRIPTION
from handfast.wire.message import AmbiguousKeys, BadMessage, Message, read_message
from handfast.wire.replies import notification, request
from handfast.wire.scan import NotJson
from handfast.wire.splice import drop

_ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
_ACKNOWLEDGE_SECONDS: Final = 30.0  # half of what clients give a request
_MOST_URIS: Final = 1000  # of one session: each change names all of them again
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_SETTLED_SECONDS: Final = 30.0  # a stream that lived for this long did not fail at once
# What changed while no stream was open is not known, so the client is notified of each as changed.
_CHANGED: Final = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}

Relay = Callable[[bytes, Callable[[bytes], None]], Awaitable[Message]]


class _ListenRequest:
    """One listen request: acknowledged first, then heard until it ends."""

    def __init__(self, relay: Relay, raw: bytes, deliver: Callable[[bytes], None]) -> None:
        self._deliver = deliver
        self.began = time.monotonic()
        self.acknowledged: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._run(relay, raw))

    async def _run(self, relay: Relay, raw: bytes) -> Message:
        try:
            return await relay(raw, self._hear)
        finally:
            if not self.acknowledged.done():
                self.acknowledged.cancel()

    def _hear(self, raw: bytes) -> None:
        with contextlib.suppress(BadMessage, AmbiguousKeys, NotJson):
            message = read_message(raw)
            if message.method == _ACKNOWLEDGED:
                if not self.acknowledged.done():
                    self.acknowledged.set_result(message)
            elif self.acknowledged.done() and message.is_notification and message.method != "notifications/cancelled":
                self._deliver(_without_subscription(message))

    async def acknowledge(self) -> frozenset[str]:
        """Waits for the acknowledgement; the resources whose updates will come. Raises: CannotContinue."""
        await asyncio.wait((self.acknowledged,), timeout=_ACKNOWLEDGE_SECONDS)
        if self.acknowledged.done() and not self.acknowledged.cancelled():
            return _granted(self.acknowledged.result())
        if not self.task.done():
            raise CannotContinue(f"The server did not confirm the subscription within {_ACKNOWLEDGE_SECONDS:g} s.")
        if self.is_refused_for_good:
            raise CannotContinue("The server has no subscriptions.", code=METHOD_NOT_FOUND)
        raise CannotContinue("The server refused the subscription.")

    @property
    def is_refused_for_good(self) -> bool:
        """Whether the server has no subscriptions at all."""
        if not self.task.done() or self.task.cancelled() or self.task.exception() is not None:
            return False
        return self.task.result().error_code() == METHOD_NOT_FOUND


class Subscriptions:
    """One client's subscriptions. The stream is replaced when they change, and opened again when it ends."""

    def __init__(self, relay: Relay, deliver: Callable[[bytes], None], flags: tuple[str, ...]) -> None:
        self._relay = relay
        self._deliver = deliver
        self._flags = flags  # what the server's capabilities offer
        self._uris: tuple[str, ...] = ()
        self._stream: _ListenRequest | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._pause = _FIRST_PAUSE
        self._numbers = count(1)
        self._changing = asyncio.Lock()
        self._is_closed = False

    def begin(self) -> None:
        """Opens the stream of a client that is ready, in the background: the server may never acknowledge it."""
        if self._flags and self._keeper is None and not self._is_closed:
            self._keeper = asyncio.create_task(self._begin())

    def close(self) -> None:
        self._is_closed = True
        if self._keeper is not None:
            self._keeper.cancel()
        self._swap(None)

    async def subscribe(self, uri: str, relay: Relay | None = None) -> None:
        """Returns once the server has confirmed it. `relay` asks with the rights of this request, and from now on.

        Raises: CannotContinue.
        """
        async with self._changing:
            if uri in self._uris:
                return
            if len(self._uris) >= _MOST_URIS:
                text = f"There are {_MOST_URIS} subscriptions in this session already. Unsubscribe from some."
                raise CannotContinue(text, code=INVALID_PARAMS)
            before, self._relay = self._relay, relay or self._relay
            try:
                await self._replace((*self._uris, uri), required=uri)
            except BaseException:
                self._relay = before
                raise

    async def unsubscribe(self, uri: str) -> None:
        """Raises: CannotContinue."""
        async with self._changing:
            if uri not in self._uris:
                return
            rest = tuple(known for known in self._uris if known != uri)
            if rest or self._flags:
                await self._replace(rest)
            else:
                self._uris = ()
                self._swap(None)

    async def _replace(self, uris: tuple[str, ...], required: str | None = None) -> None:
        """Opens a stream for these; the old one ends once the new one is confirmed. Raises: CannotContinue."""
        stream = self._open(uris)
        try:
            granted = await stream.acknowledge()
            if self._is_closed:
                raise CannotContinue("The client left.")
            if required is not None and required not in granted:
                text = "The server does not send updates of this resource."
                raise CannotContinue(text, code=INVALID_PARAMS)
            self._uris = uris
            self._swap(stream)
        finally:
            if self._stream is not stream:
                stream.task.cancel()

    def _open(self, uris: tuple[str, ...]) -> _ListenRequest:
        wanted: dict[str, object] = dict.fromkeys(self._flags, True)
        if uris:
            wanted["resourceSubscriptions"] = uris
        raw = request(f"handfast-listen-{next(self._numbers)}", "subscriptions/listen", {"notifications": wanted})
        return _ListenRequest(self._relay, raw, self._deliver)

    def _swap(self, stream: _ListenRequest | None) -> None:
        old, self._stream = self._stream, stream
        if stream is not None:
            stream.task.add_done_callback(self._ended)
        if old is not None:
            old.task.cancel()

    def _ended(self, task: "asyncio.Task[Message]") -> None:
        """Schedules a new stream where the current one was ended by the server or by a failure."""
        stream = self._stream
        if self._is_closed or stream is None or stream.task is not task:
            return
        self._stream = None
        if time.monotonic() - stream.began > _SETTLED_SECONDS:
            self._pause = _FIRST_PAUSE
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not report it
        if self._keeper is not None:
            self._keeper.cancel()  # it may still be in its pause
        self._keeper = asyncio.create_task(self._reopen())

    async def _begin(self) -> None:
        try:
            async with self._changing:
                if self._stream is None:
                    await self._replace(self._uris)
        except CannotContinue as problem:
            if problem.code != METHOD_NOT_FOUND:
                await self._reopen()

    async def _reopen(self) -> None:
        while self._flags or self._uris:
            await asyncio.sleep(self._pause)
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
            async with self._changing:
                if self._stream is not None:
                    return  # a change of the subscriptions came first
                try:
                    await self._replace(self._uris)
                except CannotContinue as problem:
                    if problem.code == METHOD_NOT_FOUND:
                        return
                else:
                    self._tell_all()
                    return

    def _tell_all(self) -> None:
        for flag in self._flags:
            self._deliver(notification(_CHANGED[flag]))
        for uri in self._uris:
            self._deliver(notification("notifications/resources/updated", {"uri": uri}))


def _granted(acknowledged: Message) -> frozenset[str]:
    try:
        notifications = acknowledged.params().get("notifications", msgspec.Raw(b"{}"))
        found = msgspec.json.decode(notifications, type=dict[str, object]).get("resourceSubscriptions")
    except (AmbiguousKeys, NotJson, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return frozenset()
    return frozenset(uri for uri in found if isinstance(uri, str)) if isinstance(found, list) else frozenset()


def _without_subscription(message: Message) -> bytes:
    meta = message.meta()
    if META_SUBSCRIPTION not in meta:
        return message.raw
    if len(meta) == 1:
        return drop(message.raw, [("params", "_meta")])
    return drop(message.raw, [("params", "_meta", META_SUBSCRIPTION)])
