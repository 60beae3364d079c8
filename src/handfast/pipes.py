"""Stdin and stdout of this process on the event loop, be they pipes, sockets, terminals or plain files."""

import asyncio
import os
import select
import stat
import sys
from collections.abc import Callable
from typing import IO, cast

_CHUNK = 65536


async def connect_pipe(
    make_protocol: Callable[[], asyncio.BaseProtocol], descriptor: int, *, writes: bool
) -> asyncio.BaseTransport:
    """Puts one end of a pipe on the event loop, which then owns and closes it. Raises: OSError.

    uvloop closes the descriptor, then the file that it was given; a file whose pipe ends while uvloop opens it is left
    to the garbage collector. A file that owned the descriptor would then close it a second time, when its number may
    belong to a client's connection or another process's pipe. So uvloop gets a file that does not own its descriptor.
    """
    loop = asyncio.get_running_loop()
    is_uvloop = type(loop).__module__.partition(".")[0] == "uvloop"
    file = os.fdopen(descriptor, "wb" if writes else "rb", buffering=0, closefd=not is_uvloop)
    try:
        transport: asyncio.BaseTransport
        transport, _ = await (loop.connect_write_pipe if writes else loop.connect_read_pipe)(make_protocol, file)
    except OSError:
        if is_uvloop:
            os.close(descriptor)  # the loop did not take it over
        raise
    return transport


class InputPipe(asyncio.Protocol):
    """Passes chunks to `on_data` and calls `on_end` once at the end."""

    def __init__(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_data = on_data
        self._on_end = on_end
        self._transport: asyncio.ReadTransport | None = None
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._has_ended = False

    def redirect(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        """Replaces the reader: passes everything from now on to these functions."""
        self._on_data, self._on_end = on_data, on_end
        self.pause(False)
        if self._has_ended:
            on_end()

    async def open(self, stream: IO[bytes]) -> None:
        if _is_plain_file(stream.fileno()):
            # epoll cannot watch a plain file, so a thread reads it.
            self._file_task = asyncio.create_task(self._read_file(stream.fileno()))
            return
        await asyncio.get_running_loop().connect_read_pipe(lambda: self, stream)

    async def _read_file(self, fd: int) -> None:
        while chunk := await asyncio.to_thread(os.read, fd, _CHUNK):
            await self._may_read.wait()
            self._on_data(chunk)
        self._end()

    def _end(self) -> None:
        self._has_ended = True
        self._on_end()

    def pause(self, is_paused: bool) -> None:
        if is_paused:
            self._may_read.clear()
        else:
            self._may_read.set()
        if self._transport is None or self._transport.is_closing():
            return
        if is_paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)  # connect_read_pipe makes no other

    def data_received(self, data: bytes) -> None:
        self._on_data(data)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._end()


class OutputPipe(asyncio.Protocol):
    """Writes lines; calls `on_congestion` when the reader becomes slow or keeps up again, `on_lost` when it is gone."""

    def __init__(self, on_congestion: Callable[[bool], None], on_lost: Callable[[], None]) -> None:
        self._on_congestion = on_congestion
        self._on_lost = on_lost
        self._transport: asyncio.WriteTransport | None = None
        self._fd = -1
        self._is_drained = asyncio.Event()
        self._is_drained.set()

    def redirect(self, on_congestion: Callable[[bool], None], on_lost: Callable[[], None]) -> None:
        """Replaces the writer: reports to these functions from now on."""
        self._on_congestion, self._on_lost = on_congestion, on_lost

    async def open(self, stream: IO[bytes]) -> None:
        self._fd = stream.fileno()
        # To notice that the reader left, the loop reads from the file it writes to, and on a terminal that is stdin.
        if not _is_plain_file(self._fd) and not os.path.sameopenfile(self._fd, sys.stdin.fileno()):
            # A duplicate, because the loop closes its descriptor, and the command may still flush stdout at its end.
            await connect_pipe(lambda: self, os.dup(self._fd), writes=True)

    def write_line(self, message: bytes) -> None:
        if self._transport is not None:
            if not self._transport.is_closing():
                self._transport.writelines((message, b"\n"))
            return
        view = memoryview(message + b"\n")
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:
                select.select([], [self._fd], [])
            except OSError:
                self._on_lost()
                return

    @property
    def waiting_bytes(self) -> int:
        """Bytes that were written and not yet read."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    async def flush(self) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.set_write_buffer_limits(high=0)
        await self._is_drained.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)  # connect_write_pipe makes no other

    def pause_writing(self) -> None:
        self._is_drained.clear()
        self._on_congestion(True)

    def resume_writing(self) -> None:
        self._is_drained.set()
        self._on_congestion(False)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._is_drained.set()
        self._on_lost()


def _is_plain_file(fd: int) -> bool:
    mode = os.fstat(fd).st_mode
    is_null = stat.S_ISCHR(mode) and not os.isatty(fd)  # /dev/null and its like cannot be watched either
    return stat.S_ISREG(mode) or is_null
