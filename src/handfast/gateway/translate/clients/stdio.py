"""A client of either era on our own stdin and stdout, in front of a Backend: lines in, lines out."""

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable, Sequence
from typing import IO, Final

from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.crashes import describe_crash
from handfast.gateway.calls.refused_requests import note_refused
from handfast.gateway.translate.backend import Backend, Requester
from handfast.gateway.translate.clients.legacy_client import (
    Diagnose,
    LegacyClient,
    RecordRefused,
    cancelled_id,
    check_open,
    record_nothing,
)
from handfast.pipes import InputPipe, OutputPipe
from handfast.wire.codes import INTERNAL_ERROR, REQUEST_TOO_LARGE
from handfast.wire.eras import MODERN_REVISION, opens_modern
from handfast.wire.lines import LineAssembler, OverlongLine, one_line
from handfast.wire.message import BadMessage, Message, RequestId, read_message
from handfast.wire.modern_request import find_fault, find_legacy_method
from handfast.wire.replies import error_reply

_WAITING_BYTES: Final = 64 * 1024 * 1024  # what may wait for a client that does not read: one message of any size
_FLUSH_SECONDS: Final = 5.0
_BROKEN: Final = "handfast failed on this message. The operator finds the cause in its error output."
_SLOW: Final = "The client reads more slowly than messages come, so its request was cancelled. Read them as they come."
_log = logging.getLogger("handfast.gateway")


class StdioFront:
    def __init__(
        self,
        backend: Backend,
        *,
        message_limit: int,
        diagnose: Diagnose,
        record_refused: RecordRefused = record_nothing,
        supported: Callable[[], Sequence[str]] = lambda: (MODERN_REVISION,),
        caller: Caller,
        waiting_bytes: int = _WAITING_BYTES,
    ) -> None:
        self._backend = backend
        self._limit = message_limit
        self._diagnose = diagnose
        self._record_refused = record_refused
        self._supported = supported
        self._caller = caller
        self._most_waiting = waiting_bytes
        self._legacy = LegacyClient(backend, self._deliver, caller=caller, diagnose=diagnose)
        self._has_handshake = False
        self._is_modern = False
        self._open: dict[RequestId, _Request] = {}
        self._lines = LineAssembler(message_limit)
        self._ended = asyncio.Event()
        self._is_lost = False
        self._input = InputPipe(self._bytes_from_client, self._input_ended)
        self._output = OutputPipe(lambda is_paused: self._input.pause(is_paused), self._output_lost)

    async def run(self, stdin: IO[bytes] | None = None, stdout: IO[bytes] | None = None) -> None:
        """Serves until the client has left and its requests are answered."""
        await self._output.open(stdout or sys.stdout.buffer)
        await self._input.open(stdin or sys.stdin.buffer)
        await self._serve()

    async def take_over(self, given: InputPipe, taken: OutputPipe, unread: bytes) -> None:
        """As `run`, with a client whose pipes `wrap` has begun to read."""
        self._input, self._output = given, taken
        taken.redirect(lambda is_paused: given.pause(is_paused), self._output_lost)
        self._bytes_from_client(unread)
        given.redirect(self._bytes_from_client, self._input_ended)
        await self._serve()

    def stop(self) -> None:
        """Stops serving the client, and cancels what it waits for."""
        self._ended.set()
        for request in self._open.values():
            request.cancel()

    async def _serve(self) -> None:
        try:
            await self._ended.wait()
            await self._finish()
        finally:
            self._legacy.close()
            tasks = [request.cancel() for request in self._open.values()]
            if tasks:
                await asyncio.wait(tasks)
            self._input.close()

    async def _finish(self) -> None:
        self._legacy.leave()
        for request in self._open.values():
            if request.is_subscription:
                request.cancel()
        while self._open:
            await asyncio.wait([request.task for request in self._open.values()])
            await asyncio.sleep(0)  # requests that are done remove themselves
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._output.flush()

    # --- from the client -------------------------------------------------------------------------------------------

    def _bytes_from_client(self, chunk: bytes) -> None:
        for line in self._lines.feed(chunk):
            self._line(line)

    def _input_ended(self) -> None:
        rest = self._lines.close()
        if rest:
            self._line(rest)
        self._ended.set()

    def _output_lost(self) -> None:
        self._is_lost = True
        self._input.close()
        self._ended.set()
        for request in self._open.values():
            request.cancel()

    def _line(self, line: bytes | OverlongLine) -> None:
        if self._is_lost:
            return  # the client cannot read an answer
        if isinstance(line, OverlongLine):
            text = f"The message is over the limit of {self._limit} bytes. Send a smaller one."
            self._diagnose(rules.MESSAGE_REFUSED, text)
            self._write(error_reply(None, REQUEST_TOO_LARGE, text))
            return
        try:
            message = read_message(line)
        except BadMessage as problem:
            self._diagnose(rules.MESSAGE_REFUSED, problem.reason)
            self._write(error_reply(problem.id, problem.code, problem.reason))
            return
        self._note_era(message)
        if message.is_request:
            self._begin(message)
        elif not self._is_modern:
            # After the requests that were read before it, whose tasks have yet to begin.
            asyncio.get_running_loop().call_soon(self._legacy.take, message)
        elif message.method == "notifications/cancelled":
            found = self._open.get(cancelled_id(message))
            if found is not None:
                found.cancel()
        elif message.is_answer:
            self._diagnose(
                rules.MESSAGE_UNPAIRED, "An answer from the client belongs to no open request and was dropped."
            )

    def _note_era(self, message: Message) -> None:
        """Takes the era from the first message; a refused modern client may still fall back to a handshake."""
        if self._has_handshake:
            return
        is_modern = opens_modern(message)
        if is_modern is not None:
            self._is_modern = is_modern
            self._has_handshake = not is_modern

    def _begin(self, message: Message) -> None:
        assert message.id is not None
        if (refusal := check_open(message, self._open)) is not None:
            rule, text, code = refusal
            self._record_refused(message, self._caller, rule, text)
            self._write(error_reply(message.id, code, text))
        else:
            self._open[message.id] = _Request(self, message, is_modern=self._is_modern)

    # --- to the client ---------------------------------------------------------------------------------------------

    @property
    def is_overfull(self) -> bool:
        return self._output.waiting_bytes > self._most_waiting

    def _write(self, message: bytes) -> None:
        self._output.write_line(one_line(message))

    def _deliver(self, message: bytes) -> None:
        """Sends a message that belongs to no request."""
        if self.is_overfull:
            self._diagnose(rules.MESSAGE_UNREAD, "The client does not read, so a notification for it was dropped.")
            return
        self._write(message)

    # --- as the owner of requests ----------------------------------------------------------------------------------

    async def answer(self, message: Message, request: "_Request", *, is_modern: bool) -> bytes | None:
        if not is_modern:
            return await self._legacy.request(message, request.send)
        refusal = find_fault(message, None, self._supported()) or find_legacy_method(message)
        if refusal is not None:
            return note_refused(self._diagnose, message, refusal)
        return (await self._backend.request(message, Requester(self._caller, request.send))).raw

    def send(self, message: bytes) -> None:
        self._write(message)

    def done(self, request_id: RequestId, answer: bytes | None) -> None:
        del self._open[request_id]
        if answer is None or self._is_lost:
            return
        self._write(error_reply(request_id, INTERNAL_ERROR, _SLOW) if self.is_overfull else answer)


class _Request:
    """One request under way."""

    def __init__(self, front: StdioFront, message: Message, *, is_modern: bool) -> None:
        assert message.id is not None
        self._front = front
        self._id = message.id
        self._instead: bytes | None = None
        self.is_subscription = is_modern and message.method == "subscriptions/listen"
        self.task = asyncio.create_task(self._run(message, is_modern=is_modern))
        self.task.add_done_callback(self._over)  # also where it is cancelled before it begins

    def cancel(self) -> "asyncio.Task[bytes | None]":
        self.task.cancel()
        return self.task

    def send(self, message: bytes) -> None:
        """Sends a message that belongs to the request and comes before its answer."""
        if self._instead is not None:
            return
        if self._front.is_overfull:
            self._instead = error_reply(self._id, INTERNAL_ERROR, _SLOW)
            self.task.cancel()
            return
        self._front.send(message)

    async def _run(self, message: Message, *, is_modern: bool) -> bytes | None:
        try:
            return await self._front.answer(message, self, is_modern=is_modern)
        except Exception as error:  # noqa: BLE001 - the outermost edge: one that breaks us must not silence the others
            _log.error("A request from the client failed inside the gateway:\n%s", describe_crash(error))
            return error_reply(self._id, INTERNAL_ERROR, _BROKEN)

    def _over(self, task: "asyncio.Task[bytes | None]") -> None:
        answer = None if task.cancelled() else task.result()
        self._front.done(self._id, self._instead or answer)
