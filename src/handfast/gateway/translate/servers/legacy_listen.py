"""`subscriptions/listen` in front of a legacy server: its notifications, for the callers that subscribed."""

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from handfast.gateway.http.response import UpstreamFailed
from handfast.gateway.translate.backend import Requester
from handfast.wire.codes import INVALID_PARAMS
from handfast.wire.eras import META_SUBSCRIPTION
from handfast.wire.members import level_of, member
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.methods import LIST_CHANGES
from handfast.wire.replies import answer_message, error_message, notification
from handfast.wire.scan import NotJson
from handfast.wire.splice import put

if TYPE_CHECKING:
    from handfast.gateway.translate.servers.legacy_session import LegacyServerSession

_URIS = 10_000  # of one listen
_EARLY = 1000  # messages before the acknowledgement; a client needs to hear of a change, not how often


class _Filter(msgspec.Struct, rename="camel"):
    tools_list_changed: bool | None = None
    prompts_list_changed: bool | None = None
    resources_list_changed: bool | None = None
    resource_subscriptions: list[str] | None = None


class _Listen:
    def __init__(self, message: Message, origin: Requester) -> None:
        self.id = msgspec.json.encode(message.id)
        self.origin = origin
        self.methods: set[str] = set()
        self.uris: set[str] = set()
        self.is_acknowledged = False
        self.early: list[Message] = []  # what came before the acknowledgement, which must be first
        self.ended = asyncio.Event()

    def covers(self, uri: str) -> bool:
        """Whether a URI is subscribed to; a server may name one below that of the subscription."""
        return uri in self.uris or any(uri.startswith(f"{known.rstrip('/')}/") for known in self.uris)

    def send(self, message: Message) -> None:
        if not self.is_acknowledged:
            if len(self.early) < _EARLY:
                self.early.append(message)
            return
        self.origin.send(put(message.raw, {("params", "_meta", META_SUBSCRIPTION): self.id}))


class LegacyListens:
    def __init__(self, session: "LegacyServerSession", capabilities: dict[str, Any]) -> None:  # Any: JSON
        self._session = session
        self._capabilities = capabilities
        self._open: list[_Listen] = []
        self._subscribing = asyncio.Lock()
        self._unsubscribing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    def end(self) -> None:
        for listen in self._open:
            listen.ended.set()

    async def listen(self, message: Message, origin: Requester) -> Message:
        """Listens until it is cancelled, or the session ends. Raises: UpstreamFailed, AmbiguousKeys, NotJson."""
        try:
            wanted = msgspec.json.decode(message.params()["notifications"], type=_Filter)
        except (KeyError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            text = "params.notifications must say what to listen for. Add it and send the request again."
            return error_message(message.id, INVALID_PARAMS, text)
        listen = _Listen(message, origin)
        self._open.append(listen)
        try:
            honoured = await self._honour(listen, wanted)
            self._acknowledge(listen, honoured)
            await listen.ended.wait()
            return answer_message(message.id, {"resultType": "complete", "_meta": {META_SUBSCRIPTION: message.id}})
        finally:
            self._open.remove(listen)
            if listen.uris and self._session.is_alive:
                self._unsubscribe(listen.uris)

    async def _honour(self, listen: _Listen, wanted: _Filter) -> dict[str, Any]:  # Any: JSON
        honoured: dict[str, Any] = {}  # Any: JSON
        asked = msgspec.to_builtins(wanted)
        for name, (capability, method) in LIST_CHANGES.items():
            if asked[name] and self._offers(capability, "listChanged"):
                honoured[name] = True
                listen.methods.add(method)
        if wanted.resource_subscriptions and self._offers("resources", "subscribe"):
            honoured["resourceSubscriptions"] = await self._subscribe(listen, wanted.resource_subscriptions[:_URIS])
        return honoured

    def _offers(self, capability: str, feature: str) -> bool:
        found = self._capabilities.get(capability)
        return found is not None and member(level_of(bytes(found)), feature) == b"true"

    async def _subscribe(self, listen: _Listen, uris: list[str]) -> list[str]:
        taken: list[str] = []
        async with self._subscribing:
            for uri in uris:
                is_new = not any(uri in other.uris for other in self._open)
                listen.uris.add(uri)
                if is_new and (await self._session.plain("resources/subscribe", {"uri": uri})).has_error:
                    listen.uris.discard(uri)
                else:
                    taken.append(uri)
        return taken

    def _unsubscribe(self, uris: set[str]) -> None:
        gone = [uri for uri in uris if not any(uri in other.uris for other in self._open)]
        if gone:
            task = asyncio.create_task(self._unsubscribe_all(gone))
            self._unsubscribing.add(task)
            task.add_done_callback(self._unsubscribing.discard)

    async def _unsubscribe_all(self, uris: list[str]) -> None:
        async with self._subscribing:
            for uri in uris:
                if any(uri in other.uris for other in self._open):
                    continue  # another listen has subscribed meanwhile
                try:
                    await self._session.plain("resources/unsubscribe", {"uri": uri})
                except UpstreamFailed:
                    return

    def _acknowledge(self, listen: _Listen, honoured: dict[str, Any]) -> None:  # Any: JSON
        meta = {META_SUBSCRIPTION: msgspec.Raw(listen.id)}
        listen.origin.send(
            notification("notifications/subscriptions/acknowledged", {"notifications": honoured, "_meta": meta})
        )
        listen.is_acknowledged = True
        early, listen.early = listen.early, []
        for message in early:
            listen.send(message)

    def notify(self, message: Message) -> None:
        """Sends a notification that belongs to no request to each listen that covers it."""
        uri = None
        if message.method == "notifications/resources/updated":
            try:
                uri = msgspec.json.decode(message.params()["uri"], type=str)
            except (KeyError, AmbiguousKeys, NotJson, msgspec.DecodeError):
                return
        for listen in self._open:
            if message.method in listen.methods or (uri is not None and listen.covers(uri)):
                listen.send(message)
