"""A server with the compact surface: one tool, the dispatcher, explains and calls all the others.

The call of an action is the call of that tool as if the client had made it itself: judged by its own contract, recorded
under its own name. What stands beside it in the dispatcher's arguments is refused, never dropped.
"""

import asyncio
from dataclasses import replace

import msgspec

from handfast.core.access.permissions import may_call
from handfast.core.call.caller import Caller
from handfast.core.call.policy import Violation
from handfast.core.dispatcher.asked import DispatcherCall, DispatcherRefused
from handfast.core.dispatcher.checks import HELP, action_missing, action_unknown, check_beside, not_an_object
from handfast.core.schema.declared import Declared
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.translate.backend import Backend, Requester, leave
from handfast.gateway.translate.compact.asked import has_object, names_within, read_asked, read_wishes, type_sent
from handfast.gateway.translate.compact.help import render_action, render_overview
from handfast.gateway.translate.compact.offer import dispatcher_name, render_tool
from handfast.gateway.translate.compact.own_answers import OwnAnswers
from handfast.gateway.translate.compact.tool_lists import ListRefused, ToolLists
from handfast.wire.codes import INVALID_PARAMS
from handfast.wire.members import member, text_member
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.replies import answer_message, error_message
from handfast.wire.scan import NotJson

_OWN = frozenset(("tools/list", "tools/call"))
_LIST_CHANGED = b"tools/list_changed"


class CompactBackend:
    def __init__(self, server: ServerSide, backend: Backend) -> None:
        """`backend` is the server's own, which judges; it gets every message but those for the dispatcher."""
        self.name = dispatcher_name(server.name)
        self._server = server
        self._backend = backend
        self._lists = ToolLists(backend, server.now)
        self._own = OwnAnswers(server, self.name)

    async def request(self, message: Message, origin: Requester) -> Message:
        if message.method == "subscriptions/listen":
            origin = self._watched(origin)
        elif message.method in _OWN and _is_readable(message):
            if message.method == "tools/list":
                return await self._offer(message, origin)
            if text_member(message.params(), "name") == self.name:
                return await self._dispatch(message, origin)
        # A client that still has the whole list may call its tools by their names.
        return await self._backend.request(message, origin)

    def leave(self, caller: Caller) -> None:
        leave(self._backend, caller)

    def _watched(self, origin: Requester) -> Requester:
        def send(notification: bytes) -> None:
            if _LIST_CHANGED in notification:
                self._lists.forget()
            origin.send(notification)

        return replace(origin, send=send)

    async def _offer(self, message: Message, origin: Requester) -> Message:
        if member(message.params(), "cursor") is not None:
            text = "There is no such page: the list has one. Ask for it without a cursor."
            return error_message(message.id, INVALID_PARAMS, text)
        try:
            found = await self._lists.fetch(message, origin)
        except ListRefused as problem:
            return problem.answer
        result: dict[str, object] = {
            "resultType": "complete",
            "tools": [render_tool(self._server.name, found.tools)] if found.tools else [],
            "ttlMs": found.ttl_ms,
            "cacheScope": "private" if found.is_private else "public",
        }
        if found.meta is not None:
            result["_meta"] = msgspec.Raw(found.meta)
        return answer_message(message.id, result)

    # --- calls of the dispatcher -----------------------------------------------------------------------------------

    async def _dispatch(self, message: Message, origin: Requester) -> Message:
        given = member(message.params(), "arguments")
        asked: DispatcherCall[bytes] = DispatcherCall()
        try:
            asked = read_asked(given)
            if await self._is_help(asked, message, origin):
                text = await self._explain(asked, message, origin)
                return await self._own.explained(message, origin.caller, given, text)
            await self._check(asked, message, origin)
        except DispatcherRefused as problem:
            known = asked.tool if asked.tool is not None and self._is_known(asked.tool, origin) else None
            return await self._own.refused(message, origin.caller, given, problem.violation, tool=known)
        except ListRefused as problem:
            return await self._own.without_list(message, origin.caller, given, problem.answer)
        except asyncio.CancelledError:
            self._own.left(origin.caller)
            raise
        # The client cannot know which of the action's arguments its server wants repeated in headers.
        return await self._backend.request(_inner_call(message, asked), replace(origin, params=None))

    def _is_known(self, tool: str, origin: Requester) -> bool:
        """Whether it is a tool that the caller may call; of any other it learns nothing."""
        contract = self._server.learner.contracts.find(tool)
        return contract is not None and may_call(origin.caller.identity, self._server.name, tool, contract.kind)

    async def _is_help(self, asked: DispatcherCall[bytes], message: Message, origin: Requester) -> bool:
        if asked.wants_help:
            return True
        if asked.action != HELP or asked.tool is None or self._is_known(asked.tool, origin):
            return False
        return asked.tool not in (await self._lists.find(message, origin)).tools

    async def _explain(self, asked: DispatcherCall[bytes], message: Message, origin: Requester) -> str:
        """Raises: DispatcherRefused, ListRefused."""
        tools = await self._lists.find(message, origin)
        wishes = read_wishes(asked, has_own_help=HELP in tools.tools)
        if wishes.tool is not None and wishes.tool not in tools.tools:
            tools = await self._lists.fetch(message, origin)  # it may be new
        if wishes.tool is None:
            return render_overview(tools.tools, found=wishes.word, ignored=wishes.ignored, is_whole=tools.is_whole)
        if wishes.tool not in tools.tools:
            raise DispatcherRefused(action_unknown(wishes.tool, tools.tools))
        return render_action(tools.tools[wishes.tool], ignored=wishes.ignored)

    async def _check(self, asked: DispatcherCall[bytes], message: Message, origin: Requester) -> None:
        """Whether the call can be forwarded with everything that came. Raises: DispatcherRefused, ListRefused."""
        if asked.tool is None:
            raise DispatcherRefused(action_missing((await self._lists.find(message, origin)).tools, asked.beside))
        unknown = (
            None
            if self._is_known(asked.tool, origin)
            else await self._unknown(asked.tool, asked.resource, message, origin)
        )
        violation = unknown
        if violation is None and asked.beside:
            violation = check_beside(asked.beside, asked.tool, self._declared(asked.tool), names_within(asked))
        if violation is None and not has_object(asked):
            violation = not_an_object(type_sent(asked))
        if violation is not None:
            raise DispatcherRefused(violation)

    async def _unknown(self, tool: str, resource: str | None, message: Message, origin: Requester) -> Violation | None:
        try:
            found = await self._lists.find(message, origin, knowing=tool)
        except ListRefused:
            return None  # the call itself will show what is wrong with the server
        is_missing = found.is_whole and tool not in found.tools
        return action_unknown(tool, found.tools, resource=resource) if is_missing else None

    def _declared(self, tool: str) -> Declared | None:
        contract = self._server.learner.contracts.find(tool)
        schema = None if contract is None else contract.input
        return None if schema is None else schema.declared


def _is_readable(message: Message) -> bool:
    """Whether the request can be read; the server's own backend refuses and records an ambiguous one."""
    try:
        message.meta()
    except (AmbiguousKeys, NotJson):
        return False
    return True


def _inner_call(message: Message, asked: DispatcherCall[bytes]) -> Message:
    """The call that is meant: the tool's name and its own arguments in place of the dispatcher's."""
    return message.with_members({"name": msgspec.json.encode(asked.tool), "arguments": asked.arguments or b"{}"})
