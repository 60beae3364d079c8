"""Events sent on the streams of a session, for a client that comes back: bounded in number, bytes and time. Pure."""

import re
from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import count
from secrets import token_hex

from handfast.wire.sse import SseEvent, render_event

_EVENTS = 1000  # of one session: minutes of a tool that reports its progress ten times a second
_SESSION_BYTES = 8 * 1024 * 1024  # an answer at the default bound of a result, and what led to it
_SHELF_BYTES = 64 * 1024 * 1024  # of all sessions together: as much as one message may take
# A client that sleeps or changes its network may be back after minutes, although its last events looked delivered.
_DELIVERED_SECONDS = 300.0
_EVENT_ID = re.compile(rb"([0-9a-f]{8})-([0-9]{1,12})-([0-9]{1,12})")


class UnknownEvent(Exception):
    """A stream cannot resume after this event: it was never sent in this session, or what came after it is gone."""


class KeptStream:
    """One stream: how many events it has had so far, and the last of them. Positions begin with one."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.sent = 0
        self.is_over = False
        self.delivered: float | None = None  # when its last event was sent to a client that seemed present
        self.events: deque[bytes] = deque()
        self.on_change: Callable[[], None] | None = None  # wakes the client that came back to read it

    def since(self, position: int) -> list[bytes]:
        """Returns the events after this position. Raises: UnknownEvent when some of them are gone."""
        missed = self.sent - position
        if not 0 <= missed <= len(self.events):
            raise UnknownEvent
        return list(self.events)[len(self.events) - missed :]

    def changed(self) -> None:
        if self.on_change is not None:
            self.on_change()


class EventShelf:
    """Room for the events of all sessions; when it is full, the oldest event of all is dropped."""

    def __init__(self, *, most_bytes: int = _SHELF_BYTES) -> None:
        self._most_bytes = most_bytes
        self._owners: OrderedDict[int, EventLog] = OrderedDict()  # of each event kept, oldest first
        self._serials = count()
        self.bytes = 0

    def put(self, log: "EventLog", size: int) -> int:
        serial = next(self._serials)
        self._owners[serial] = log
        self.bytes += size
        return serial

    def remove(self, serial: int, size: int) -> None:
        del self._owners[serial]
        self.bytes -= size

    def make_room(self) -> None:
        while self.bytes > self._most_bytes and len(self._owners) > 1:
            next(iter(self._owners.values())).drop_oldest()


class EventLog:
    """The streams of one session. The id of an event names its stream, and is not valid in another session."""

    def __init__(
        self,
        shelf: EventShelf,
        *,
        now: Callable[[], float],
        most_events: int = _EVENTS,
        most_bytes: int = _SESSION_BYTES,
    ) -> None:
        self._shelf = shelf
        self._now = now
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._tag = token_hex(4)
        self._numbers = count()
        self._streams: dict[int, KeptStream] = {}
        self._kept: OrderedDict[int, KeptStream] = OrderedDict()  # by the shelf's serial of each event, oldest first
        self._bytes = 0
        self._is_closed = False

    def open(self) -> KeptStream:
        stream = KeptStream(next(self._numbers))
        if not self._is_closed:
            self._streams[stream.number] = stream
        return stream

    def add(self, stream: KeptStream, data: bytes, *, retry: int | None = None) -> bytes:
        """Renders the event to send, and keeps it; the oldest events are dropped for it, but never the newest."""
        stream.sent += 1
        event_id = f"{self._tag}-{stream.number}-{stream.sent}".encode()
        event = render_event(data, SseEvent(id=event_id, retry=None if retry is None else b"%d" % retry))
        if not self._is_closed:
            self._kept[self._shelf.put(self, len(event))] = stream
            self._bytes += len(event)
            stream.events.append(event)
            while len(self._kept) > self._most_events or (self._bytes > self._most_bytes and len(self._kept) > 1):
                self.drop_oldest()
            self._shelf.make_room()
        stream.changed()
        return event

    def end(self, stream: KeptStream) -> None:
        stream.is_over = True
        if not stream.events:
            self._streams.pop(stream.number, None)
        stream.changed()

    def delivered(self, stream: KeptStream) -> None:
        stream.delivered = self._now()

    def find(self, event_id: bytes) -> tuple[KeptStream, int]:
        """Returns the stream that an event was sent on, and its position there. Raises: UnknownEvent."""
        parts = _EVENT_ID.fullmatch(event_id)
        stream = self._streams.get(int(parts[2])) if parts and parts[1] == self._tag.encode() else None
        if parts is None or stream is None:
            raise UnknownEvent
        position = int(parts[3])
        if position < 1:
            raise UnknownEvent
        stream.since(position)
        return stream, position

    def forget_delivered(self) -> None:
        """Drops streams that ended a while ago, if their end was delivered."""
        since = self._now() - _DELIVERED_SECONDS
        gone = {
            one for one in self._streams.values() if one.is_over and one.delivered is not None and one.delivered < since
        }
        if gone:
            self._drop_all(gone)

    def _drop_all(self, streams: set[KeptStream]) -> None:
        for serial in [serial for serial, stream in self._kept.items() if stream in streams]:
            self._drop(serial)

    def drop_oldest(self) -> None:
        self._drop(next(iter(self._kept)))

    def _drop(self, serial: int) -> None:
        stream = self._kept.pop(serial)
        size = len(stream.events.popleft())
        self._bytes -= size
        self._shelf.remove(serial, size)
        if stream.is_over and not stream.events:
            self._streams.pop(stream.number, None)

    def close(self) -> None:
        """Ends all streams of the session: nothing can be resumed any longer, and current readers are woken."""
        self._is_closed = True
        streams = list(self._streams.values())
        while self._kept:
            self.drop_oldest()
        self._streams.clear()
        for stream in streams:
            stream.is_over = True
            stream.changed()
