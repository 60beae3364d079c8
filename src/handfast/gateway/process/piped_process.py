"""A process with pipes on the event loop, started without a copy of this one.

uvloop forks, and copying the memory map of a gateway stops its loop for four to six milliseconds; the standard library
starts a process in a fraction of one.
"""

import asyncio
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import IO, Final

from handfast.pipes import connect_pipe

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_IS_POSIX: Final = os.name == "posix"


async def start_process(
    protocol: asyncio.SubprocessProtocol,
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None,
    cwd: str | None,
    reads_stderr: bool,
    leads_session: bool,
) -> None:
    """Starts a command with pipes for its input and output. Raises: OSError, ValueError."""
    loop = asyncio.get_running_loop()
    stderr = subprocess.PIPE if reads_stderr else None
    if not _IS_POSIX:  # where the loop can read only pipes of another kind
        await loop.subprocess_exec(
            lambda: protocol,
            *command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=None if env is None else dict(env),
            cwd=cwd,
        )
        return
    process = subprocess.Popen(  # noqa: ASYNC220 - a fraction of a millisecond; nothing starts a process without waiting
        command,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=env,
        cwd=cwd,
        start_new_session=leads_session,
    )
    try:
        piped = _PipedProcess(process, protocol, loop)
    except OSError:
        process.kill()
        process.wait()  # at once
        raise
    await piped.connect()


class _PipedProcess(asyncio.SubprocessTransport):
    """Stands in for asyncio's own transport of a process."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        protocol: asyncio.SubprocessProtocol,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__()
        self._process = process
        self._protocol = protocol
        self._loop = loop
        files = {_STDIN: process.stdin, _STDOUT: process.stdout, _STDERR: process.stderr}
        self._unconnected = {fd: _take_over(file) for fd, file in files.items() if file is not None}
        self._pipes: dict[int, asyncio.BaseTransport] = {}

    async def connect(self) -> None:
        """Raises: OSError."""
        self._protocol.connection_made(self)
        try:
            for fd in list(self._unconnected):
                make_pipe = partial(_Pipe, self._protocol, fd, self._pipes)
                await connect_pipe(make_pipe, self._unconnected.pop(fd), writes=fd == _STDIN)
        except BaseException:
            self.close()
            raise
        finally:
            # Only now: a protocol closes what has ended, and no pipe may close while the loop connects it.
            self._watch()

    def _watch(self) -> None:
        """Tells the protocol when the process has ended."""
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):  # not Linux, or an old one
            threading.Thread(target=self._wait, name="wait for a server", daemon=True).start()
        else:
            self._loop.add_reader(descriptor, self._ended, descriptor)

    def _wait(self) -> None:
        self._process.wait()
        with suppress(RuntimeError):  # the loop is closed, so the end no longer matters
            self._loop.call_soon_threadsafe(self._protocol.process_exited)

    def _ended(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        os.close(descriptor)
        self._process.wait()  # at once
        self._protocol.process_exited()

    # --- what a protocol asks of its transport -----------------------------------------------------------------------

    def get_pid(self) -> int:
        return self._process.pid

    def get_returncode(self) -> int | None:
        return self._process.returncode

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport | None:
        return self._pipes.get(fd)

    def send_signal(self, signal: int) -> None:
        self._process.send_signal(signal)

    def close(self) -> None:
        for pipe in self._pipes.values():
            pipe.close()
        while self._unconnected:
            os.close(self._unconnected.popitem()[1])
        if self._process.poll() is None:
            self._process.kill()


def _take_over(file: IO[bytes]) -> int:
    """Returns a duplicate of the file's descriptor, and closes the file. Raises: OSError."""
    with file:
        return os.dup(file.fileno())


class _Pipe(asyncio.Protocol):
    """Passes the events of one pipe on to the protocol of the process."""

    def __init__(self, protocol: asyncio.SubprocessProtocol, fd: int, pipes: dict[int, asyncio.BaseTransport]) -> None:
        """`pipes` gets the pipe as soon as there is one: a server that prints at once is held back at once."""
        self._protocol = protocol
        self._fd = fd
        self._pipes = pipes

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._pipes[self._fd] = transport

    def data_received(self, data: bytes) -> None:
        self._protocol.pipe_data_received(self._fd, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.pipe_connection_lost(self._fd, exc)

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()
