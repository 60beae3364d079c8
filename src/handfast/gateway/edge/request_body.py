"""The body of a request while it arrives: by its declared length, or in chunks. Both say where it ends."""

import re
from enum import Enum
from typing import Protocol

# Bytes that may come beside the body: chunk extensions and trailers, which are dropped, and the sizes of chunks. Above
# this an eighth of the body: chunks of a few bytes, each with five bytes of framing, are endless work.
_FRAMING_LIMIT = 64 * 1024
_BODY_PER_FRAMING = 8
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_TRAILER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:")
_LARGE_PIECE = 16 * 1024
_LINES_AT_ONCE = 256  # a fraction of a millisecond: chunks may be of a byte each


class BadFraming(Exception):
    """The bytes are not a body in chunks."""


class ArrivingBody(Protocol):
    is_whole: bool
    has_unread: bool
    """Whether `feed` stopped early: it is to be called again, in another turn of the loop."""
    received: int
    """Bytes of the body so far, including those that were dropped."""

    @property
    def size(self) -> int:
        """The size of the body, or the least that it can be."""

    @property
    def length(self) -> int | None:
        """The announced length; None for chunks."""

    def feed(self, data: bytes) -> bytes:
        """Takes what belongs to the body and gives back what does not. Raises: BadFraming."""

    def take(self) -> bytes:
        """Returns all that has arrived, and drops it."""

    def drop(self) -> None:
        """Keeps nothing of what has arrived."""


class _Gathered:
    """Keeps large pieces as they came and joins small ones: each object would take many times its size."""

    __slots__ = ("_pieces", "has_unread", "is_whole", "received")

    def __init__(self) -> None:
        self.has_unread = False
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
    """A body as long as Content-Length says."""

    __slots__ = ("length",)

    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def feed(self, data: bytes) -> bytes:
        piece = data[: self.length - self.received]
        self._add(piece)
        self.is_whole = self.received == self.length
        return data[len(piece) :]

    @property
    def size(self) -> int:
        return self.length


class _Expects(Enum):
    """What the next line of a body in chunks is."""

    SIZE = 1
    END_OF_CHUNK = 2
    TRAILER = 3


class ChunkedBody(_Gathered):
    """A body in chunks; lines must end in CR LF. Trailers are dropped: no header comes after the head."""

    __slots__ = ("_expects", "_framing", "_left", "_line", "_lines", "_unread")
    length = None

    def __init__(self) -> None:
        super().__init__()
        self._lines = 0  # read so far
        self._unread = b""
        self._left = 0  # of the chunk that is arriving
        self._line = b""  # that has not ended yet
        self._framing = 0  # bytes beside the body
        self._expects = _Expects.SIZE

    def feed(self, data: bytes) -> bytes:
        position, enough = 0, self._lines + _LINES_AT_ONCE
        if self.has_unread:
            data = self._unread + data
        self.has_unread = False
        while position < len(data) and not self.is_whole:
            if self._lines == enough:
                self.has_unread, self._unread = True, data[position:]
                return b""
            if self._left:
                piece = data[position : position + self._left]
                self._left -= len(piece)
                self._add(piece)
                position += len(piece)
            else:
                position = self._read_line(data, position)
        return data[position:]

    def drop(self) -> None:
        super().drop()
        self.has_unread, self._unread = False, b""

    def _read_line(self, data: bytes, start: int) -> int:
        """Reads one line, and returns where it ends. Raises: BadFraming."""
        self._lines += 1
        found = data.find(b"\n", start)
        end = found + 1 if found >= 0 else len(data)
        self._framing += end - start
        if self._framing > _FRAMING_LIMIT + self.received // _BODY_PER_FRAMING:
            raise BadFraming
        self._line += data[start:end]
        if found >= 0:
            line, self._line = self._line, b""
            if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
                raise BadFraming
            self._take_line(line[:-2])
        elif self._expects is _Expects.END_OF_CHUNK and self._line != b"\r":
            raise BadFraming
        return end

    def _take_line(self, line: bytes) -> None:
        """Raises: BadFraming."""
        if self._expects is _Expects.SIZE:
            size = line.partition(b";")[0]
            if not _SIZE.fullmatch(size):
                raise BadFraming
            self._left = int(size, 16)
            self._expects = _Expects.END_OF_CHUNK if self._left else _Expects.TRAILER
        elif self._expects is _Expects.END_OF_CHUNK:
            if line:
                raise BadFraming
            self._expects = _Expects.SIZE
        elif not line:
            self.is_whole = True
        elif not _TRAILER.match(line):
            raise BadFraming

    @property
    def size(self) -> int:
        return self.received + self._left
