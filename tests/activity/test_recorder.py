"""The recorder takes records at once, commits them in order, slows callers down, and says when it cannot write."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from handfast.activity.chain import Head
from handfast.activity.query import EVERYTHING, RecordFilter
from handfast.activity.recorder import ThreadRecorder
from handfast.activity.sqlite import SqliteStore
from handfast.activity.store import Retention, StoredRecord, StoreError
from handfast.clock import Clock
from handfast.core.call.exchange import Record, Recorder, RecordingFailed, RecordType, Status
from handfast.core.call.recording import OnFailure

CLOCK = Clock()


def call(number: int = 0, **changes: object) -> Record:
    fields = {"id": CLOCK.new_id(), "time": CLOCK.now(), "type": RecordType.TOOL_CALL, "status": Status.SUCCESS}
    return Record(**{**fields, "details": {"number": number}, **changes})  # type: ignore[arg-type] # any field


class Gate(SqliteStore):
    """A real store whose disk can be made to hang or to fail."""

    def prepare(self) -> None:
        self.is_broken = False
        self.attempts: list[object] = []
        self.open_gate = threading.Event()
        self.open_gate.set()
        self.is_writing = threading.Event()
        self.has_failed = threading.Event()

    def append(self, records: Sequence[Record]) -> Head:
        self.attempts.append(records[0].details.get("number"))
        self.is_writing.set()
        self.open_gate.wait(30)
        if self.is_broken:
            self.has_failed.set()
            raise StoreError("The disk is full; free some space.")
        return super().append(records)


@contextmanager
def gated(folder: Path, **options: object) -> Iterator[tuple[Gate, ThreadRecorder]]:
    store = Gate.open(folder)
    assert isinstance(store, Gate)
    store.prepare()
    recorder = ThreadRecorder(store, **options)  # type: ignore[arg-type] # each test its own options
    try:
        yield store, recorder
    finally:
        store.is_broken = False
        store.open_gate.set()
        recorder.close()


def kept(folder: Path, wanted: RecordFilter = EVERYTHING) -> list[StoredRecord]:
    store = SqliteStore.open_existing(folder)
    try:
        assert list(store.walk())[-1].broken is None
        return list(store.query(wanted, oldest_first=True))
    finally:
        store.close()


def numbers(folder: Path) -> list[object]:
    return [stored.record.details["number"] for stored in kept(folder)]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline


def test_it_is_a_recorder_as_core_describes_it(tmp_path: Path) -> None:
    with gated(tmp_path) as (store, recorder):
        as_core_sees_it: Recorder = recorder
        assert as_core_sees_it.digest(b"value") == store.digest(b"value")


@pytest.mark.requirement("P4")
def test_what_is_committed_is_in_the_store(tmp_path: Path) -> None:
    with gated(tmp_path) as (_, recorder):
        asyncio.run(recorder.committed(recorder.record(call(1), call(2))))
        assert numbers(tmp_path) == [1, 2]


def test_closing_writes_everything_in_the_order_it_was_taken(tmp_path: Path) -> None:
    with gated(tmp_path) as (_, recorder):
        for number in range(2_000):
            recorder.record(call(number))
        recorder.close()
        recorder.close()
        assert numbers(tmp_path) == list(range(2_000))


def test_a_record_after_closing_is_refused_and_not_lost_in_silence(tmp_path: Path) -> None:
    with gated(tmp_path) as (_, recorder):
        recorder.close()
        with pytest.raises(RecordingFailed):
            recorder.record(call())


@pytest.mark.requirement("P4")
def test_recording_never_waits_even_while_the_disk_hangs(tmp_path: Path) -> None:
    with gated(tmp_path, capacity=10) as (store, recorder):
        store.open_gate.clear()
        tickets = [recorder.record(call(number)) for number in range(200)]
        assert tickets == list(range(1, 201))
        assert recorder.pending == 200
        store.open_gate.set()
        asyncio.run(recorder.committed(tickets[-1]))
    assert numbers(tmp_path) == list(range(200))


@pytest.mark.requirement("P4")
def test_callers_wait_for_room_when_the_queue_is_full(tmp_path: Path) -> None:
    async def scenario() -> None:
        store.open_gate.clear()
        for number in range(9):
            recorder.record(call(number))
        await recorder.room()
        recorder.record(call(9))
        waiting = [asyncio.create_task(recorder.room()) for _ in range(3)]
        await asyncio.wait(waiting, timeout=0.05)
        assert not any(task.done() for task in waiting)
        store.open_gate.set()
        await asyncio.gather(*waiting)

    with gated(tmp_path, capacity=10) as (store, recorder):
        asyncio.run(scenario())
    assert numbers(tmp_path) == list(range(10))


@pytest.mark.requirement("P4")
def test_a_cancelled_waiter_harms_nobody(tmp_path: Path) -> None:
    async def scenario() -> None:
        store.open_gate.clear()
        ticket = recorder.record(call(1))
        cancelled, patient = (asyncio.create_task(recorder.committed(ticket)) for _ in range(2))
        await asyncio.to_thread(store.is_writing.wait)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        store.open_gate.set()
        await patient

    with gated(tmp_path) as (store, recorder):
        asyncio.run(scenario())
    assert numbers(tmp_path) == [1]


def test_waiters_on_several_event_loops_are_all_woken(tmp_path: Path) -> None:
    def one_loop(start: int) -> None:
        async def scenario() -> None:
            tickets = [recorder.record(call(start + number)) for number in range(50)]
            await asyncio.gather(*map(recorder.committed, tickets))

        asyncio.run(scenario())

    with gated(tmp_path) as (_, recorder):
        threads = [threading.Thread(target=one_loop, args=(start,)) for start in (0, 100, 200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(str, numbers(tmp_path))) == sorted(str(s + n) for s in (0, 100, 200) for n in range(50))


def test_a_loop_that_went_away_while_waiting_stops_nothing(tmp_path: Path) -> None:
    async def leave() -> None:
        task = asyncio.create_task(recorder.committed(recorder.record(call(1))))
        await asyncio.to_thread(store.is_writing.wait)
        task.cancel()

    with gated(tmp_path) as (store, recorder):
        store.open_gate.clear()
        asyncio.run(leave())
        store.open_gate.set()
        asyncio.run(recorder.committed(recorder.record(call(2))))
    assert numbers(tmp_path) == [1, 2]


@pytest.mark.requirement("P4")
def test_when_writing_fails_calls_are_refused_and_recover_without_loss(tmp_path: Path) -> None:
    async def refused(ticket: int) -> None:
        with pytest.raises(RecordingFailed, match="Calls are refused because activity records cannot be written"):
            await recorder.committed(ticket)
        with pytest.raises(RecordingFailed):
            await recorder.room()

    async def welcome(ticket: int) -> None:
        await recorder.room()
        await recorder.committed(ticket)

    with gated(tmp_path, failing_after_s=0.2) as (store, recorder):
        store.is_broken = True
        asyncio.run(refused(recorder.record(call(1))))
        assert (recorder.is_failing, recorder.failure) == (True, "The disk is full; free some space.")
        ticket = recorder.record(call(2))
        store.is_broken = False
        wait_until(lambda: not recorder.failure)
        asyncio.run(welcome(ticket))
    assert [stored.record.details.get("number") for stored in kept(tmp_path) if stored.record.rule == ""] == [1, 2]
    (outage,) = kept(tmp_path, RecordFilter(rule="activity.write_failure"))
    assert (outage.record.type, outage.record.details["let_go"]) == (RecordType.DIAGNOSTIC, 0)


@pytest.mark.requirement("P4")
def test_a_hanging_disk_counts_as_failing_too(tmp_path: Path) -> None:
    with gated(tmp_path, failing_after_s=0.2) as (store, recorder):
        store.open_gate.clear()
        ticket = recorder.record(call(1))
        with pytest.raises(RecordingFailed):
            asyncio.run(recorder.committed(ticket))
        assert recorder.failure == "The activity store does not answer; check the disk."


def test_writing_counts_as_failing_only_after_five_seconds(tmp_path: Path) -> None:
    with gated(tmp_path) as (store, recorder):
        store.is_broken = True
        recorder.record(call(1))
        store.has_failed.wait(10)
        assert not recorder.is_failing
        assert recorder._failing_after_s == 5.0


@pytest.mark.requirement("P4")
def test_told_to_continue_it_never_refuses_and_says_what_it_let_go(tmp_path: Path) -> None:
    async def scenario() -> None:
        store.is_broken = True
        first = recorder.record(call(0))
        await recorder.committed(first)
        assert recorder.is_failing
        for number in range(1, 100):
            await recorder.room()
            await recorder.committed(recorder.record(call(number)))
        assert recorder.let_go > 0

    options = {"failing_after_s": 0.1, "capacity": 5, "on_failure": OnFailure.CONTINUE}
    with gated(tmp_path, **options) as (store, recorder):
        asyncio.run(scenario())
        store.is_broken = False
        recorder.close()
    calls = [stored.record.details["number"] for stored in kept(tmp_path) if stored.record.rule == ""]
    (outage,) = kept(tmp_path, RecordFilter(rule="activity.write_failure"))
    assert calls == list(range(len(calls)))
    assert outage.record.details["let_go"] == recorder.let_go == 100 - len(calls)


def test_closing_gives_up_on_a_disk_that_stays_broken(tmp_path: Path) -> None:
    with gated(tmp_path, failing_after_s=0.1) as (store, recorder):
        store.is_broken = True
        recorder.record(*(call(number) for number in range(1_200)))
        recorder.close()
        assert not recorder._thread.is_alive()
        assert store.attempts[-2:] == [
            500,
            1_000,
        ]  # what comes after the first batch is tried once, not for as long again
        assert store.attempts.count(500) == 1


def test_retention_runs_by_itself(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path)
    store.append([call(number, time="2020-01-01T00:00:00.000000Z") for number in range(1_200)])
    store.close()
    with gated(tmp_path, retention=Retention(keep_days=30)) as (_, recorder):
        recorder.record(call(7))
        wait_until(lambda: kept(tmp_path)[0].record.time > "2021")
    assert [stored.record.rule for stored in kept(tmp_path)].count("") == 1


@pytest.mark.requirement("F9", "F12")
def test_a_flood_of_records_does_not_outgrow_the_bound_for_longer_than_a_moment(tmp_path: Path) -> None:
    bound = 2 * 1024 * 1024

    async def flood() -> None:
        until = time.monotonic() + 3.5
        while time.monotonic() < until:
            await recorder.committed(recorder.record(*(call(number) for number in range(200))))

    def size() -> int:
        return sum(path.stat().st_size for path in tmp_path.glob("activity.db*"))

    with gated(tmp_path, retention=Retention(keep_bytes=bound)) as (_, recorder):
        asyncio.run(flood())
        assert recorder.pending == 0
        wait_until(lambda: size() <= bound)
    with closing(SqliteStore.open_existing(tmp_path)) as store:
        found = list(store.walk())[-1]
    assert found.broken is None
    assert found.thinned or found.first_seq > 1


def refusal(number: int) -> Record:
    return call(number, status=Status.BLOCKED, rule="arguments.unknown", server="up", tool="add")


def counted(folder: Path) -> int:
    return sum(int(str(stored.record.details.get("count", 1))) for stored in kept(folder))


@pytest.mark.requirement("F9", "P4")
def test_a_refusal_that_is_only_counted_is_durable_when_its_ticket_is(tmp_path: Path) -> None:
    async def flood() -> None:
        for number in range(20):
            await recorder.committed(recorder.record_refusal("ada", refusal(number)))
        await asyncio.gather(*(recorder.committed(recorder.record_refusal("ada", refusal(20))) for _ in range(100)))
        assert (len(kept(tmp_path)), counted(tmp_path)) == (21, 120)

    with gated(tmp_path, whole_refusals=20) as (_, recorder):
        asyncio.run(flood())


@pytest.mark.requirement("F9")
def test_a_refusal_that_is_only_counted_can_be_waited_for_without_an_event_loop(tmp_path: Path) -> None:
    with gated(tmp_path, whole_refusals=20) as (_, recorder):
        tickets = [recorder.record_refusal("ada", refusal(number)) for number in range(22)]
        with pytest.raises(StopIteration):
            recorder.committed(tickets[-1]).send(None)
        assert counted(tmp_path) == 22


@pytest.mark.requirement("F9")
def test_what_was_counted_is_written_when_nobody_waits_for_it_and_on_closing(tmp_path: Path) -> None:
    with gated(tmp_path, whole_refusals=20) as (_, recorder):
        for number in range(30):
            recorder.record_refusal("ada", refusal(number))
        wait_until(lambda: counted(tmp_path) == 30)
        for number in range(7):
            recorder.record_refusal("ada", refusal(number))
    assert counted(tmp_path) == 37
    assert len(kept(tmp_path)) == 22


@pytest.mark.requirement("F9", "P4")
def test_a_tally_that_cannot_be_written_is_refused_and_written_later(tmp_path: Path) -> None:
    async def flood() -> None:
        for number in range(20):
            recorder.record_refusal("ada", refusal(number))
        store.is_broken = True
        with pytest.raises(RecordingFailed):
            await recorder.committed(recorder.record_refusal("ada", refusal(20)))
        store.is_broken = False

    with gated(tmp_path, failing_after_s=0.3, whole_refusals=20) as (store, recorder):
        asyncio.run(flood())
        wait_until(lambda: not recorder.is_failing)
    refused = [stored.record for stored in kept(tmp_path, RecordFilter(rule="arguments.unknown"))]
    assert sum(int(str(record.details.get("count", 1))) for record in refused) == 21


def test_a_refusal_after_closing_is_refused_and_not_lost_in_silence(tmp_path: Path) -> None:
    with gated(tmp_path, whole_refusals=20) as (_, recorder):
        for number in range(21):
            recorder.record_refusal("ada", refusal(number))
        recorder.close()
        with pytest.raises(RecordingFailed):
            recorder.record_refusal("ada", refusal(21))
    assert counted(tmp_path) == 21


@pytest.mark.requirement("F9")
def test_without_a_number_every_refusal_is_recorded_whole(tmp_path: Path) -> None:
    with gated(tmp_path) as (_, recorder):
        for number in range(50):
            recorder.record_refusal("", refusal(number))
    assert len(kept(tmp_path)) == 50


_WRITER = """
import asyncio, sys
from pathlib import Path
from handfast.clock import Clock
from handfast.activity.recorder import ThreadRecorder
from handfast.activity.sqlite import SqliteStore
from handfast.core.call.exchange import Record, RecordType, Status

CLOCK = Clock()

async def main(recorder, name, count):
    for number in range(count):
        await recorder.room()
        fields = dict(id=CLOCK.new_id(), time=CLOCK.now(), type=RecordType.TOOL_CALL, status=Status.SUCCESS)
        ticket = recorder.record(Record(**fields, server=name, details={"number": number}))
        if number % 10 == 9:
            await recorder.committed(ticket)
            print(number, flush=True)

recorder = ThreadRecorder(SqliteStore.open(Path(sys.argv[1])))
asyncio.run(main(recorder, sys.argv[2], int(sys.argv[3])))
recorder.close()
"""


def writer(folder: Path, name: str, count: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", _WRITER, str(folder), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.requirement("P5")
def test_four_processes_on_one_folder_lose_nothing_and_share_one_chain(tmp_path: Path) -> None:
    writers = [writer(tmp_path, f"writer-{name}", 300) for name in range(4)]
    for one in writers:
        one.communicate()
    assert [one.returncode for one in writers] == [0, 0, 0, 0]
    for name in range(4):
        own = kept(tmp_path, RecordFilter(server=f"writer-{name}"))
        assert [stored.record.details["number"] for stored in own] == list(range(300))
    assert [stored.seq for stored in kept(tmp_path)] == list(range(1, 1_201))


@pytest.mark.requirement("P4")
def test_what_was_committed_survives_a_killed_writer(tmp_path: Path) -> None:
    victim = writer(tmp_path, "victim", 1_000_000)
    assert victim.stdout is not None
    promised = [int(victim.stdout.readline()) for _ in range(30)]
    victim.send_signal(signal.SIGKILL)
    rest, _ = victim.communicate()
    promised += [int(line) for line in rest.split("\n")[:-1]]
    survived = [stored.record.details["number"] for stored in kept(tmp_path)]
    assert survived == list(range(len(survived)))
    assert len(survived) > promised[-1]


def test_an_interpreter_that_just_ends_still_writes_what_was_taken(tmp_path: Path) -> None:
    program = _WRITER.replace("recorder.close()", "")
    command = [sys.executable, "-c", program, str(tmp_path), "forgetful", "25"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert len(kept(tmp_path)) == 25
