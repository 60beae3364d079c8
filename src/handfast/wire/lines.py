"""Messages on a line transport: assembles whole lines from arbitrary chunks, and puts a message on one line."""

from collections.abc import Callable
from dataclasses import dataclass, field

_NEWLINES_TO_SPACES = bytes.maketrans(b"\r\n", b"  ")
_BLANK = b" \t\r"
_HEAD_BYTES = 512  # kept of an overlong line: enough for an id that stands before the content


@dataclass(frozen=True, slots=True)
class OverlongLine:
    """Takes the place of a line over the limit; only its first bytes are kept."""

    size_so_far: int
    head: bytes = field(default=b"", compare=False)
    limit: int = field(default=0, compare=False)


class LineAssembler:
    """Assembles the lines of a stream, ended by LF or CRLF. Skips blank lines, reports an overlong line once."""

    def __init__(self, limit: int, *, lower: int | None = None, limit_of: Callable[[bytes], int] | None = None) -> None:
        """`limit_of` gives the limit of a line that grows past `lower`, from the line's first bytes."""
        self._highest = limit
        self._lower = limit if lower is None else min(lower, limit)
        self._limit_of = limit_of
        self._limit = self._lower  # of the line that has not ended yet
        self._held = bytearray()  # the line that has not ended yet
        self._is_skipping = False

    def feed(self, chunk: bytes) -> list[bytes | OverlongLine]:
        """Takes the next bytes and returns the lines that they complete."""
        *ended, rest = chunk.split(b"\n")
        found: list[bytes | OverlongLine] = []
        if ended:
            self._end_held(ended[0], found)
            for line in ended[1:]:
                self._end(line, found)
        self._hold(rest, found)
        return found

    def close(self) -> bytes | None:
        """The last line, if the stream stopped without ending it."""
        rest = bytes(self._held).removesuffix(b"\r")
        self._held.clear()
        return rest if rest.strip(_BLANK) else None

    def _end_held(self, line: bytes, found: list[bytes | OverlongLine]) -> None:
        if self._is_skipping:
            self._is_skipping = False
            self._limit = self._lower
            return
        if self._held:
            # Held and new bytes are joined once, when the line ends: each byte is searched and copied a fixed number
            # of times however many chunks a line comes in.
            self._held.extend(line)
            line = bytes(self._held)
            self._held.clear()
        self._end(line, found)

    def _end(self, line: bytes, found: list[bytes | OverlongLine]) -> None:
        line = line.removesuffix(b"\r")
        if self._is_over(len(line), line):
            found.append(OverlongLine(len(line), line[:_HEAD_BYTES], self._limit))
        elif line.strip(_BLANK):
            found.append(line)
        self._limit = self._lower

    def _hold(self, rest: bytes, found: list[bytes | OverlongLine]) -> None:
        if self._is_skipping or not rest:
            return
        # A CR at the end may be half of a CRLF, and line ends do not count.
        size = len(self._held) + len(rest) - rest.endswith(b"\r")
        if not self._is_over(size, self._held or rest):
            self._held.extend(rest)
            return
        head = bytes(self._held[:_HEAD_BYTES]) or rest[:_HEAD_BYTES]
        self._held.clear()
        self._is_skipping = True
        found.append(OverlongLine(size, head, self._limit))

    def _is_over(self, size: int, text: bytes | bytearray) -> bool:
        if size > self._limit == self._lower < self._highest and self._limit_of is not None:
            self._limit = min(self._limit_of(bytes(text[:_HEAD_BYTES])), self._highest)
        return size > self._limit


def one_line(message: bytes) -> bytes:
    """The same JSON on one line: a raw CR or LF is only whitespace in JSON, but a line protocol would split there."""
    if b"\n" in message or b"\r" in message:
        return message.translate(_NEWLINES_TO_SPACES)
    return message
