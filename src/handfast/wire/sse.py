"""Server-sent events: whole events with their exact bytes out of arbitrary chunks, and events built like others."""

import re
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_BLANK_LINES = (b"\n", b"\r\n", b"\r")
_LINE_END = re.compile(rb"\r\n|\r|\n")
# The usual start of an event up to its data; groups that repeat are bounded, so a hostile stream gains nothing.
_USUAL_HEAD = re.compile(rb"((?:(?:event|id|retry):[^\r\n]*\r?\n){0,3})data: ?")


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event. `raw` is forwarded; `data` is None where nothing would be dispatched (comments, an id alone)."""

    raw: bytes
    data: bytes | None = None
    event: bytes = b""
    id: bytes | None = None
    retry: bytes | None = None


@dataclass(frozen=True, slots=True)
class OverlongEvent:
    """Stands where an event over the limit was; its bytes are gone."""

    size_so_far: int


class SseAssembler:
    """Gathers the events of a stream whose lines end in LF, CRLF or CR, in any mix.

    The raws of all events and the unfinished rest are together exactly what was fed. An event ends with its blank
    line, even if that ends in a CR whose LF is yet to come: that LF then opens the next raw, where it means nothing.
    Comments and blank lines between events are not held back: they keep connections alive.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = bytearray()
        self._is_line_start = True
        self._has_line = False  # a line that is not blank has begun since the last event
        self._has_field = False  # and one of those was no comment
        self._ends_in_cr = False
        self._is_skipping = False
        self._is_first = True  # a byte order mark may still come

    def feed(self, chunk: bytes) -> list[SseEvent | OverlongEvent]:
        """Take the next bytes and return the events they completed."""
        if self._is_between_events() and len(chunk) <= self._limit and (event := _parse_usual(chunk)):
            self._is_first = False
            return [event]
        found: list[SseEvent | OverlongEvent] = []
        lines = chunk.splitlines(keepends=True)
        if self._ends_in_cr and chunk.startswith(b"\n"):
            self._hold(lines.pop(0), found)  # the other half of a CRLF
        for line in lines:
            self._take_line(line, found)
        if chunk:
            self._ends_in_cr = chunk.endswith(b"\r")
        if self._held and self._is_line_start and not self._has_field:
            found.append(self._finish(self._release()))
            self._has_line = False
        return found

    def close(self) -> bytes:
        """What was fed since the last event ended; a stream that stops there never meant it."""
        return self._release()

    def _is_between_events(self) -> bool:
        return not (self._has_line or self._ends_in_cr)

    def _take_line(self, line: bytes, found: list[SseEvent | OverlongEvent]) -> None:
        is_blank = self._is_line_start and line in _BLANK_LINES
        if self._is_line_start and not is_blank:
            self._has_line = True
            self._has_field = self._has_field or not line.startswith(b":")
        self._is_line_start = line.endswith((b"\n", b"\r"))
        self._hold(line, found)
        if is_blank and self._has_line:
            if not self._is_skipping:
                found.append(self._finish(self._release()))
            self._has_line = self._has_field = self._is_skipping = False

    def _hold(self, piece: bytes, found: list[SseEvent | OverlongEvent]) -> None:
        if self._is_skipping:
            return
        size = len(self._held) + len(piece)
        if size <= self._limit:
            self._held += piece
            return
        self._held.clear()
        self._is_first = False
        self._is_skipping = self._has_line
        found.append(OverlongEvent(size))

    def _release(self) -> bytes:
        raw = bytes(self._held)
        self._held.clear()
        return raw

    def _finish(self, raw: bytes) -> SseEvent:
        text = raw.removeprefix(_BOM) if self._is_first else raw
        self._is_first = False
        return _parse_event(raw, text)


def _parse_usual(chunk: bytes) -> SseEvent | None:
    """Most chunks are one whole event with one line of data: a few searches at memory speed prove it."""
    head = _USUAL_HEAD.match(chunk)
    ending = b"\r\n\r\n" if chunk.endswith(b"\r\n\r\n") else b"\n\n"
    if head is None or not chunk.endswith(ending):
        return None
    start, end = head.end(), len(chunk) - len(ending)
    if chunk.find(b"\n", start, end) >= 0 or chunk.find(b"\r", start, end) >= 0:
        return None
    data = chunk[start:end]
    if not head[1]:
        return SseEvent(chunk, data)
    fields = _parse_event(chunk, head[1])
    return SseEvent(chunk, data, fields.event, fields.id, fields.retry)


def _parse_event(raw: bytes, text: bytes) -> SseEvent:
    lines: list[bytes] = []
    fields: dict[bytes, bytes] = {}
    for line in text.splitlines():
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            lines.append(value)
        elif _is_kept(name, value):
            fields[name] = value
    data = b"\n".join(lines) if lines else None
    return SseEvent(raw, data, fields.get(b"event", b""), fields.get(b"id"), fields.get(b"retry"))


def _is_kept(name: bytes, value: bytes) -> bool:
    # HTML, 9.2.6: an id with a NUL and a retry that is not all digits are ignored, as is every other field.
    return name == b"event" or (name == b"id" and b"\0" not in value) or (name == b"retry" and value.isdigit())


def render_event(data: bytes, like: SseEvent | None = None) -> bytes:
    """An event with this data and the other fields of the one it replaces, so that a client can still resume."""
    fields: list[bytes] = []
    if like is not None:
        if like.event:
            fields.append(b"event: " + like.event)
        if like.id is not None:
            fields.append(b"id: " + like.id)
        if like.retry is not None:
            fields.append(b"retry: " + like.retry)
    fields += [b"data: " + line for line in _LINE_END.split(data)]
    return b"\n".join(fields) + b"\n\n"
