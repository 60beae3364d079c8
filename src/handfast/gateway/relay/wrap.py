"""`handfast wrap -- CMD`: one stdio server behind our own stdin and stdout, judged line by line."""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.crashes import describe_crash
from handfast.gateway.admission.call_places import CLOSED
from handfast.gateway.admission.server_era import find_modern
from handfast.gateway.calls.conversation import Conversation
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.process.child import Child
from handfast.gateway.process.orphans import has_terminal
from handfast.gateway.process.server_output import ServerOutput
from handfast.gateway.settings.blocks import Limits
from handfast.pipes import InputPipe, OutputPipe
from handfast.wire.codes import INTERNAL_ERROR, REQUEST_TOO_LARGE, UPSTREAM_TIMEOUT
from handfast.wire.eras import MODERN_META, opens_modern
from handfast.wire.lines import LineAssembler, OverlongLine
from handfast.wire.message import BadMessage, Message, RequestId, read_message
from handfast.wire.replies import error_reply, notification, request

_FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGWINCH")
_SWEEP_SECONDS = 1.0
_LAST_GREETING_SECONDS = 5.0  # for the answer to a handshake whose client has left
_LEAVE_SECONDS = (
    10.0  # for a server to end by itself once its input has; a client that waits for less says so by signal
)
_GRACE_SECONDS = 1.5  # twice that is less than the four seconds after which official clients kill us
_BROKEN = "handfast failed on this message. The operator finds the cause in its error output."
_log = logging.getLogger("handfast.gateway")


@dataclass(frozen=True, slots=True)
class Misfit:
    """Client and server are of different eras: the client's pipes and unread bytes, for a translating front."""

    input: InputPipe
    output: OutputPipe
    unread: bytes
    is_server_modern: bool


class Wrapper:
    """Relays between our client and the server's process until that is gone."""

    def __init__(
        self, server: ServerSide, *, message_limit: int, limits: Callable[[], Limits], may_misfit: bool = False
    ) -> None:
        """`may_misfit`: a server of another era than its client is given up, see `Misfit`."""
        self._server = server
        self._may_misfit = may_misfit
        self._is_first = True  # no message of the client was read yet
        self._opening: Message | None = None  # the client's handshake, while it is not answered
        self._held: list[bytes] | None = None  # what the client sends while the server's era is found out
        self._has_client_left = self._is_over = False
        self._is_unheard = False  # the client reads no more
        self._is_leaving = False  # no request is open, and the server's input is closed
        self._is_misfit = self._is_server_modern = self._is_probing = False
        self._limit = message_limit
        self._limits = limits
        # A random session, so that tasks belong to this process alone.
        self._conversation = Conversation(server, self._list_page, Caller(session=token_hex(8)))
        self._own: dict[RequestId, asyncio.Future[Message]] = {}
        self._own_prefix = f"handfast-{token_hex(6)}-"
        self._client_lines = LineAssembler(message_limit)
        self._tasks: set[asyncio.Task[None]] = set()
        self._from_client_tasks: set[asyncio.Task[None]] = set()
        self._child = Child(
            lines=LineAssembler(message_limit),
            on_line=self._line_from_server,
            on_exit=lambda _code: None,
            # Its stderr is ours, to the byte; a terminal would obey control sequences, so there it gets plain text.
            on_stderr=ServerOutput() if sys.stderr.isatty() else None,
            on_congestion=lambda is_paused: self._input.pause(is_paused),
        )
        self._input = InputPipe(self._bytes_from_client, self._client_left)
        self._output = OutputPipe(lambda is_paused: self._child.pause_reading(is_paused), self._output_lost)

    async def run(self, command: Sequence[str]) -> int | Misfit:
        """Runs the server; its exit code as a shell reports it, or a Misfit. Raises: ChildStartFailed."""
        await self._child.start(command, shares_terminal=has_terminal())
        self._forward_signals()
        await self._output.open(sys.stdout.buffer)
        await self._input.open(sys.stdin.buffer)
        sweep = asyncio.create_task(self._sweep())
        await self._child.gone.wait()
        sweep.cancel()
        if self._is_misfit or self._is_probing:  # some legacy servers end at a message that they do not know
            return await self._hand_over()
        await self._finish()
        code = self._child.returncode or 0
        return code if code >= 0 else 128 - code

    async def _hand_over(self) -> Misfit:
        self._is_misfit = True
        self._conversation.open_requests.clear()
        self._server.learner.close()
        await self._end_tasks()
        lines = self._held or []
        rest = self._client_lines.close() or b""
        unread = b"".join(line + b"\n" for line in lines) + rest
        return Misfit(self._input, self._output, unread, self._is_server_modern)

    async def _finish(self) -> None:
        self._input.pause(True)
        self._release()
        await self._end_tasks()
        self._is_over = True  # later messages cannot reach the server, and soon cannot be recorded
        for request_id, pending in list(self._conversation.open_requests.items()):
            text = "The server exited before it answered. Start it again and repeat the call if that is safe."
            self._output.write_line(self._conversation.fail(request_id, pending, text, rule=rules.UPSTREAM_EXITED))
        self._conversation.open_requests.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                await self._output.flush()
        self._server.learner.close()

    async def _end_tasks(self) -> None:
        """Ends all tasks now that the server is gone, and again those that begin another wait."""
        while self._tasks:
            self._conversation.stop_waiting()
            self._conversation.dismiss(CLOSED)
            for future in self._own.values():
                future.cancel()
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    # --- from the client -------------------------------------------------------------------------------------------

    def _bytes_from_client(self, chunk: bytes) -> None:
        for line in self._client_lines.feed(chunk):
            self._line_from_client(line)

    def _client_left(self) -> None:
        if self._is_misfit or self._is_over:
            return
        rest = self._client_lines.close()
        if rest:
            self._line_from_client(rest)
        self._has_client_left = True
        if self._held is None:
            self._end_child_input()
        elif self._opening is not None:
            # A server that does not answer the handshake still gets the held messages, and then the end of its input.
            asyncio.get_running_loop().call_later(_LAST_GREETING_SECONDS, self._release_unanswered)

    def _output_lost(self) -> None:
        self._is_unheard = True
        self._client_left()
        self._leave()

    def _leave(self) -> None:
        """Lets the server notice that nobody reads it: one that asks and waits for an answer would go on waiting."""
        if self._is_leaving and self._is_unheard and not self._child.gone.is_set():
            self._child.close_stdout()

    def _release_unanswered(self) -> None:
        if self._opening is not None:
            self._release()

    def _end_child_input(self) -> None:
        self._spawn(self._close_child_input(set(self._from_client_tasks)))

    async def _close_child_input(self, under_way: set[asyncio.Task[None]]) -> None:
        """Closes the server's input once everything that the client sent has reached it; then stops the server."""
        if under_way:
            await asyncio.wait(under_way)
        self._child.close_stdin()
        while self._conversation.open_requests and not self._child.gone.is_set():
            with contextlib.suppress(TimeoutError):  # it may still finish open requests
                async with asyncio.timeout(_SWEEP_SECONDS):
                    await self._child.gone.wait()
        self._is_leaving = True
        self._leave()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_SECONDS):
                await self._child.gone.wait()
        await self._child.stop(grace=_GRACE_SECONDS)

    def _line_from_client(self, line: bytes | OverlongLine) -> None:
        if self._is_over:
            return
        if isinstance(line, OverlongLine):
            text = f"The message is over the limit of {self._limit} bytes. Send a smaller one."
            self._server.journal.diagnose(self._server.name, rules.MESSAGE_REFUSED, text)
            self._output.write_line(error_reply(None, REQUEST_TOO_LARGE, text))
            return
        try:
            message = read_message(line)
        except BadMessage as problem:
            self._server.journal.diagnose(self._server.name, rules.MESSAGE_REFUSED, problem.reason)
            self._output.write_line(error_reply(problem.id, problem.code, problem.reason))
            return
        if self._held is not None and not (message.is_answer and self._opening is not None):
            self._held.append(line)
            return
        if self._is_first and self._may_misfit:
            self._is_first = False
            is_modern = opens_modern(message)
            if is_modern:
                self._held = [line]
                self._spawn(self._go_on_if_modern())
                return
            if is_modern is False:
                self._opening, self._held = message, []  # what follows waits: a server may refuse the handshake
        task = self._spawn(self._from_client(message))
        self._from_client_tasks.add(task)
        task.add_done_callback(self._from_client_tasks.discard)

    async def _from_client(self, message: Message) -> None:
        try:
            step = await self._conversation.from_client(message)
        except Exception as error:  # noqa: BLE001 - the outermost edge: one that breaks us must not silence the others
            _log.error("A message from the client failed inside the wrapper:\n%s", describe_crash(error))
            if message.is_request:
                self._output.write_line(error_reply(message.id, INTERNAL_ERROR, _BROKEN))
            return
        if step.to_client is not None:
            self._output.write_line(step.to_client)
        if step.to_server is not None:
            self._child.send(step.to_server)

    # --- from the server -------------------------------------------------------------------------------------------

    def _line_from_server(self, line: bytes | OverlongLine) -> None:
        if isinstance(line, OverlongLine):
            reply = self._conversation.refuse_overlong(line.head, self._limit)
            if reply is not None:
                self._output.write_line(reply)
            return
        self._spawn(self._from_server(line))

    async def _from_server(self, line: bytes) -> None:
        try:
            message = read_message(line)
        except BadMessage as problem:
            reply = await self._conversation.refuse_answer(problem)
        else:
            if message.is_answer and isinstance(message.id, str) and message.id.startswith(self._own_prefix):
                answer = self._own.pop(message.id, None)
                if answer is not None and not answer.done():  # the request may have been given up
                    answer.set_result(message)
                return
            opening = self._opening
            is_greeting = opening is not None and message.is_answer and (message.id == opening.id or message.has_error)
            if is_greeting and await self._is_refused(message):
                return
            reply = await self._reply_to(message)
            if is_greeting:
                self._write(reply)
                self._release()
                return
        self._write(reply)

    def _write(self, reply: bytes | None) -> None:
        if reply is not None:
            self._output.write_line(reply)

    async def _reply_to(self, message: Message) -> bytes | None:
        try:
            return await self._conversation.from_server(message)
        except Exception as error:  # noqa: BLE001 - as above
            _log.error("A message from the server failed inside the wrapper:\n%s", describe_crash(error))
            return error_reply(message.id, INTERNAL_ERROR, _BROKEN) if message.is_answer else None

    async def _list_page(self, conversation: Conversation, cursor: bytes | None) -> Message:
        """Requests a page of the tools with an id of our own, which no client uses."""
        return await self._ask(lambda request_id: conversation.list_request(request_id, cursor))

    async def _ask(self, render: Callable[[str], bytes]) -> Message:
        request_id = f"{self._own_prefix}{len(self._own)}-{token_hex(4)}"
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._own[request_id] = answer
        if self._child.gone.is_set():
            answer.cancel()
        self._child.send(render(request_id))
        try:
            return await answer
        finally:
            self._own.pop(request_id, None)

    # --- when client and server do not understand each other -------------------------------------------------------

    async def _go_on_if_modern(self) -> None:
        """Sends a modern client's messages on to a modern server, and gives up any other server."""
        is_modern = await self._speaks_modern()
        if is_modern:
            self._release()
        elif not self._is_misfit:
            await self._give_up()

    async def _is_refused(self, message: Message) -> bool:
        """Whether this answer refuses the handshake because the server is modern; such a server is given up."""
        opening, self._opening = self._opening, None
        if opening is None or not message.has_error:
            return False
        self._held = [opening.raw, *(self._held or [])]
        is_modern = await self._speaks_modern()
        if self._is_misfit:
            return True  # the server ended meanwhile, and the client is handed over
        if not is_modern:
            self._held = self._held[1:]
            return False
        self._is_server_modern = True
        await self._give_up()
        return True

    def _release(self) -> None:
        """Sends on what was held; a client that left meanwhile counts as gone only after that."""
        held, self._held, self._opening = self._held, None, None
        for line in held or []:
            self._line_from_client(line)
        if held is not None and self._has_client_left:
            self._end_child_input()

    async def _speaks_modern(self) -> bool:
        asked = self._ask(lambda request_id: request(request_id, "server/discover", {"_meta": MODERN_META}))
        self._is_probing = True
        self._spawn(self._nudge())
        try:
            return await find_modern(asked)
        except (TimeoutError, asyncio.CancelledError):
            return False
        finally:
            self._is_probing = False

    async def _nudge(self) -> None:
        """Say one thing more: servers on SDKs of 2024 and 2025 fall silent at a probe, and end with the next message.

        They are not offered a handshake first, as `serve` does: this is the process that a modern client would be
        relayed to, and a second one for each session would cost every modern server its start.
        """
        await self._ask(lambda request_id: request(request_id, "ping"))

    async def _give_up(self) -> None:
        self._is_misfit = True
        await self._child.stop(grace=_GRACE_SECONDS)

    # --- time and signals ------------------------------------------------------------------------------------------

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            if self._opening is not None and not self._conversation.open_requests:
                self._release()  # the handshake took too long and was answered here
            for request_id, pending, text in self._conversation.take_overdue(self._server.now(), self._limits()):
                if pending.is_cancelled:
                    continue  # its client no longer waits for it
                self._output.write_line(
                    self._conversation.fail(
                        request_id, pending, text, code=UPSTREAM_TIMEOUT, rule=rules.UPSTREAM_TIMEOUT
                    )
                )
                self._child.send(
                    notification("notifications/cancelled", {"requestId": request_id, "reason": "timeout"})
                )

    def _forward_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for name in _FORWARDED:
            number = getattr(signal, name, None)
            if number is None or (name in ("SIGINT", "SIGQUIT") and sys.stdin.isatty()):
                continue  # a terminal sends these to the server too, which must not get them twice
            with contextlib.suppress(NotImplementedError, RuntimeError):
                loop.add_signal_handler(number, self._child.send_signal, number)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:  # Any: a coroutine's send types
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
