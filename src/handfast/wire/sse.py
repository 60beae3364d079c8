"""Server-sent events: assembled from arbitrary chunks as the standard says, and rendered from what was read."""

import re

import msgspec

from handfast.wire.lines import one_line
from handfast.wire.scan import NotJson, OverBound, scan_array, scan_object

# A comment shows that the connection lives, and no reader takes it for an event. With a blank line after it,
# httpx-sse would report an event once it has seen an id.
KEEP_ALIVE = b":\n"

_BOM = b"\xef\xbb\xbf"
# The usual event in one chunk, up to its data. The event's type is ignored here; only a plain ASCII id matches.
_USUAL_HEAD = re.compile(rb"(?:event:[^\r\n]*\r?\n)?(?:id: ?([!-~][ -~]{0,255})\r?\n)?(?:event:[^\r\n]*\r?\n)?data: ?")
_ID_BYTES = 4096  # the id comes back in a header, and every server takes one of this length
_RETRY_DIGITS = 9  # milliseconds: eleven days, still within the 32 bits of a browser's timer
# Line ends to some readers: a client would send back a different id, or read part of the id as an event.
_UNSAFE_IN_ID = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# U+0085, U+2028 and U+2029 are line ends to readers that split as Python's `str.splitlines` does. In JSON they occur
# only inside strings, where an escape means the same.
_SPLITTING = re.compile(rb"\xc2\x85|\xe2\x80[\xa8\xa9]")
_ESCAPED = {b"\xc2\x85": b"\\u0085", b"\xe2\x80\xa8": b"\\u2028", b"\xe2\x80\xa9": b"\\u2029"}
# A line that may be an object or array by itself, and the names that make it a message; an escape may spell any name.
_WHOLE_LINE = re.compile(rb"^[ \t]*(?:\{.*\}|\[.*\])[ \t]*$", re.MULTILINE)
_MESSAGE_NAMES = frozenset(("jsonrpc", "method", "result", "error"))
# Bounds for all such lines of one event: a pretty-printed result has at most a few short ones.
_LINES_LOOKED_AT = 100
_BYTES_LOOKED_AT = 64 * 1024
_HEAD_BYTES = 512  # of an overlong event, as of an overlong line
_KIND = b"event: message\n"  # official servers send this type with every message; it is also the default
_HEAD = _KIND + b"data: "
_MESSAGE_MEMBER = re.compile(rb'"(?:jsonrpc|method|result|error)"|\\u')


class SseEvent(msgspec.Struct, frozen=True):
    """The parts of one event that matter here; an empty one only shows that the server is alive."""

    data: bytes | None = None  # None if a client would dispatch no event, as for an id alone
    id: bytes | None = None
    retry: bytes | None = None
    has_lines: bool = False  # whether the data came as several lines


class OverlongEvent(msgspec.Struct, frozen=True):
    """Takes the place of an event over the limit, whose bytes are dropped but for the first few of its data."""

    size_so_far: int
    head: bytes = b""


class SseAssembler:
    """Assembles the events of a stream whose lines end in LF, CRLF or CR, in any mix.

    An event ends with a blank line, even if that ends in a CR whose LF is still to come; an unfinished event at the end
    is dropped, as are comments and unknown fields. A chunk of nothing but these gives one empty event.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line = bytearray()  # the line that has not ended yet; only the colon of a comment
        self._size = 0  # of the event's lines so far, comments aside
        self._data = bytearray()  # each data line with an LF, as the standard says
        self._id: bytes | None = None
        self._retry: bytes | None = None
        self._ends_in_cr = False
        self._is_skipping = False
        self._is_between = True  # no byte of the next event has arrived
        self._is_first = True  # a byte order mark may still come

    def feed(self, chunk: bytes) -> list[SseEvent | OverlongEvent]:
        """Takes the next bytes and returns the events that they complete."""
        if self._is_between and len(chunk) <= self._limit and (event := _parse_usual(chunk)):
            self._is_first = False
            return [event]
        if self._ends_in_cr and chunk.startswith(b"\n"):
            self._ends_in_cr = False
            chunk = chunk[1:]  # the other half of a CRLF
        if not chunk:
            return []
        self._ends_in_cr = chunk.endswith(b"\r")
        found: list[SseEvent | OverlongEvent] = []
        lines = chunk.splitlines()
        rest = b"" if chunk.endswith((b"\n", b"\r")) else lines.pop()
        is_alive = False
        for line in lines:
            is_alive = self._end_line(line, found) or is_alive
        self._hold(rest, found)
        self._is_between = not (self._size or self._line or self._ends_in_cr or self._is_skipping)
        return [SseEvent()] if is_alive and not found else found

    def _end_line(self, rest: bytes, found: list[SseEvent | OverlongEvent]) -> bool:
        """Takes a line's last bytes. True if the line only shows that the server is alive."""
        self._hold(rest, found)
        line = bytes(self._line)
        self._line.clear()
        if self._is_first:
            self._is_first = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._end_event(found)
        if line.startswith(b":"):
            return True
        self._size += len(line) + 1
        self._take_field(line)
        return False

    def _hold(self, piece: bytes, found: list[SseEvent | OverlongEvent]) -> None:
        """Keeps the part of a line that has arrived, within the limit of an event."""
        if not piece:
            return
        if self._is_skipping or self._line == b":" or (not self._line and piece.startswith(b":")):
            self._line[:] = b":"
            return
        size = self._size + len(self._line) + len(piece) + 1
        if size <= self._limit:
            self._line += piece
            return
        head = bytes(self._data[:_HEAD_BYTES]) or (bytes(self._line[:_HEAD_BYTES]) + piece[:_HEAD_BYTES])
        found.append(OverlongEvent(size, head.removeprefix(b"data:")[:_HEAD_BYTES]))
        self._forget_event()
        self._is_skipping = True
        self._line[:] = b":"

    def _take_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data += value
            self._data += b"\n"
        elif name == b"id" and b"\0" not in value:  # HTML, 9.2.6: an id with a NUL is ignored
            self._id = value
        elif name == b"retry" and value.isdigit():
            self._retry = value

    def _end_event(self, found: list[SseEvent | OverlongEvent]) -> bool:
        data = bytes(memoryview(self._data)[:-1]) if self._data else None
        has_lines = data is not None and b"\n" in data
        event = SseEvent(data, _safe_id(self._id), _bounded_retry(self._retry), has_lines)
        self._is_skipping = False
        self._forget_event()
        if event == _NOTHING:
            return True
        found.append(event)
        return False

    def _forget_event(self) -> None:
        self._size = 0
        self._data.clear()
        self._id = self._retry = None


_NOTHING = SseEvent()


def _parse_usual(chunk: bytes) -> SseEvent | None:
    """The event, if the chunk is one whole event with one line of data, as most are; found by a few fast searches."""
    head = _USUAL_HEAD.match(chunk)
    ending = b"\r\n\r\n" if chunk.endswith(b"\r\n\r\n") else b"\n\n"
    if head is None or not chunk.endswith(ending):
        return None
    start, end = head.end(), len(chunk) - len(ending)
    if chunk.find(b"\n", start, end) >= 0 or chunk.find(b"\r", start, end) >= 0:
        return None
    return SseEvent(chunk[start:end], head[1])


def _safe_id(value: bytes | None) -> bytes | None:
    """The id exactly as the server sent it, or None if a client might send back something else."""
    if value is None or len(value) > _ID_BYTES:
        return None
    try:
        return None if _UNSAFE_IN_ID.search(value.decode()) else value
    except UnicodeDecodeError:
        return None


def _bounded_retry(value: bytes | None) -> bytes | None:
    return value if value is not None and len(value) <= _RETRY_DIGITS else None


def render_event(data: bytes | None, like: SseEvent = _NOTHING) -> bytes:
    """Renders an event with this JSON as data, and with the id and retry time of `like`, the event that it replaces."""
    if not data:
        return _render_fields(like) + (b"\n" if data is None else b"data: \n\n")
    text = data
    if not data.isascii() and (data.find(b"\xc2") >= 0 or data.find(b"\xe2") >= 0):  # first bytes of those characters
        text = _SPLITTING.sub(_escape, text)
    if data is not like.data or like.has_lines:  # usually it is the data received, in one line
        text = _split_lines(text)
    if like.id is None and like.retry is None:
        return b"".join((_HEAD, text, b"\n\n"))
    return b"".join((_KIND, _render_fields(like), b"data: ", text, b"\n\n"))


def _escape(found: re.Match[bytes]) -> bytes:
    return _ESCAPED[found[0]]


def _render_fields(like: SseEvent) -> bytes:
    found = b"" if like.id is None else b"id: " + like.id + b"\n"
    return found if like.retry is None else found + b"retry: " + like.retry + b"\n"


def _split_lines(data: bytes) -> bytes:
    """The data as several data lines; on one line if a client that reads lines singly could find a message in one."""
    if b"\n" not in data and b"\r" not in data:
        return data
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    lines = (line[0] for line in _WHOLE_LINE.finditer(data) if _MESSAGE_MEMBER.search(line[0]))
    size = 0
    for count, line in enumerate(lines, 1):
        size += len(line)
        if count > _LINES_LOOKED_AT or size > _BYTES_LOOKED_AT or _is_message(line):
            return one_line(data)
    return data.replace(b"\n", b"\ndata: ")


def _is_message(line: bytes) -> bool:
    """Whether the line could be read as a message or batch by itself."""
    try:
        items = scan_array(line) if line.lstrip(b" \t").startswith(b"[") else [line]
        objects = [scan_object(item, allows_constants=True) for item in items if item.lstrip(b" \t").startswith(b"{")]
    except OverBound:
        return True  # other readers may have higher bounds
    except NotJson:
        return False
    return any(member.key in _MESSAGE_NAMES for members in objects for member in members)
