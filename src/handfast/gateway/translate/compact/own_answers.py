"""Calls of the dispatcher that go no further: explained or refused here, on record before the answer leaves."""

from collections.abc import Awaitable

from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.exchange import Exchange, RecordingFailed, Status
from handfast.core.call.policy import InputErrors, Violation
from handfast.core.words.redaction import scrub_name
from handfast.gateway.calls.judged_calls import LEFT
from handfast.gateway.calls.server_side import ServerSide
from handfast.wire.codes import INVALID_PARAMS, RECORDING_FAILED, UPSTREAM_FAILED
from handfast.wire.message import Message, read_message
from handfast.wire.replies import answer_message, error_message, tool_error


class OwnAnswers:
    def __init__(self, server: ServerSide, dispatcher: str) -> None:
        self._server = server
        self._dispatcher = dispatcher

    async def explained(self, message: Message, caller: Caller, given: bytes | None, text: str) -> Message:
        call = self._open(caller)
        content = [{"type": "text", "text": text}]
        reply = answer_message(message.id, {"resultType": "complete", "content": content})
        recording = self._server.path.answer(
            call, given, Status.SUCCESS, rule=rules.DISPATCH_HELP, reason="The dispatcher explained its actions."
        )
        return await self._recorded(call, message, reply, recording)

    async def refused(
        self, message: Message, caller: Caller, given: bytes | None, violation: Violation, *, tool: str | None
    ) -> Message:
        """`tool` is the one that was meant, where there is such a tool: its settings say how a refusal is answered."""
        assert message.id is not None
        call = self._open(caller, tool)
        if call.policy.input.errors is InputErrors.PROTOCOL:
            reply = error_message(message.id, INVALID_PARAMS, violation.message)
        else:
            reply = read_message(tool_error(message.id, violation.message, is_modern=True))
        return await self._recorded(call, message, reply, self._server.path.refuse(call, given, violation))

    async def without_list(self, message: Message, caller: Caller, given: bytes | None, listed: Message) -> Message:
        """Answers where the server did not list its tools: with the server's own error, where it gave one."""
        text = "The server gave no list of its tools that could be used. Try again later."
        reply = listed if listed.has_error else error_message(message.id, UPSTREAM_FAILED, text)
        call = self._open(caller)
        recording = self._server.path.answer(call, given, Status.ERROR, rule=rules.UPSTREAM_FAILED, reason=text)
        return await self._recorded(call, message, reply, recording)

    def left(self, caller: Caller) -> None:
        """Records a call whose client left while the tools were being listed for it."""
        self._server.path.conclude(self._open(caller), Status.CANCELLED, rule=rules.CLIENT_LEFT, reason=LEFT)

    def _open(self, caller: Caller, tool: str | None = None) -> Exchange:
        server = self._server
        policy = server.policy_of(self._dispatcher if tool is None else tool)
        call = server.path.open(server=server.name, tool=self._dispatcher, policy=policy, caller=caller)
        if tool is not None:
            call.details["action"] = scrub_name(tool)
        return call

    async def _recorded(self, call: Exchange, message: Message, reply: Message, recording: Awaitable[None]) -> Message:
        """The reply, once the record is as durable as it has to be."""
        try:
            with self._server.path.recorded(call):
                await recording
        except RecordingFailed as problem:
            return error_message(message.id, RECORDING_FAILED, str(problem))
        return reply
