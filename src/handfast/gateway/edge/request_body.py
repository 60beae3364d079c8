"""The body of a request while it arrives: by its declared length, or in chunks. Both say where it ends."""

from typing import Protocol

import httptools

_END = b"\r\n\r\n"
# A body in chunks gets a parser of its own. It is no HTTP message without a head, and this one has no meaning.
_HEAD = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
# What may come beside the body: extensions of chunks and trailers, of which nothing is kept, and what marks the chunks,
# which is five bytes for a chunk of one.
_FRAMING_LIMIT = 64 * 1024
_FRAMING_PER_BYTE = 5
_LARGE_PIECE = 16 * 1024


class BadFraming(Exception):
    """What comes is no body in chunks."""


class ArrivingBody(Protocol):
    is_whole: bool
    received: int
    """Bytes of body so far. They stay counted when they are not kept."""

    def feed(self, data: bytes) -> bytes:
        """Take what belongs to the body and give back what does not. Raises: BadFraming."""

    def is_over(self, limit: int) -> bool:
        """Whether it is, or will be, larger than this."""

    def take(self) -> bytes:
        """All that has arrived; it is not kept."""

    def drop(self) -> None:
        """Keep nothing of what has arrived."""


class _Gathered:
    """Large pieces as they came, small ones together: each for itself would take many times its size."""

    __slots__ = ("_pieces", "is_whole", "received")

    def __init__(self) -> None:
        self._pieces: list[bytes | bytearray] = []
        self.received = 0
        self.is_whole = False

    def _add(self, piece: bytes) -> None:
        self.received += len(piece)
        last = self._pieces[-1] if self._pieces else b""
        if len(piece) >= _LARGE_PIECE:
            self._pieces.append(piece)
        elif isinstance(last, bytearray) and len(last) < _LARGE_PIECE:
            last += piece
        else:
            self._pieces.append(bytearray(piece))

    def take(self) -> bytes:
        content = b"".join(self._pieces)
        self.drop()
        return content

    def drop(self) -> None:
        self._pieces = []


class SizedBody(_Gathered):
    """As long as Content-Length says."""

    __slots__ = ("_length",)

    def __init__(self, length: int) -> None:
        super().__init__()
        self._length = length

    def feed(self, data: bytes) -> bytes:
        piece = data[: self._length - self.received]
        self._add(piece)
        self.is_whole = self.received == self._length
        return data[len(piece) :]

    def is_over(self, limit: int) -> bool:
        return self._length > limit


class ChunkedBody(_Gathered):
    """In chunks. Trailers are read and dropped: no header comes after the head."""

    __slots__ = ("_fed", "_parser", "_tail")

    def __init__(self) -> None:
        super().__init__()
        self._tail = b""  # the last bytes that were fed, where the end may have begun
        self._fed = 0
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(_HEAD)

    def feed(self, data: bytes) -> bytes:
        """A body can end only at an empty line, so nothing beyond the next one is shown to the parser."""
        while data and not self.is_whole:
            found = (self._tail + data[:3]).find(_END)
            end = found + 4 - len(self._tail) if found >= 0 else data.find(_END) + 4
            piece = data if found < 0 and end < 4 else data[:end]
            self._fed += len(piece)
            try:
                self._parser.feed_data(piece)
            except httptools.HttpParserError:
                raise BadFraming from None
            if self._fed - self.received > _FRAMING_LIMIT + _FRAMING_PER_BYTE * self.received:
                raise BadFraming
            self._tail = (self._tail + piece[-3:])[-3:]
            data = data[len(piece) :]
        return data

    def is_over(self, limit: int) -> bool:
        return self.received > limit

    # What the parser calls

    def on_message_begin(self) -> None:
        if self.is_whole:
            raise BadFraming

    def on_body(self, piece: bytes) -> None:
        self._add(piece)

    def on_message_complete(self) -> None:
        self.is_whole = True
