"""Retention removes plain successes before decisions, keeps the files within their bound, and the chain holds."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier

import pytest

from handfast.activity import sqlite_retention
from handfast.activity.query import EVERYTHING, RecordFilter
from handfast.activity.sqlite import SqliteStore
from handfast.activity.store import Retention
from handfast.activity.walk import ChainWalk
from handfast.clock import time_text
from handfast.core.call.exchange import Record, RecordType, Status

pytestmark = pytest.mark.slow

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
NOTES = {"activity.pruned", "activity.thinned"}
MIB = 1024 * 1024


def call(number: int) -> Record:
    return record(number, RecordType.TOOL_CALL, Status.SUCCESS)


def decision(number: int) -> Record:
    return record(number, RecordType.POLICY_DECISION, Status.BLOCKED, rule="arguments.unknown")


def record(number: int, kind: RecordType, status: Status, *, rule: str = "") -> Record:
    moment = time_text(NOW + timedelta(minutes=number))
    return Record(
        id=f"id-{number:07}", time=moment, type=kind, status=status, server="files", rule=rule, reason="x" * 300
    )


def fill(store: SqliteStore, count: int, *, decision_every: int, start: int = 0) -> None:
    numbers = range(start, start + count)
    store.append([decision(number) if number % decision_every == 0 else call(number) for number in numbers])


def prune(store: SqliteStore, retention: Retention, now: datetime = NOW) -> int:
    steps = 0
    while store.prune(retention, now=now):
        steps += 1
        assert steps < 10_000
    return steps


def walked(store: SqliteStore) -> ChainWalk:
    return list(store.walk())[-1]


def numbers_of(store: SqliteStore, status: Status) -> list[int]:
    found = store.query(RecordFilter(statuses=(status,)), oldest_first=True)
    return [int(stored.record.id[3:]) for stored in found if stored.record.rule not in NOTES]


def bytes_on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("activity.db*"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore.open(tmp_path)) as opened:
        yield opened


@pytest.mark.requirement("F9", "P5")
def test_plain_successes_go_before_any_decision_does(store: SqliteStore, tmp_path: Path) -> None:
    fill(store, 8_000, decision_every=10)
    prune(store, Retention(keep_bytes=3 * MIB))
    successes = numbers_of(store, Status.SUCCESS)
    assert numbers_of(store, Status.BLOCKED) == list(range(0, 8_000, 10))
    assert successes == [number for number in range(successes[0], 8_000) if number % 10]  # the newest of them are left
    assert 500 < len(successes) < 4_000
    found = walked(store)
    assert (found.broken, found.first_seq, found.thinned) == (None, 1, 7_200 - len(successes))


@pytest.mark.requirement("F9")
def test_the_history_says_what_was_removed_how_many_and_when(store: SqliteStore) -> None:
    fill(store, 8_000, decision_every=10)
    prune(store, Retention(keep_bytes=3 * MIB))
    notes = [stored.record for stored in store.query(RecordFilter(rule="activity.thinned"))]
    assert {(note.type, note.status, note.time) for note in notes} == {
        (RecordType.DIAGNOSTIC, Status.SUCCESS, time_text(NOW))
    }
    assert sum(int(str(note.details["count"])) for note in notes) == walked(store).thinned
    assert {note.reason for note in notes} == {"500 plain successes were removed to keep the history within its bound."}


@pytest.mark.requirement("F9")
def test_decisions_alone_are_removed_from_the_front(store: SqliteStore, tmp_path: Path) -> None:
    fill(store, 8_000, decision_every=1)
    prune(store, Retention(keep_bytes=3 * MIB))
    left = numbers_of(store, Status.BLOCKED)
    assert left == list(range(left[0], 8_000))
    assert 500 < len(left) < 4_000
    assert walked(store).broken is None


@pytest.mark.requirement("F12")
@pytest.mark.parametrize("decision_every", [1, 3, 50])
def test_the_bound_is_that_of_the_files_with_their_log(store: SqliteStore, tmp_path: Path, decision_every: int) -> None:
    for start in range(0, 12_000, 1_000):
        fill(store, 1_000, decision_every=decision_every, start=start)
        prune(store, Retention(keep_bytes=2 * MIB))
        assert bytes_on_disk(tmp_path) <= 2 * MIB
        assert walked(store).broken is None
    assert bytes_on_disk(tmp_path) > MIB


@pytest.mark.requirement("F12")
def test_a_reader_that_holds_the_log_delays_the_bound_and_stops_nothing(store: SqliteStore, tmp_path: Path) -> None:
    fill(store, 2_000, decision_every=10)
    with closing(sqlite3.connect(tmp_path / "activity.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM records").fetchone()
        fill(store, 4_000, decision_every=10, start=2_000)
        prune(store, Retention(keep_bytes=2 * MIB))
        assert numbers_of(store, Status.BLOCKED) == list(range(0, 6_000, 10))
    prune(store, Retention(keep_bytes=2 * MIB))
    assert bytes_on_disk(tmp_path) <= 2 * MIB
    assert walked(store).broken is None


@pytest.mark.requirement("F9")
def test_a_store_within_its_bound_is_left_as_it_is(store: SqliteStore, tmp_path: Path) -> None:
    fill(store, 1_000, decision_every=10)
    head = store.head()
    assert store.prune(Retention(keep_bytes=1024 * MIB), now=NOW) == 0
    assert store.head() == head


@pytest.mark.parametrize("retention", [Retention(keep_bytes=1), Retention(keep_days=0.0)])
def test_pruning_everything_ends_with_notes_and_stays_there(store: SqliteStore, retention: Retention) -> None:
    fill(store, 1_600, decision_every=10)
    later = NOW + timedelta(days=30)
    prune(store, retention, later)
    assert {stored.record.rule for stored in store.query(EVERYTHING)} <= NOTES
    head = store.head()
    assert store.prune(retention, now=later + timedelta(days=30)) == 0
    assert store.head() == head
    assert walked(store).broken is None


@pytest.mark.requirement("F9")
def test_a_thinned_history_is_cut_by_age_and_by_size_without_a_break(store: SqliteStore) -> None:
    fill(store, 8_000, decision_every=7)
    prune(store, Retention(keep_bytes=3 * MIB))
    whole = numbers_of(store, Status.BLOCKED)
    for days in (5, 4.5, 3, 1):
        prune(store, Retention(keep_days=days), NOW + timedelta(minutes=8_000))
        left = numbers_of(store, Status.BLOCKED)
        assert walked(store).broken is None
        # A stretch that was thinned goes as one, so some records stay a little longer, and none goes early.
        assert set(whole) >= set(left) >= {number for number in whole if number >= 8_000 - days * 24 * 60}
    assert len(left) < len(whole) / 2
    prune(store, Retention(keep_bytes=MIB // 2))
    assert walked(store).broken is None
    assert walked(store).first_seq > 1


@pytest.mark.requirement("F9")
def test_hashes_of_removed_records_are_bounded_too(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_retention, "_HASHES_SHARE", 64)  # 48 KiB at this bound: those of 1,500 records
    fill(store, 8_000, decision_every=10)
    fate = [stored.hash for stored in store.query(EVERYTHING, oldest_first=True)]
    prune(store, Retention(keep_bytes=3 * MIB))
    found = walked(store)
    assert found.broken is None
    assert found.thinned > 3_000
    (kept,) = store._connection.execute("SELECT sum(length(hashes)) FROM removed").fetchone()
    assert 0 < kept <= 3 * MIB // 64
    assert list(store.walk(noted=fate[1]))[-1].noted_seq is None
    assert list(store.walk(noted=fate[found.thinned - 500]))[-1].noted_seq == found.thinned - 499
    assert numbers_of(store, Status.BLOCKED) == list(range(0, 8_000, 10))


@pytest.mark.requirement("F9", "P5")
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM records WHERE seq = 1",
        "DELETE FROM records WHERE seq = 11",
        "DELETE FROM records WHERE rule = 'activity.thinned'",
        "DELETE FROM removed",
        "DELETE FROM removed WHERE last = (SELECT min(last) FROM removed)",
        "DELETE FROM removed WHERE last = (SELECT max(last) FROM removed)",
        "UPDATE removed SET hashes = NULL",
        "UPDATE removed SET hashes = zeroblob(length(hashes))",
        "UPDATE removed SET hashes = substr(hashes, 1, 32)",
        "UPDATE removed SET first = first - 1 WHERE first > 100",
        "UPDATE removed SET last_hash = '' WHERE last = (SELECT min(last) FROM removed)",
        "INSERT INTO removed SELECT max(seq) - 1, max(seq) - 2, hash, x'' FROM records",
    ],
)
def test_what_is_changed_after_retention_is_noticed(store: SqliteStore, tmp_path: Path, damage: str) -> None:
    fill(store, 4_000, decision_every=10)
    prune(store, Retention(keep_bytes=2 * MIB))
    assert walked(store).thinned > 500
    assert walked(store).broken is None
    with closing(sqlite3.connect(tmp_path / "activity.db", isolation_level=None)) as connection:
        assert connection.execute(damage).rowcount > 0
    assert walked(store).broken is not None


@pytest.mark.requirement("F9")
def test_a_decision_cannot_be_passed_off_as_a_removed_success(store: SqliteStore, tmp_path: Path) -> None:
    fill(store, 4_000, decision_every=10)
    prune(store, Retention(keep_bytes=2 * MIB))
    with closing(sqlite3.connect(tmp_path / "activity.db", isolation_level=None)) as connection:
        (victim,) = connection.execute("SELECT hash FROM records WHERE seq = 11").fetchone()
        connection.execute("DELETE FROM records WHERE seq = 11")
        first, last, hashes = connection.execute("SELECT first, last, hashes FROM removed ORDER BY last").fetchone()
        assert first <= 11 <= last
        place = (11 - first) * 32  # the nine before it in this stretch are all gone
        hashes = hashes[:place] + bytes.fromhex(victim) + hashes[place:]
        connection.execute("UPDATE removed SET hashes = ? WHERE last = ?", (hashes, last))
    broken = walked(store).broken
    assert broken is not None
    assert "no retention record accounts for it" in broken.problem


@pytest.mark.requirement("F9")
def test_a_few_successes_among_many_decisions_are_not_worth_a_note(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_retention, "_LOOKED_AT", 1_000)
    for start in range(0, 6_000, 500):
        store.append([decision(start + number) for number in range(499)] + [call(start + 499)])
    prune(store, Retention(keep_bytes=3 * MIB))
    assert list(store.query(RecordFilter(rule="activity.thinned"))) == []
    assert walked(store).first_seq > 1


@pytest.mark.requirement("F9", "P5")
def test_processes_that_prune_and_write_at_once_keep_one_chain(tmp_path: Path) -> None:
    def work(part: int) -> None:
        with closing(SqliteStore.open(tmp_path)) as own:
            for start in range(0, 2_000, 200):
                fill(own, 200, decision_every=10, start=part * 2_000 + start)
                own.prune(Retention(keep_bytes=MIB), now=NOW)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    with closing(SqliteStore.open(tmp_path)) as store:
        prune(store, Retention(keep_bytes=MIB))
        assert walked(store).broken is None
        assert list(store.query(RecordFilter(rule="activity.thinned")))
    assert bytes_on_disk(tmp_path) <= MIB


@pytest.mark.requirement("F9", "P5")
def test_processes_that_find_too_much_at_once_do_not_each_remove_it(store: SqliteStore, tmp_path: Path) -> None:
    fill(store, 4_000, decision_every=1)
    bound = store._used_bytes() - MIB // 16  # one step removes that and the headroom
    everybody = Barrier(3)

    class StoreThatWaits(SqliteStore):
        @contextmanager
        def _writing(self) -> Iterator[None]:
            everybody.wait(timeout=30)  # each of them has measured by now
            with super()._writing():
                yield

    def work(_: int) -> None:
        with closing(StoreThatWaits.open(tmp_path)) as own:
            own.prune(Retention(keep_bytes=bound), now=NOW)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert numbers_of(store, Status.BLOCKED) == list(range(500, 4_000))
