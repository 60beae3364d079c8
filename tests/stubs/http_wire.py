"""HTTP/1.1 by hand: requests in, and answers out in exactly the bytes asked for."""

import asyncio
import gzip
from dataclasses import dataclass

REASONS = {200: "OK", 202: "Accepted", 204: "No Content", 400: "Bad Request", 404: "Not Found"}


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Connection:
    """One client's connection, with a buffer of its own so that a departure is noticed while an answer is due."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._buffer = b""

    async def read_request(self) -> HttpRequest | None:
        """The next request; None once the client has gone."""
        try:
            head = await self._until(b"\r\n\r\n")
            request_line, *lines = head.decode("latin-1").split("\r\n")
            method, path, _ = request_line.split(" ")
            headers = {
                name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
            }
            if headers.get("transfer-encoding") == "chunked":
                return HttpRequest(method, path, headers, await self._chunks())
            return HttpRequest(method, path, headers, await self._exactly(int(headers.get("content-length", "0"))))
        except ConnectionError:
            return None

    async def gone(self) -> None:
        """Return when the client closes its side."""
        try:
            while data := await self._reader.read(65536):
                self._buffer += data
        except ConnectionError:
            return

    async def send(self, data: bytes, *, pieces: int = 0, pause: float = 0.0) -> None:
        size = pieces or len(data) or 1
        for start in range(0, len(data), size):
            if pause:
                await asyncio.sleep(pause)
            self._writer.write(data[start : start + size])
            await self._writer.drain()

    async def send_chunk(self, data: bytes, *, pieces: int = 0, pause: float = 0.0) -> None:
        """A chunk of a chunked body; empty ends the body."""
        await self.send(b"%x\r\n%s\r\n" % (len(data), data), pieces=pieces, pause=pause)

    async def flood(self, start: bytes) -> None:
        """Chunks without end, as long as the client reads them."""
        await self.send_chunk(start)
        while True:
            await self.send_chunk(b"x" * 65536)

    def drop(self) -> None:
        """Close at once, whatever is still on its way."""
        self._writer.transport.abort()

    def close(self) -> None:
        self._writer.close()

    async def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            await self._more()
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    async def _exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            await self._more()
        found, self._buffer = self._buffer[:count], self._buffer[count:]
        return found

    async def _chunks(self) -> bytes:
        body = b""
        while size := int(await self._until(b"\r\n"), 16):
            body += await self._exactly(size)
            await self._exactly(2)
        await self._until(b"\r\n")
        return body

    async def _more(self) -> None:
        data = await self._reader.read(65536)
        if not data:
            raise ConnectionResetError
        self._buffer += data


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A response's head; `extra` are whole header lines, sent as they are."""

    status: int = 200
    content_type: str = "application/json"
    session: str | None = None
    encoded: bool = False
    extra: bytes = b""

    def lines(self, length: int | None) -> bytes:
        """The head for a body of this length; None for a chunked one."""
        head = f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Scripted')}\r\n"
        head += f"Content-Type: {self.content_type}\r\n" if length != 0 else ""
        head += "Transfer-Encoding: chunked\r\n" if length is None else f"Content-Length: {length}\r\n"
        head += f"Mcp-Session-Id: {self.session}\r\n" if self.session else ""
        head += "Content-Encoding: gzip\r\n" if self.encoded else ""
        return head.encode("latin-1") + self.extra + b"\r\n"

    def whole(self, body: bytes) -> bytes:
        body = gzip.compress(body) if self.encoded else body
        return self.lines(len(body)) + body
