"""The Backend of all servers: each request goes to the servers it concerns, and their answers become one."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from secrets import token_hex
from typing import Final

import msgspec

from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.gateway.callers.opaque import Tampered
from handfast.gateway.callers.task_ids import TaskIds
from handfast.gateway.http.exchange import HttpProblem
from handfast.gateway.translate.backend import Backend, Requester, ignore, leave
from handfast.gateway.translate.combined.ask_server import error_text
from handfast.gateway.translate.combined.discovery import Discoveries, discover_all
from handfast.gateway.translate.combined.endpoint import CombinedEndpoint, RequestRefused
from handfast.gateway.translate.combined.links import linked_uris
from handfast.gateway.translate.combined.listening import UPDATED, Listen
from handfast.gateway.translate.combined.lists import Lists
from handfast.gateway.translate.combined.resolving import Resolver
from handfast.wire.codes import INVALID_PARAMS, METHOD_NOT_FOUND, UPSTREAM_FAILED, UPSTREAM_TIMEOUT
from handfast.wire.eras import MODERN_META
from handfast.wire.members import level_of, member, text_member
from handfast.wire.message import AmbiguousKeys, BadMessage, Message, read_message
from handfast.wire.methods import LIST_KINDS, MODERN_TASK_REQUESTS, ListKind
from handfast.wire.replies import error_message, request
from handfast.wire.scan import NotJson
from handfast.wire.splice import Path, put, replace_values

_MOST_SUBSETS: Final = 64  # kept because they are small; a dropped one is made again: the knowledge is shared
_UPSTREAM_ERRORS: Final = frozenset((UPSTREAM_FAILED, UPSTREAM_TIMEOUT))
_NOTHING: Final = {"_meta": MODERN_META}
Edits = dict[str, bytes | None]  # members of params, as the server that gets them knows them
Route = Callable[[Message, Requester], Awaitable[tuple[str, Edits]]]


class CombinedBackend:
    """Judges nothing itself: the Backends of the servers do."""

    def __init__(self, endpoint: CombinedEndpoint, discoveries: Discoveries | None = None) -> None:
        self._endpoint = endpoint
        self._discoveries = discoveries or Discoveries(endpoint)
        self._lists = Lists(endpoint, self._discoveries)
        self._resolver = Resolver(endpoint, self._lists)
        self._subsets: OrderedDict[frozenset[str], CombinedBackend] = OrderedDict()
        self._routes: dict[str, Route] = {
            "tools/call": self._route_tool,
            "prompts/get": self._route_prompt,
            "resources/read": self._route_read,
            "completion/complete": self._route_completion,
            **dict.fromkeys(MODERN_TASK_REQUESTS, self._route_task),
        }

    @property
    def only(self) -> frozenset[str] | None:
        """The servers that were chosen; None where all of them are meant."""
        return self._endpoint.only

    def subset(self, names: Iterable[str], caller: Caller) -> "CombinedBackend":
        """The same backend with only these servers. Raises: HttpProblem 404."""
        only = frozenset(names)
        servers = self._endpoint.servers(caller)
        if not only or not only <= servers.keys():
            known = ", ".join(servers) or "none"
            raise HttpProblem(404, f"Not every server that was asked for is here. Servers: {known}.")
        found = self._subsets.pop(only, None) or CombinedBackend(replace(self._endpoint, only=only), self._discoveries)
        self._subsets[only] = found
        if len(self._subsets) > _MOST_SUBSETS:
            self._subsets.popitem(last=False)
        return found

    def servers_changed(self) -> None:
        """Called when the settings have changed: open subscriptions take up new servers and notify their clients."""
        for listener in self._endpoint.listeners:
            listener.servers_changed()

    def server_is_up(self, name: str) -> None:
        """It was found out how to ask it. Clients whose list went without it are told to ask again."""
        if name in self._endpoint.awaited:
            self._endpoint.awaited.discard(name)
            self.servers_changed()

    async def learn(self, name: str) -> None:
        """Asks a server for its lists, for no client. Raises: UpstreamFailed."""
        backend = self._endpoint.every_server()[name]
        origin = Requester(Caller(session=f"handfast-{token_hex(8)}"), ignore)
        try:
            await self._lists.remember(name, backend, read_message(request("handfast", "tools/list", _NOTHING)), origin)
        finally:
            self._discoveries.forget(origin.caller.name)
            leave(backend, origin.caller)

    def leave(self, caller: Caller) -> None:
        self._endpoint.knowledge.forget(caller.name)
        self._discoveries.forget(caller.name)
        for backend in self._endpoint.every_server().values():
            leave(backend, caller)

    async def request(self, message: Message, origin: Requester) -> Message:
        try:
            return await self._answer(message, origin)
        except RequestRefused as refused:
            await self._endpoint.record_refused(message, origin, refused.rule, refused.text)
            return error_message(message.id, refused.code, refused.text, data=refused.data)
        except (AmbiguousKeys, NotJson):
            reason = "The request can be read in more than one way. Send each key once."
            await self._endpoint.record_refused(message, origin, "", reason)
            return error_message(message.id, INVALID_PARAMS, reason)

    async def _answer(self, message: Message, origin: Requester) -> Message:
        method = message.method or ""
        if method in LIST_KINDS:
            return await self._lists.answer(LIST_KINDS[method], message, origin)
        if method == "server/discover":
            return await discover_all(self._endpoint, self._discoveries, message, origin)
        if method == "subscriptions/listen":
            return await self._listen(message, origin)
        route = self._routes.get(method)
        if route is None:
            raise RequestRefused(METHOD_NOT_FOUND, "All servers together do not offer this method. Use /mcp/<server>.")
        try:
            server, edits = await route(message, origin)
        except asyncio.CancelledError:
            self._endpoint.record_left(message, origin.caller)
            raise
        return await self._forward(server, edits, message, origin)

    async def _listen(self, message: Message, origin: Requester) -> Message:
        listen = Listen(self._endpoint, self._discoveries, self._resolver, message=message, origin=origin)
        self._endpoint.listeners.add(listen)
        try:
            return await listen.run()
        finally:
            self._endpoint.listeners.discard(listen)

    # --- where a request goes, and what changes in it ----------------------------------------------------------------

    async def _route_tool(self, message: Message, origin: Requester) -> tuple[str, Edits]:
        return await self._route_named(LIST_KINDS["tools/list"], message, origin)

    async def _route_prompt(self, message: Message, origin: Requester) -> tuple[str, Edits]:
        return await self._route_named(LIST_KINDS["prompts/list"], message, origin)

    async def _route_named(self, kind: ListKind, message: Message, origin: Requester) -> tuple[str, Edits]:
        public = _required(text_member(message.params(), "name"), "params.name")
        server, own = await self._resolver.name(kind, public, message, origin)
        _, edits = self._own_state(message, origin, server)
        return server, edits | {"name": msgspec.json.encode(own)}

    async def _route_read(self, message: Message, origin: Requester) -> tuple[str, Edits]:
        uri = _required(text_member(message.params(), "uri"), "params.uri")
        # After a restart the owner of the URI is not known, but the state names the server that asked while reading it.
        keeper, edits = self._own_state(message, origin)
        return keeper or await self._resolver.uri(uri, message, origin), edits

    async def _route_completion(self, message: Message, origin: Requester) -> tuple[str, Edits]:
        reference = level_of(member(message.params(), "ref"))
        if text_member(reference, "type") == "ref/prompt":
            public = _required(text_member(reference, "name"), "params.ref.name")
            server, own = await self._resolver.name(LIST_KINDS["prompts/list"], public, message, origin)
            ref = bytes(message.params()["ref"])
            return server, {"ref": replace_values(ref, {("name",): msgspec.json.encode(own)})}
        uri = _required(text_member(reference, "uri"), "params.ref.uri")
        return await self._resolver.template(uri, message, origin), {}

    async def _route_task(self, message: Message, origin: Requester) -> tuple[str, Edits]:
        public = _required(text_member(message.params(), "taskId"), "params.taskId")
        try:
            server, own = self._task_ids(origin).unwrap(public)
        except Tampered:
            reason = "There is no task of this id for this caller. Use the id that its call gave."
            raise RequestRefused(INVALID_PARAMS, reason, rule=rules.COMBINED_FORGED) from None
        return server, {"taskId": msgspec.json.encode(own)}

    def _task_ids(self, origin: Requester) -> TaskIds:
        return TaskIds(self._endpoint.seal, origin.caller.name)

    def _own_state(self, message: Message, origin: Requester, server: str | None = None) -> tuple[str | None, Edits]:
        """The server that gave out the requestState, and the edit back to its own. Raises: RequestRefused."""
        if member(message.params(), "requestState") is None:
            return None, {}
        text = text_member(message.params(), "requestState")
        try:
            keeper, own = self._endpoint.seal.unwrap(_state_of(message, origin), text, tuple[str, str])
            if server not in (None, keeper):
                raise Tampered
        except Tampered:
            reason = "The requestState is not one that was given out for this. Send it back exactly as it came."
            raise RequestRefused(INVALID_PARAMS, reason, rule=rules.COMBINED_FORGED) from None
        return keeper, {"requestState": msgspec.json.encode(own)}

    # --- there and back ----------------------------------------------------------------------------------------------

    async def _forward(self, server: str, edits: Edits, message: Message, origin: Requester) -> Message:
        backend = self._backend(server, origin)
        asked = message.with_members(edits) if edits else message

        def send(raw: bytes) -> None:
            shown = self._for_client(raw, server, origin)
            if shown is not None:
                origin.send(shown)

        try:
            answer = await backend.request(asked, replace(origin, send=send))
        except OSError:
            reason = f"The server {server} cannot be reached. Try again later."
            return error_message(message.id, UPSTREAM_FAILED, reason)
        return self._finish(answer, server, message, origin)

    def _backend(self, server: str, origin: Requester) -> Backend:
        backend = self._endpoint.servers(origin.caller).get(server)
        if backend is None:
            raise RequestRefused(INVALID_PARAMS, "The server that this belongs to is no longer here. Begin again.")
        return backend

    def _finish(self, answer: Message, server: str, message: Message, origin: Requester) -> Message:
        """The answer with this endpoint's ids and states; all else is the server's own bytes."""
        try:
            if answer.has_error:
                return _with_server_named(answer, server)
            result = answer.result()
        except (AmbiguousKeys, NotJson):
            return answer  # judged already, and not ours to change
        if result is None:
            return answer
        if b'"uri"' in answer.raw:  # a link spelt with escapes is not learnt: no server writes one so
            self._endpoint.known(origin).link(server, linked_uris(result))
        edits: dict[Path, bytes] = self._task_ids(origin).answer_edits(result, message.method or "", server)
        if member(result, "requestState") is not None and text_member(result, "resultType") == "input_required":
            state = text_member(result, "requestState")
            if state is None:
                reason = f"The server {server} asked for more, but its requestState is not a string."
                self._endpoint.diagnose(server, rules.COMBINED_UNUSABLE_STATE, reason)
                return error_message(message.id, UPSTREAM_FAILED, reason)
            wrapped = self._endpoint.seal.wrap(_state_of(message, origin), (server, state))
            edits["result", "requestState"] = msgspec.json.encode(wrapped)
        return read_message(replace_values(answer.raw, edits)) if edits else answer

    def _for_client(self, raw: bytes, server: str, origin: Requester) -> bytes | None:
        """A server's notification as the client gets it; None for an update of another server's resource."""
        if b"task" not in raw and b"updated" not in raw and b"\\" not in raw:  # nearly always
            return raw
        try:
            message = read_message(raw)
            if message.method == UPDATED and not self._may_tell_of(message, server, origin):
                return None
            return self._task_ids(origin).wrap_in_notification(raw, message, server)
        except (BadMessage, AmbiguousKeys, NotJson):
            return raw

    def _may_tell_of(self, update: Message, server: str, origin: Requester) -> bool:
        owner = self._resolver.owner(text_member(update.params(), "uri") or "", origin)
        if owner is None or owner.server == server:
            return True
        self._endpoint.diagnose(server, rules.COMBINED_FOREIGN_UPDATE, f"It sent an update of a URI of {owner.server}.")
        return False


def _required(value: str | None, where: str) -> str:
    if value is None:
        raise RequestRefused(INVALID_PARAMS, f"{where} is missing or no text. Send it.")
    return value


def _state_of(message: Message, origin: Requester) -> tuple[str, ...]:
    """What a requestState is bound to: the caller, and the request whose retry it belongs to."""
    method = message.method or ""
    return (
        "state",
        origin.caller.name,
        method,
        text_member(message.params(), "uri" if method == "resources/read" else "name") or "",
    )


def _with_server_named(answer: Message, server: str) -> Message:
    """Adds the server's name to an upstream error whose text does not have it."""
    text = error_text(answer)
    if answer.error_code() not in _UPSTREAM_ERRORS or server in text:
        return answer
    return read_message(put(answer.raw, {("error", "message"): msgspec.json.encode(f"{server}: {text}")}))
