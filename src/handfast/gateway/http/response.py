"""An upstream's answer as it arrives, and everything that can go wrong with one."""

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol

# A chunk whose lines are shorter than this, on average, is read in slices: each line takes a microsecond, and a chunk
# may have half a million. Real events have a few lines of many more bytes.
_SHORT_LINE = 8
_SLICE = 4 * 1024

Headers = list[tuple[bytes, bytes]]


class UpstreamFailed(Exception):
    """An upstream gave no usable answer; the message names its origin, never a header's value or a body."""


class UpstreamUnavailable(UpstreamFailed):
    """No connection could be made, so the request was not sent."""


class UpstreamRefused(UpstreamUnavailable):
    """The server refused the connection at that moment; it may accept one in the next."""


class UpstreamProtocolError(UpstreamFailed):
    """The answer was malformed, encoded, or ended early; the request may have run and is not repeated."""


class UpstreamHungUp(UpstreamProtocolError):
    """The connection ended before a single byte of the answer came."""


class UpstreamTimeout(UpstreamFailed):
    """No answer began in the time that was given; the request may have run."""


class BodyTooLarge(UpstreamFailed):
    """The body is over the limit that was given; the rest of it was not read."""


def describe_status(status: int) -> str:
    """Says what an HTTP status without an MCP message means, and what to do about it."""
    if status in (401, 403):
        advice = "Check the credentials in the server's headers setting."
    elif status == 429 or (status >= 500 and status != 501):
        advice = "Try again later."
    else:
        advice = "Check the server's url, or begin a new session."
    return f"The server answered with HTTP status {status} and no MCP message. {advice}"


class BodySource(Protocol):
    """The connection, as far as a body needs it."""

    def resume_body(self) -> None:
        """Reads on, if reading was paused."""

    def drop(self) -> None:
        """Closes at once."""

    def give_back(self) -> None:
        """The answer was paired with its request: the connection may carry another."""


class IncomingBody:
    """The bytes that have arrived and were not yet taken; the source is let go once everything has arrived.

    A source that waits for pairing is kept as `lender` until its response is released or aborted.
    """

    __slots__ = ("_chunks", "_error", "_loop", "_source", "_waiter", "buffered", "lender", "length", "origin")

    def __init__(self, source: BodySource, loop: asyncio.AbstractEventLoop, origin: str, length: int | None) -> None:
        self._source: BodySource | None = source
        self.lender: BodySource | None = None
        self._loop = loop
        self._chunks: list[bytes] = []
        self._error: UpstreamFailed | None = None
        self._waiter: asyncio.Future[None] | None = None
        self.origin = origin
        self.length = length
        self.buffered = 0

    def feed(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self.buffered += len(chunk)

    def wake(self) -> None:
        """Tells the reader that there is something to take, an end, or an error."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def finish(self, lender: BodySource | None = None) -> None:
        self._source = None
        self.lender = lender
        self.wake()

    def fail(self, error: UpstreamFailed) -> None:
        self._error = error
        self.finish()

    @property
    def has_arrived(self) -> bool:
        return self._source is None

    @property
    def is_exhausted(self) -> bool:
        return self._source is None and not self._chunks and self._error is None

    async def take(self) -> bytes:
        """Returns all that has arrived, waiting for a first piece; b"" at the end. Raises: UpstreamProtocolError."""
        while not self._chunks:
            if self._error is not None:
                raise self._error
            if self._source is None:
                return b""
            await self._arrival()
        chunks = self._chunks
        self._chunks = []
        self.buffered = 0
        if self._source is not None:
            self._source.resume_body()
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def _arrival(self) -> None:
        if self._waiter is not None:
            raise RuntimeError("Two readers wait for the same body. Read each answer from one place.")
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        except asyncio.CancelledError:
            # No reader is left for the rest, and a half-read connection is of no further use.
            self.abort()
            raise
        finally:
            self._waiter = None

    def abort(self) -> None:
        """Closes the connection unless it was given back; a later read of a body that is not whole fails."""
        lender, self.lender = self.lender, None
        if lender is not None:
            lender.drop()
        source = self._source
        if source is None:
            return
        source.drop()
        self._chunks.clear()
        self.fail(UpstreamProtocolError(f"The answer of {self.origin} was given up before it was read whole."))

    def abort_soon(self) -> None:
        """For finalizers, which may run on any thread and after the loop has ended."""
        if (self._source or self.lender) is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.abort)


class Response:
    """Status and headers, with the body still arriving: read it, iterate it, or abort it."""

    __slots__ = ("_body", "headers", "status")

    def __init__(self, status: int, headers: Headers, body: IncomingBody) -> None:
        self.status = status
        self.headers = headers  # names in lower case, in the order they came
        self._body = body

    def __del__(self) -> None:
        # A safety net for an answer that was forgotten: its connection would count as busy for ever.
        self._body.abort_soon()

    def header(self, name: bytes) -> bytes | None:
        """The first value under a name given in lower case."""
        for candidate, value in self.headers:
            if candidate == name:
                return value
        return None

    @property
    def has_arrived(self) -> bool:
        """Whether the body is whole: nearly always, as a small answer comes in one piece."""
        return self._body.has_arrived

    async def read(self, limit: int) -> bytes:
        """The whole body.

        Raises: BodyTooLarge above the limit, UpstreamProtocolError if it ends early.
        """
        body = self._body
        if body.length is not None and body.length > limit:
            raise self._too_large(limit)
        chunk = await body.take()
        if body.is_exhausted and len(chunk) <= limit:
            return chunk
        parts, size = [chunk], len(chunk)
        while chunk and size <= limit:
            chunk = await body.take()
            parts.append(chunk)
            size += len(chunk)
        if size > limit:
            raise self._too_large(limit)
        return b"".join(parts)

    def _too_large(self, limit: int) -> BodyTooLarge:
        self.abort()
        return BodyTooLarge(
            f"{self._body.origin} answered with more than {limit} bytes. Ask it for less, or raise the limit."
        )

    def chunks(self) -> AsyncIterator[bytes]:
        """Returns the body as it arrives.

        A slow reader slows the upstream; leaving early closes the connection. Raises: UpstreamProtocolError if it ends
        early.
        """
        return _Chunks(self, self._body)

    def abort(self) -> None:
        """Closes the upstream connection at once: the client went away, or the answer does not fit its request.

        Does nothing when the connection was given back.
        """
        self._body.abort()

    def release(self) -> None:
        """Frees the connection after an answer that was read whole and fits its request."""
        lender = self._body.lender
        if lender is not None:
            self._body.lender = None
            lender.give_back()

    def dismiss(self) -> None:
        """Releases an answer of which only the status is needed; a body that is not read costs the connection."""
        if self._body.is_exhausted:
            self.release()
        else:
            self._body.abort()


class _Chunks:
    """A plain iterator, because an async generator left early is closed only when its finalizer's task runs."""

    __slots__ = ("_body", "_response", "_rest")

    def __init__(self, response: Response, body: IncomingBody) -> None:
        self._response = response  # kept alive while it is iterated
        self._body = body
        self._rest = b""

    def __aiter__(self) -> "_Chunks":
        return self

    async def __anext__(self) -> bytes:
        if self._rest:
            await asyncio.sleep(0)
            return self._cut(self._rest)
        chunk = await self._body.take()
        if not chunk:
            raise StopAsyncIteration
        return self._cut(chunk) if len(chunk) > _SLICE and _has_short_lines(chunk) else chunk

    def _cut(self, chunk: bytes) -> bytes:
        """Returns the beginning of a chunk; the rest comes next."""
        self._rest = chunk[_SLICE:]
        return chunk[:_SLICE]

    def __del__(self) -> None:
        self._body.abort_soon()


def _has_short_lines(chunk: bytes) -> bool:
    return (chunk.count(b"\n") + chunk.count(b"\r")) * _SHORT_LINE > len(chunk)
