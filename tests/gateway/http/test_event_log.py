"""What is kept of a session's streams: exactly what came after an event or nothing at all, and never too much."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.http.event_log import EventLog, EventShelf, KeptStream, UnknownEvent
from handfast.wire.sse import SseAssembler, SseEvent

EVENTS, BYTES, SHELF = 8, 400, 900


@dataclass
class World:
    """Two sessions on one shelf, and everything that was ever sent in them."""

    now: float = 0.0
    shelf: EventShelf = field(default_factory=lambda: EventShelf(most_bytes=SHELF))

    def __post_init__(self) -> None:
        self.logs = [self.log(), self.log()]
        self.streams: list[tuple[int, KeptStream, list[bytes]]] = []

    def log(self) -> EventLog:
        return EventLog(self.shelf, now=lambda: self.now, most_events=EVENTS, most_bytes=BYTES)

    def take(self, step: tuple[str, int, int]) -> None:
        kind, which, size = step
        if kind == "open" or not self.streams:
            log = which % 2
            self.streams.append((log, self.logs[log].open(), []))
            return
        log, stream, sent = self.streams[which % len(self.streams)]
        if kind == "write" and not stream.is_over:
            sent.append(self.logs[log].add(stream, b"x" * size))
        elif kind == "end":
            self.logs[log].delivered(stream)
            self.logs[log].end(stream)
        elif kind == "wait":
            self.now += size
            for one in self.logs:
                one.forget_delivered()


def event_id(event: bytes) -> bytes:
    (parsed,) = SseAssembler(100_000).feed(event)
    assert isinstance(parsed, SseEvent)
    assert parsed.id is not None
    return parsed.id


STEPS = st.tuples(
    st.sampled_from(["open", "write", "write", "write", "end", "wait"]), st.integers(0, 9), st.integers(0, 700)
)


@given(st.lists(STEPS, max_size=60))
def test_what_can_be_resumed_is_whole_and_of_that_stream_alone(steps: list[tuple[str, int, int]]) -> None:
    world = World()
    for step in steps:
        world.take(step)
    seen: set[bytes] = set()
    for log, _, sent in world.streams:
        for place, event in enumerate(sent, 1):
            seen.add(event_id(event))
            try:
                stream, position = world.logs[log].find(event_id(event))
            except UnknownEvent:
                continue
            assert (position, stream.since(position)) == (place, sent[place:])
        for event in sent:
            with pytest.raises(UnknownEvent):
                world.logs[1 - log].find(event_id(event))
    assert len(seen) == sum(len(sent) for _, _, sent in world.streams)  # every id is unique


@given(st.lists(STEPS, max_size=60))
def test_no_session_and_no_shelf_keeps_more_than_its_bound_or_one_event(steps: list[tuple[str, int, int]]) -> None:
    world = World()
    for step in steps:
        world.take(step)
        kept = [
            [event for log, stream, _ in world.streams if log == which for event in stream.events] for which in (0, 1)
        ]
        for events in kept:
            assert len(events) <= EVENTS
            assert sum(map(len, events)) <= BYTES or len(events) == 1
        together = sum(map(len, kept[0] + kept[1]))
        assert together == world.shelf.bytes
        assert together <= SHELF or len(kept[0] + kept[1]) == 1
    for log in world.logs:
        log.close()
    assert world.shelf.bytes == 0


def test_the_oldest_goes_first_and_the_newest_is_always_there() -> None:
    log = World().log()
    stream = log.open()
    events = [log.add(stream, b"x" * size) for size in (100, 100, 100, 100, 5000)]
    assert stream.since(4) == events[4:]
    with pytest.raises(UnknownEvent):
        log.find(event_id(events[2]))
    assert log.find(event_id(events[3])) == (stream, 4)


def test_many_small_events_are_bounded_by_their_number() -> None:
    log = World().log()
    stream = log.open()
    events = [log.add(stream, b"") for _ in range(EVENTS + 1)]
    assert list(stream.events) == events[1:]


def test_a_stream_whose_answer_was_delivered_goes_after_a_while_and_one_that_nobody_heard_stays() -> None:
    world = World(now=1000.0)
    log = world.logs[0]
    heard, unheard, open_ = log.open(), log.open(), log.open()
    ids = [event_id(log.add(stream, b"{}")) for stream in (heard, unheard, open_)]
    log.delivered(heard)
    for stream in (heard, unheard):
        log.end(stream)
    world.now += 299
    log.forget_delivered()
    assert [log.find(one)[0] for one in ids] == [heard, unheard, open_]
    world.now += 2
    log.forget_delivered()
    with pytest.raises(UnknownEvent):
        log.find(ids[0])
    assert [log.find(one)[0] for one in ids[1:]] == [unheard, open_]


@given(st.binary(max_size=80))
def test_what_is_no_id_of_ours_is_unknown_whatever_it_is(text: bytes) -> None:
    log = World().log()
    log.add(log.open(), b"{}")
    with pytest.raises(UnknownEvent):
        log.find(text)


@pytest.mark.parametrize(
    "spelling", ["{tag}-0-0", "{tag}-0-2", "{tag}-1-1", "{tag}-0", "0-1", "{other}-0-1", " {tag}-0-1"]
)
def test_an_id_that_was_never_sent_is_unknown_however_near(spelling: str) -> None:
    log = World().log()
    tag = event_id(log.add(log.open(), b"{}")).decode().partition("-")[0]
    other = f"{int(tag, 16) ^ 1:08x}"
    assert log.find(f"{tag}-0-1".encode())[1] == 1
    with pytest.raises(UnknownEvent):
        log.find(spelling.format(tag=tag, other=other).encode())
