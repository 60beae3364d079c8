"""One server as a backend: every request judged, recorded and bounded in time on its way."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import replace

import msgspec

from handfast.core.exchange import Status
from handfast.gateway.backend import Origin, ask
from handfast.gateway.bridge.inbox import Inbox
from handfast.gateway.bridge.native_server import NativeServer
from handfast.gateway.caller_ids import Foreign
from handfast.gateway.conversation import Conversation, is_sign_of_life
from handfast.gateway.http_response import UpstreamFailed, UpstreamTimeout
from handfast.gateway.param_headers import param_mismatch
from handfast.gateway.pending import Pending
from handfast.gateway.server_health import ServerHealth, State, UpstreamResting
from handfast.gateway.server_side import ServerSide
from handfast.gateway.settings.blocks import Limits
from handfast.wire.codes import HEADER_MISMATCH, INVALID_REQUEST, UPSTREAM_FAILED, UPSTREAM_TIMEOUT
from handfast.wire.eras import META_CAPABILITIES
from handfast.wire.message import AmbiguousKeys, BadMessage, Message, read_message
from handfast.wire.replies import error_reply
from handfast.wire.scan import NotJson


class JudgedServer:
    def __init__(
        self, server: ServerSide, native: NativeServer, *, health: ServerHealth, limits: Callable[[], Limits]
    ) -> None:
        self._server = server
        self.native = native
        self._health = health
        self._limits = limits

    async def request(self, message: Message, origin: Origin) -> bytes:
        conversation = Conversation(self._server, lambda _, cursor: self._list_page(message, origin, cursor))
        conversation.caller = origin.caller
        step = await conversation.from_client(message)
        if step.to_server is None:
            return step.to_client or error_reply(message.id, INVALID_REQUEST, "The request was cancelled.")
        assert message.id is not None
        pending = conversation.open_requests[message.id]
        mismatch = self._param_mismatch(message, origin)
        if mismatch is not None:
            return conversation.fail(
                message.id, pending, mismatch, code=HEADER_MISMATCH, rule="message.header_mismatch"
            )
        self._health.in_progress += pending.call is not None
        try:
            return await self._relay(conversation, pending, message, origin)
        finally:
            self._health.in_progress -= pending.call is not None
            if pending.call is not None:
                # Only where it was not recorded by then.
                self._server.path.conclude(pending.call, Status.CANCELLED, reason="The client cancelled the call.")

    def leave(self, caller: str) -> None:
        self.native.leave(caller)

    async def close(self) -> None:
        await self.native.close()

    async def _relay(self, conversation: Conversation, pending: Pending, message: Message, origin: Origin) -> bytes:
        assert message.id is not None
        began = self._server.now()
        inbox = Inbox(self._note_slow)
        asking = asyncio.create_task(self._ask(message, origin, inbox))
        try:
            await self._pass_on(inbox, conversation, origin, seconds=self._seconds(pending))
            answer = read_message(await asking)
        except Foreign as problem:
            return await conversation.refuse_foreign(message.id, pending, problem)
        except (UpstreamFailed, BadMessage, AmbiguousKeys, NotJson) as problem:
            is_timeout = isinstance(problem, UpstreamTimeout)
            if not isinstance(problem, UpstreamResting):  # that one only tells of an earlier error
                self._health.note_error(str(problem))
            return conversation.fail(
                message.id,
                pending,
                str(problem),
                code=UPSTREAM_TIMEOUT if is_timeout else UPSTREAM_FAILED,
                rule="upstream.timeout" if is_timeout else "upstream.failed",
            )
        finally:
            inbox.close()
            asking.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await asking  # what it raised was dealt with, or is being raised
        self._note_answer(pending, began)
        reply = await conversation.from_server(answer)
        return reply or conversation.fail(message.id, pending, "The server's answer was not usable.")

    async def _ask(self, message: Message, origin: Origin, inbox: Inbox) -> bytes:
        watched = replace(origin, send=inbox.put, flow=inbox.flow)
        try:
            return await self.native.request(message, watched)
        finally:
            inbox.end()

    async def _pass_on(
        self, inbox: Inbox, conversation: Conversation, origin: Origin, *, seconds: float | None
    ) -> None:
        """Whatever comes before the answer, in order. Raises: UpstreamTimeout."""
        clock = asyncio.get_running_loop().time
        deadline = None if seconds is None else clock() + seconds
        try:
            while True:
                async with asyncio.timeout_at(deadline):
                    found = await inbox.next()
                    if found is not None and origin.flow is not None:
                        await origin.flow.room()
                if found is None:
                    return
                if seconds is not None and is_sign_of_life(found):
                    deadline = clock() + seconds
                if deadline is not None and clock() > deadline:  # a flood may leave the timeout no moment to strike
                    raise TimeoutError
                reply = await conversation.from_server(found)
                if reply is not None:
                    origin.send(reply)
        except TimeoutError:
            text = f"The server neither answered nor reported progress for {seconds:g} s. The call was given up."
            raise UpstreamTimeout(text) from None

    def _note_slow(self) -> None:
        reason = "Notifications for a client that reads too slowly were dropped."
        self._server.journal.diagnose(self._server.name, "client.slow", reason)

    def _seconds(self, pending: Pending) -> float | None:
        """A subscription may be silent for as long as it likes."""
        return None if pending.method == "subscriptions/listen" else self._limits().call_timeout_s

    def _note_answer(self, pending: Pending, began: float) -> None:
        if self._health.state is not State.UP:
            self._health.succeeded()
        if pending.call is not None:
            self._health.answered(self._server.now() - began)
        if self.native.era is not None:
            self._health.era = self.native.era

    def _param_mismatch(self, message: Message, origin: Origin) -> str | None:
        """What a tool wants repeated in headers is compared here, where both are seen."""
        return None if origin.params is None else param_mismatch(self._server, origin.params, message)

    async def _list_page(self, message: Message, origin: Origin, cursor: bytes | None) -> Message:
        """As the client would be shown it: what it can do may decide what there is."""
        params = {} if cursor is None else {"cursor": msgspec.Raw(cursor)}
        capabilities = message.meta().get(META_CAPABILITIES, msgspec.Raw(b"{}"))
        try:
            return await ask(
                self.native,
                "tools/list",
                params,
                caller=origin.caller,
                address=origin.address,
                capabilities=capabilities,
            )
        except (UpstreamFailed, BadMessage) as problem:
            raise ConnectionError(str(problem)) from problem
