"""One client's subscription to all servers: a listen at each that can, one acknowledgement, one stream.

A server that ends its listen, or is down, is asked again after a wait that doubles; the client's own listen goes on.
Nothing is replayed, so after a gap the client is notified that the server's lists may have changed.
"""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from handfast.core.call import rules
from handfast.gateway.callers.opaque import Tampered
from handfast.gateway.callers.task_ids import TaskIds
from handfast.gateway.translate.backend import Backend, Requester
from handfast.gateway.translate.combined.ask_server import Unavailable, own_request
from handfast.gateway.translate.combined.discovery import Discovered, Discoveries
from handfast.gateway.translate.combined.endpoint import CombinedEndpoint, RequestRefused
from handfast.gateway.translate.combined.resolving import Resolver
from handfast.wire.codes import INVALID_PARAMS, METHOD_NOT_FOUND
from handfast.wire.eras import META_SUBSCRIPTION
from handfast.wire.members import level_of, member, text_member
from handfast.wire.message import AmbiguousKeys, BadMessage, Message, read_level, read_message
from handfast.wire.methods import LIST_CHANGES
from handfast.wire.replies import notification
from handfast.wire.scan import NotJson
from handfast.wire.splice import put

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
UPDATED: Final = "notifications/resources/updated"
_URIS: Final = "resourceSubscriptions"
_TASKS: Final = "taskIds"
_MOST_HELD: Final = 1000  # notifications that came before the acknowledgement could be sent
_LONGEST_WAIT: Final = 60.0
_SETTLED_SECONDS: Final = 60.0  # a listen that lasted this long did not fail

Filter = dict[str, Any]  # Any: JSON


@dataclass(slots=True)
class _Server:
    """One server's share of the subscription."""

    backend: Backend
    task: asyncio.Task[None] | None = None
    uris: list[str] = field(default_factory=list)  # the resources whose updates it was asked for
    honoured: Filter = field(default_factory=dict)
    was_missing: bool = False  # the client's lists may lack this server's entries
    has_spoken: bool = False  # it acknowledged, refused, or has nothing to listen for


class Listen:
    """Runs until it is cancelled. `servers_changed` may be called whenever the settings have changed."""

    def __init__(
        self,
        endpoint: CombinedEndpoint,
        discoveries: Discoveries,
        resolver: Resolver,
        *,
        message: Message,
        origin: Requester,
    ) -> None:
        self._endpoint = endpoint
        self._discoveries = discoveries
        self._resolver = resolver
        self._message = message
        self._origin = origin
        self._task_ids = TaskIds(endpoint.seal, origin.caller.name)
        self._wanted = _read_filter(message)
        self._tasks = self._read_tasks()
        self._servers: dict[str, _Server] = {}
        self._held: list[bytes] | None = []  # None once the acknowledgement is out
        self._progress = asyncio.Event()
        self._change = asyncio.Event()

    def _read_tasks(self) -> list[tuple[str, str]]:
        """The server and the server's own id of each task in the filter. Raises: RequestRefused."""
        try:
            return [self._task_ids.unwrap(public) for public in _texts(self._wanted.get(_TASKS))]
        except Tampered:
            reason = "One of the taskIds was not given out here. Use the ids that the calls gave."
            raise RequestRefused(INVALID_PARAMS, reason, rule=rules.COMBINED_FORGED) from None

    def servers_changed(self) -> None:
        self._change.set()

    async def run(self) -> Message:
        try:
            await self._follow_servers()
            await self._note_owners()
            await self._wait_for_first_words()
            self._acknowledge()
            while True:
                await self._change.wait()
                self._change.clear()
                await self._follow_servers()
                self._tell_list_changes(set(LIST_CHANGES))
        finally:
            for server in self._servers.values():
                _cancel(server)

    async def _follow_servers(self) -> None:
        """Starts a listen at each new server, and cancels those at servers that are gone."""
        await self._resolver.learn_uris(self._uris(), self._message, self._origin)
        now = self._endpoint.servers(self._origin.caller)
        for name in [name for name, known in self._servers.items() if now.get(name) is not known.backend]:
            _cancel(self._servers.pop(name))
        for name, backend in now.items():
            if name not in self._servers:
                server = self._servers[name] = _Server(backend)
                server.task = self._endpoint.start(self._follow(name, server))

    async def _wait_for_first_words(self) -> None:
        async def all_spoke() -> None:
            while not all(server.has_spoken for server in self._servers.values()):
                self._progress.clear()
                await self._progress.wait()

        await self._endpoint.all_within([all_spoke()])

    async def _follow(self, name: str, server: _Server) -> None:
        wait, is_first = self._endpoint.first_wait, True
        while True:
            began = self._endpoint.now()
            try:
                await self._listen_once(name, server, is_first=is_first)
            except _NothingToListenFor:
                return
            finally:
                self._spoke(server)
            if self._endpoint.now() - began >= _SETTLED_SECONDS:
                wait = self._endpoint.first_wait
            await asyncio.sleep(wait)
            wait, is_first = min(wait * 2, _LONGEST_WAIT), False

    async def _listen_once(self, name: str, server: _Server, *, is_first: bool) -> None:
        """Returns when the server ended the listen or could not be asked. Raises: _NothingToListenFor."""
        try:
            offered = await self._discoveries.of(name, server.backend, self._message, self._origin)
        except Unavailable:
            server.was_missing = True
            return
        if server.was_missing:
            server.was_missing = False
            self._tell_list_changes(
                {key for key, (capability, _) in LIST_CHANGES.items() if offered.offers(capability)}
            )
        if not is_first and any(self._owner(uri) is None for uri in self._uris()):
            await self._resolver.learn_uris_of(name, self._message, self._origin)
        wanted = self._share(name, offered)
        if not wanted:
            raise _NothingToListenFor
        server.uris = _texts(wanted.get(_URIS))

        def take(raw: bytes) -> None:
            self._take(name, server, raw, is_first=is_first)

        # A new id at each server and each time: no id may be in use twice.
        asked = own_request(self._message, "subscriptions/listen", {"notifications": wanted})
        try:
            answer = await server.backend.request(asked, replace(self._origin, send=take))
        except OSError:
            return
        if answer.has_error and answer.error_code() == METHOD_NOT_FOUND:
            raise _NothingToListenFor
        if answer.has_error and answer.error_code() == INVALID_PARAMS and _TASKS in wanted:
            # The server's process has changed and has none of the tasks. Without them the next listen can succeed.
            self._tasks = [known for known in self._tasks if known[0] != name]

    def _take(self, name: str, server: _Server, raw: bytes, *, is_first: bool) -> None:
        """Passes on what a server sent on its listen, with the ids that the client knows."""
        try:
            message = read_message(raw)
            if message.method == ACKNOWLEDGED:
                self._take_acknowledgement(server, message, is_first=is_first)
                return
            if message.method == UPDATED and not self._is_of(name, server, message):
                self._endpoint.diagnose(
                    name, rules.COMBINED_FOREIGN_UPDATE, "It sent an update of a URI that it was not asked for."
                )
                return
            raw = self._task_ids.wrap_in_notification(raw, message, name)
            raw = put(raw, {("params", "_meta", META_SUBSCRIPTION): msgspec.json.encode(self._message.id)})
        except (BadMessage, AmbiguousKeys, NotJson):
            return  # the server's own backend has seen it too, and reports it
        self._send(raw)

    def _take_acknowledgement(self, server: _Server, message: Message, *, is_first: bool) -> None:
        honoured = level_of(member(message.params(), "notifications"))
        server.honoured = {key: _decoded(value) for key, value in honoured.items()}
        self._spoke(server)
        if not is_first or self._held is None:
            self._tell_list_changes({key for key, value in server.honoured.items() if value is True})

    def _spoke(self, server: _Server) -> None:
        server.has_spoken = True
        self._progress.set()

    def _share(self, name: str, offered: Discovered) -> Filter:
        """The part of the client's filter that this server can fulfil."""
        share: Filter = {}
        for key, value in self._wanted.items():
            if key in LIST_CHANGES:
                if value is True and offered.offers(LIST_CHANGES[key][0], "listChanged"):
                    share[key] = True
            elif key == _URIS:
                uris = [uri for uri in self._uris() if self._owner(uri) == name]
                if uris and offered.offers("resources", "subscribe"):
                    share[key] = uris
            elif key == _TASKS and (own := [own for server, own in self._tasks if server == name]):
                share[key] = own
            # An unknown extension's part is left out: it does not show which server it is for.
        return share

    def _uris(self) -> list[str]:
        return _texts(self._wanted.get(_URIS))

    def _owner(self, uri: str) -> str | None:
        found = self._resolver.owner(uri, self._origin)
        return None if found is None else found.server

    async def _note_owners(self) -> None:
        """Records URIs that no server is asked for, and those whose owner is known by a template alone."""
        owners = {uri: self._resolver.owner(uri, self._origin) for uri in self._uris()}
        noted = {owner: uri for uri, owner in owners.items() if owner is not None}  # one URI for each owner is enough
        for owner, uri in noted.items():
            self._resolver.note_owner(uri, owner, self._message, self._origin)
        if None in owners.values():
            reason = "The server of some URIs is not known, so they are not listened to. Use /mcp/<server>."
            await self._endpoint.record_refused(self._message, self._origin, rules.COMBINED_UNROUTED, reason)

    def _is_of(self, name: str, server: _Server, message: Message) -> bool:
        """Whether an update is of a URI that the server was asked for, or of one below it that no other owns."""
        uri = text_member(message.params(), "uri")
        if uri is None or uri in server.uris:
            return uri is not None
        is_below = any(uri.startswith(f"{known.rstrip('/')}/") for known in server.uris)
        return is_below and self._owner(uri) in (None, name)

    def _acknowledge(self) -> None:
        # handfast itself notifies clients when servers come and go, so lists are always watched.
        honoured: Filter = {key: True for key in LIST_CHANGES if self._wanted.get(key) is True}
        uris = {uri for server in self._servers.values() for uri in _texts(server.honoured.get(_URIS))}
        if shared := [uri for uri in self._uris() if uri in uris]:
            honoured[_URIS] = shared
        tasks = [
            self._task_ids.wrap(name, own)
            for name, server in self._servers.items()
            for own in _texts(server.honoured.get(_TASKS))
        ]
        if tasks:
            honoured[_TASKS] = tasks
        held, self._held = self._held or [], None
        self._send(notification(ACKNOWLEDGED, {"notifications": honoured, "_meta": self._meta()}))
        for raw in held:
            self._send(raw)

    def _tell_list_changes(self, kinds: set[str]) -> None:
        for key, (_, method) in LIST_CHANGES.items():
            if self._wanted.get(key) is True and key in kinds:
                self._send(notification(method, {"_meta": self._meta()}))

    def _send(self, raw: bytes) -> None:
        if self._held is None:
            self._origin.send(raw)
        elif len(self._held) < _MOST_HELD:
            self._held.append(raw)

    def _meta(self) -> dict[str, object]:
        return {META_SUBSCRIPTION: self._message.id}


class _NothingToListenFor(Exception):
    """This server has nothing that the client wants to hear."""


def _read_filter(message: Message) -> Filter:
    """Raises: RequestRefused, AmbiguousKeys, NotJson."""
    found = member(message.params(), "notifications")
    if found is None or not found.startswith(b"{"):
        raise RequestRefused(INVALID_PARAMS, "params.notifications must be an object that says what to listen for.")
    return {key: _decoded(value) for key, value in read_level(found).items()}


def _decoded(value: msgspec.Raw) -> object:
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _cancel(server: _Server) -> None:
    if server.task is not None:
        server.task.cancel()
