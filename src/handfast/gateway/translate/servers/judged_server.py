"""One server as a backend: every request judged, recorded and bounded in time on its way."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import msgspec

from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.exchange import Status
from handfast.gateway.admission.request_places import PlacesRefused, RequestPlaces
from handfast.gateway.admission.server_health import Era, ServerHealth, UpstreamResting
from handfast.gateway.callers.caller_ids import Foreign
from handfast.gateway.calls.call_time import CallTime
from handfast.gateway.calls.conversation import Conversation, is_sign_of_life
from handfast.gateway.calls.judged_calls import LEFT
from handfast.gateway.calls.param_headers import param_mismatch
from handfast.gateway.calls.pending import Pending
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.http.response import UpstreamFailed, UpstreamTimeout
from handfast.gateway.settings.blocks import Limits
from handfast.gateway.translate.backend import Requester, ask
from handfast.gateway.translate.servers.era_probe import NativeServer
from handfast.gateway.translate.servers.inbox import Inbox
from handfast.turns import LARGE_BYTES, take_turn
from handfast.wire.codes import HEADER_MISMATCH, INVALID_REQUEST, UPSTREAM_FAILED, UPSTREAM_TIMEOUT
from handfast.wire.eras import META_CAPABILITIES
from handfast.wire.message import AmbiguousKeys, BadMessage, Message, read_message
from handfast.wire.methods import Purpose, purpose_of
from handfast.wire.replies import error_message
from handfast.wire.scan import NotJson

_ENDING_SECONDS = 1.0  # what is answered with the end of its server takes milliseconds


class JudgedServer:
    def __init__(
        self,
        server: ServerSide,
        native: NativeServer,
        *,
        health: ServerHealth,
        limits: Callable[[], Limits],
        request_places: RequestPlaces | None = None,
    ) -> None:
        """`request_places` bounds requests that are not calls, where they share connections."""
        self._server = server
        self.native = native
        self._health = health
        self._limits = limits
        self._request_places = request_places
        self._under_way = 0
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    async def request(self, message: Message, origin: Requester) -> Message:
        self._under_way += 1
        self._is_idle.clear()
        try:
            return await self._request(message, origin)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._is_idle.set()

    async def _request(self, message: Message, origin: Requester) -> Message:
        ask_for_page = partial(self._list_page, message, origin)
        conversation = Conversation(self._server, lambda _, cursor: ask_for_page(cursor), origin.caller)
        step = await conversation.from_client(message)
        if step.to_server is None:
            if step.to_client is None:
                return error_message(message.id, INVALID_REQUEST, "The request was cancelled.")
            return read_message(step.to_client)
        assert message.id is not None
        pending = conversation.open_requests[message.id]
        mismatch = self._param_mismatch(message, origin)
        if mismatch is not None:
            rule = rules.MESSAGE_HEADER_MISMATCH
            return read_message(conversation.fail(message.id, pending, mismatch, code=HEADER_MISMATCH, rule=rule))
        self._health.in_progress += pending.call is not None
        inbox = Inbox(self._note_slow)
        try:
            return await self._relay(conversation, pending, message, origin, inbox)
        except asyncio.CancelledError as cancelled:
            if cancelled.args and cancelled.args[0]:  # its session ended, and this is why
                conversation.close(str(cancelled.args[0]))
            elif pending.call is not None and not (inbox.flow.has_source or origin.caller.session):
                # A client without a session cancels by leaving.
                self._server.path.conclude(pending.call, Status.CANCELLED, rule=rules.CLIENT_LEFT, reason=LEFT)
            raise
        finally:
            self._health.in_progress -= pending.call is not None
            if pending.call is not None:
                # Has no effect where it was recorded by then.
                self._server.path.conclude(pending.call, Status.CANCELLED, reason="The client cancelled the call.")

    def leave(self, caller: Caller) -> None:
        self.native.leave(caller)

    async def close(self) -> None:
        """Closes the server; waits up to a second until the requests that ended with it are answered and on record."""
        await self.native.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_SECONDS):
                await self._is_idle.wait()

    async def _relay(
        self, conversation: Conversation, pending: Pending, message: Message, origin: Requester, inbox: Inbox
    ) -> Message:
        assert message.id is not None
        began = self._server.now()
        asking = asyncio.create_task(self._ask(message, origin, inbox))
        try:
            await self._pass_on(inbox, conversation, pending, origin)
            answer = await asking
            if len(answer.raw) >= LARGE_BYTES:
                await take_turn()
        except Foreign as problem:
            return read_message(await conversation.refuse_foreign(message.id, pending, problem))
        except (UpstreamFailed, BadMessage, AmbiguousKeys, NotJson) as problem:
            is_timeout = isinstance(problem, UpstreamTimeout)
            # The first only repeats an earlier error, the second has nothing to do with the server.
            if not isinstance(problem, UpstreamResting | PlacesRefused):
                self._health.note_error(str(problem))
            failed = conversation.fail(
                message.id,
                pending,
                str(problem),
                code=UPSTREAM_TIMEOUT if is_timeout else UPSTREAM_FAILED,
                rule=rules.UPSTREAM_TIMEOUT if is_timeout else rules.UPSTREAM_FAILED,
            )
            return read_message(failed)
        finally:
            inbox.close()
            asking.cancel()
            await asyncio.wait((asking,))
            if not asking.cancelled():
                asking.exception()  # retrieved: it was handled, or is being raised
        seconds = self._server.now() - began if pending.call is not None else None
        self._health.note_answer(seconds, self.native.era or Era.UNKNOWN)
        reply = await conversation.from_server(answer)
        if reply is answer.raw:
            return answer  # nearly always: it goes on as it was read
        return read_message(reply or conversation.fail(message.id, pending, "The server's answer was not usable."))

    async def _ask(self, message: Message, origin: Requester, inbox: Inbox) -> Message:
        watched = replace(origin, send=inbox.put, flow=inbox.flow)
        try:
            if self._request_places is None or purpose_of(message.method) is not Purpose.REQUEST:
                return await self.native.request(message, watched)
            with self._request_places.hold(origin.caller.address):
                return await self.native.request(message, watched)
        finally:
            inbox.end()

    async def _pass_on(self, inbox: Inbox, conversation: Conversation, pending: Pending, origin: Requester) -> None:
        """Passes on what comes before the answer, in order. Raises: UpstreamTimeout."""
        clock = asyncio.get_running_loop().time
        time = self._time(pending, clock())
        try:
            while True:
                async with asyncio.timeout_at(None if time is None else time.due):
                    found = await inbox.next()
                    if found is not None and origin.flow is not None:
                        await origin.flow.room()
                if found is None:
                    return
                if time is not None and is_sign_of_life(found, pending):
                    time.extend(clock())
                if time is not None and clock() > time.due:  # in a flood of messages the timeout may never fire
                    raise TimeoutError
                reply = await conversation.from_server(found)
                if reply is not None:
                    origin.send(reply)
        except TimeoutError:
            assert time is not None
            raise UpstreamTimeout(time.describe()) from None

    def _note_slow(self) -> None:
        reason = "Notifications for a client that reads too slowly were dropped."
        self._server.journal.diagnose(self._server.name, rules.CLIENT_SLOW, reason)

    def _time(self, pending: Pending, now: float) -> CallTime | None:
        """The time limit of a request; a subscription has none."""
        return None if pending.method == "subscriptions/listen" else CallTime(self._limits(), now)

    def _param_mismatch(self, message: Message, origin: Requester) -> str | None:
        """How the headers differ from arguments that the tool wants repeated there; None where they agree."""
        return None if origin.params is None else param_mismatch(self._server, origin.params, message)

    async def _list_page(self, message: Message, origin: Requester, cursor: bytes | None) -> Message:
        """Requests a page as the client would: its capabilities may decide which tools there are."""
        params = {} if cursor is None else {"cursor": msgspec.Raw(cursor)}
        capabilities = message.meta().get(META_CAPABILITIES, msgspec.Raw(b"{}"))
        try:
            return await ask(
                self.native,
                "tools/list",
                params,
                caller=origin.caller,
                capabilities=capabilities,
            )
        except (UpstreamFailed, BadMessage) as problem:
            raise ConnectionError(str(problem)) from problem
