"""One stdio server as a child process: lines in, lines out, bounded, with back-pressure both ways."""

import asyncio
import contextlib
import os
import shutil
import signal
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from handfast.core.words.redaction import scrub_text
from handfast.gateway.process.orphans import prepare_watch, unwatch_child, watch_child
from handfast.gateway.process.pipe import PipeFailed
from handfast.gateway.process.piped_process import start_process
from handfast.wire.lines import LineAssembler, OverlongLine, one_line

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_LAST_SECONDS = 1.0  # for a process whose pipes are closed, or pipes whose process is gone
_LINES_AT_ONCE = 64  # some milliseconds of work; one read may bring thousands, and other connections would wait
_GRACE_SECONDS = 2.0  # as long as the official clients wait before each harder step


class ChildStartFailed(PipeFailed):
    """The command could not be started; the message says what to check."""


def _what_is_missing(command: str, cwd: str | None) -> str:
    if cwd and not os.path.isdir(cwd):
        return "its working folder does not exist. Make it, or correct its cwd."
    if not os.path.dirname(command) or os.path.isabs(command):
        return "no such command. Check the command and the PATH."
    beside = f", not in {scrub_text(cwd)}, where it would run" if cwd else ""
    return f"no such command. It is looked for in {scrub_text(os.getcwd())}, where handfast runs{beside}."


class Child(asyncio.SubprocessProtocol):
    """A running child. `on_line` gets every line of its stdout; `on_exit` is called once, after the last line.

    `on_stderr` gets the bytes of its stderr, and empty bytes at the end; without it the child writes to our stderr.
    """

    def __init__(
        self,
        *,
        lines: LineAssembler,
        on_line: Callable[[bytes | OverlongLine], None],
        on_exit: Callable[[int], None],
        on_stderr: Callable[[bytes], None] | None = None,
        on_congestion: Callable[[bool], None] | None = None,
    ) -> None:
        self._lines = lines
        self._on_line = on_line
        self._on_exit = on_exit
        self._on_stderr = on_stderr
        self._on_congestion = on_congestion
        self._transport: asyncio.SubprocessTransport | None = None
        self._open_pipes = {_STDOUT} if on_stderr is None else {_STDOUT, _STDERR}  # stderr where it is ours to read
        self._has_exited = False
        self._held: deque[bytes | OverlongLine] = deque()  # lines that have arrived and wait their turn
        self._is_catching_up = False  # while lines are held
        self._has_output_ended = False  # nothing more is read; lines may still be held
        self._is_paused = False  # because the receiver of the lines wants it so
        self._is_unread = False  # its stdout was closed by us
        self._leads_group = False
        self._watched = 0
        self.gone = asyncio.Event()
        self.returncode: int | None = None

    async def start(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        shares_terminal: bool = False,
    ) -> None:
        """Starts the child in a session of its own, so that its descendants end with it, unless it shares our terminal.

        Raises: ChildStartFailed.
        """
        self._leads_group = not shares_terminal and os.name == "posix"
        shown = scrub_text(command[0])  # may be a whole command line, with a token in it
        program = shutil.which(command[0], path=(env or os.environ).get("PATH")) or command[0]
        if os.path.dirname(program):
            program = os.path.abspath(program)  # relative to our folder, and not to the child's
        try:
            prepare_watch()
            await start_process(
                self,
                [program, *command[1:]],
                env=env,
                cwd=cwd,
                reads_stderr=self._on_stderr is not None,
                leads_session=self._leads_group,
            )
        except FileNotFoundError:
            raise ChildStartFailed(f"cannot start '{shown}': {_what_is_missing(command[0], cwd)}") from None
        except (OSError, ValueError) as problem:
            raise ChildStartFailed(f"cannot start '{shown}': {scrub_text(str(problem))}. Check the command.") from None

    @property
    def pid(self) -> int:
        return self._connected().get_pid()

    def send(self, message: bytes, _number: int | None = None, _headers: object = None, /) -> None:
        """Writes one message as one line. A raw line end in it would make two messages of it."""
        stdin = cast("asyncio.WriteTransport | None", self._connected().get_pipe_transport(_STDIN))  # fd 0 is written
        if stdin is not None and not stdin.is_closing():
            stdin.writelines((one_line(message), b"\n"))

    def close_stdin(self) -> None:
        stdin = self._connected().get_pipe_transport(_STDIN)
        if stdin is not None:
            stdin.close()

    def close_stdout(self) -> None:
        """Reads no more: what the server writes next fails, as it would for a server whose client has gone."""
        stdout = self._connected().get_pipe_transport(_STDOUT)
        if stdout is not None and not stdout.is_closing():
            self._is_unread = True
            stdout.close()

    def pause_reading(self, is_paused: bool) -> None:
        self._is_paused = is_paused
        self._read_or_wait()

    def _read_or_wait(self) -> None:
        stdout = cast("asyncio.ReadTransport | None", self._connected().get_pipe_transport(_STDOUT))  # fd 1 is read
        if stdout is None or stdout.is_closing():
            return
        if self._is_paused or self._is_catching_up:
            stdout.pause_reading()
        else:
            stdout.resume_reading()

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._connected().send_signal(number)

    async def stop(self, *, grace: float = _GRACE_SECONDS) -> None:
        """Stops the child as the protocol asks: closes its input, then terminates, then kills."""
        if self._transport is None:
            return
        self.close_stdin()
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self.gone.wait()
                return
            self._signal_all(number)
        await self.gone.wait()

    def _signal_all(self, number: int) -> None:
        """Signals the child and its process group: under npx the server itself is a process further down."""
        if not self._leads_group or self._has_exited:
            self.send_signal(number)
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _connected(self) -> asyncio.SubprocessTransport:
        if self._transport is None:
            raise RuntimeError("the child was not started")
        return self._transport

    # --- asyncio's callbacks ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)  # it is the transport of a process
        self._watched = -self.pid if self._leads_group else self.pid
        watch_child(self._watched)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == _STDERR and self._on_stderr is not None:
            self._on_stderr(data)
            return
        if self._has_output_ended:
            return
        lines = self._lines.feed(data)
        if not self._held and len(lines) <= _LINES_AT_ONCE:  # nearly always
            for line in lines:
                self._on_line(line)
            return
        self._held.extend(lines)
        self._hand_over(_LINES_AT_ONCE)
        if self._held and not self._is_catching_up:
            self._is_catching_up = True
            self._read_or_wait()
            asyncio.get_running_loop().call_soon(self._catch_up)

    def _catch_up(self) -> None:
        self._hand_over(_LINES_AT_ONCE)
        if self._held:
            asyncio.get_running_loop().call_soon(self._catch_up)
            return
        self._is_catching_up = False
        if self._has_output_ended:
            self._end_output()
        elif not self.gone.is_set():
            self._read_or_wait()

    def _hand_over(self, most: int) -> None:
        for _ in range(min(most, len(self._held))):
            self._on_line(self._held.popleft())

    def pipe_connection_lost(self, fd: int, _exc: Exception | None) -> None:
        if fd == _STDIN:
            return
        if fd == _STDOUT:
            self._has_output_ended = True
            if not self._has_exited and not self._is_unread:
                # It can answer nothing without its stdout, so a process that stays is of no use.
                asyncio.get_running_loop().call_later(_LAST_SECONDS, self._end_mute, signal.SIGTERM)
            if not self._is_catching_up:
                self._end_output()
            return
        self._open_pipes.discard(fd)
        self._finish_if_done()

    def _end_output(self) -> None:
        """Called with the last whole line: what follows it may be one without an end."""
        if _STDOUT in self._open_pipes:
            rest = self._lines.close()
            if rest:
                self._on_line(rest)
            self._open_pipes.discard(_STDOUT)
            self._finish_if_done()

    def process_exited(self) -> None:
        self._has_exited = True
        self._finish_if_done()
        if not self.gone.is_set():
            # A grandchild may hold the pipes open; the server itself is gone, so do not wait for ever.
            asyncio.get_running_loop().call_later(_LAST_SECONDS, self._close_pipes)

    def _end_mute(self, number: int) -> None:
        if not self._has_exited:
            self.send_signal(number)
            asyncio.get_running_loop().call_later(_GRACE_SECONDS, self._end_mute, signal.SIGKILL)

    def _end_rest(self, number: int) -> None:
        """Ends what the server left behind in its group. The id of the group is not reused while any of it is there."""
        if self._leads_group:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)
                if number == signal.SIGTERM:
                    asyncio.get_running_loop().call_later(_GRACE_SECONDS, self._end_rest, signal.SIGKILL)
                    return
        unwatch_child(self._watched)

    def _close_pipes(self) -> None:
        """Reads no more; the lines that have arrived still count."""
        self._open_pipes.discard(_STDERR)
        self._has_output_ended = True
        if not self._is_catching_up:
            self._end_output()
        self._finish_if_done()

    def pause_writing(self) -> None:
        if self._on_congestion is not None:
            self._on_congestion(True)

    def resume_writing(self) -> None:
        if self._on_congestion is not None:
            self._on_congestion(False)

    def _finish_if_done(self) -> None:
        if not self._has_exited or self._open_pipes or self.gone.is_set():
            return
        self.returncode = self._connected().get_returncode() or 0
        self.gone.set()
        self._connected().close()
        self._end_rest(signal.SIGTERM)
        if self._on_stderr is not None:
            self._on_stderr(b"")
        self._on_exit(self.returncode)
