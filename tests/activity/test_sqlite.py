"""The SQLite store keeps one chain, finds records by any filter, and prunes without breaking the chain."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from handfast.activity.chain import INDEXED, Head
from handfast.activity.query import EVERYTHING, RecordFilter
from handfast.activity.sqlite import SqliteStore
from handfast.activity.store import RecordNotFound, Retention, StoreError
from handfast.activity.walk import ChainWalk
from handfast.clock import time_text
from handfast.core.call.exchange import Record, RecordType, Status

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
CALL = Record(id="", time="", type=RecordType.TOOL_CALL, status=Status.SUCCESS, server="files", tool="read")


def call(number: int, **changes: object) -> Record:
    moment = time_text(NOW + timedelta(minutes=number))
    return structs.replace(CALL, **{"id": f"id-{number:05}", "time": moment, **changes})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path)
    yield opened
    opened.close()


def found(store: SqliteStore, wanted: RecordFilter, *, oldest_first: bool = False) -> list[int]:
    return [stored.seq for stored in store.query(wanted, oldest_first=oldest_first)]


def walked(store: SqliteStore) -> ChainWalk:
    return list(store.walk())[-1]


def test_the_columns_of_the_file_are_the_fields_that_are_searched_by(store: SqliteStore, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "activity.db")) as connection:
        columns = [name for _, name, *_ in connection.execute("PRAGMA table_info(records)")]
    assert columns == ["seq", *INDEXED, "payload", "hash"]


def test_what_was_appended_is_read_back_whole(store: SqliteStore) -> None:
    record = call(
        1, details={"keys": ["ä", "\x00"], "size": 3, "share": 0.5, "none": None}, duration_ms=1.25, actor="ada"
    )
    head = store.append([record])
    (stored,) = store.query(EVERYTHING)
    assert (stored.record, Head(stored.seq, stored.hash)) == (record, head)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 31, 32, 33, 39, 68, 500])
def test_a_batch_of_any_length_is_written_whole_and_in_its_order(store: SqliteStore, count: int) -> None:
    batches = [[call(0)], [call(number) for number in range(1, count + 1)], [call(count + 1)]]
    for batch in batches:
        head = store.append(batch)
    kept = list(store.query(EVERYTHING, oldest_first=True))
    assert [stored.record for stored in kept] == [record for batch in batches for record in batch]
    assert walked(store) == ChainWalk(count + 2, 1, head, None, None)


def test_half_a_surrogate_pair_is_kept_and_found(store: SqliteStore) -> None:
    store.append([call(1, tool="cut \ud83d", reason="\ud83d")])
    (stored,) = store.query(RecordFilter(tool="cut \ud83d"))
    assert stored.record.reason == "\ud83d"
    assert walked(store).broken is None


@pytest.mark.requirement("004-12")
@pytest.mark.parametrize(
    ("wanted", "seqs"),
    [
        (EVERYTHING, [6, 5, 4, 3, 2, 1]),
        (RecordFilter(types=(RecordType.POLICY_DECISION,)), [3, 2]),
        (RecordFilter(statuses=(Status.WARNING, Status.BLOCKED)), [3, 2]),
        (RecordFilter(statuses=(Status.BLOCKED,)), [3]),
        (RecordFilter(server="github"), [6, 5]),
        (RecordFilter(server="files", tool="write"), [4]),
        (RecordFilter(rule="result.schema"), [2]),
        (RecordFilter(request_id="r-1"), [2, 1]),
        (RecordFilter(since=time_text(NOW + timedelta(minutes=3))), [6, 5, 4, 3]),
        (RecordFilter(until=time_text(NOW + timedelta(minutes=3))), [2, 1]),
        (RecordFilter(since=time_text(NOW + timedelta(days=3))), []),
        (RecordFilter(until=time_text(NOW)), []),
        (RecordFilter(after=2, before=5), [4, 3]),
        (RecordFilter(limit=2), [6, 5]),
    ],
)
def test_every_filter_narrows_and_the_newest_come_first(
    store: SqliteStore, wanted: RecordFilter, seqs: list[int]
) -> None:
    decision = {"type": RecordType.POLICY_DECISION}
    store.append(
        [
            call(1, request_id="r-1"),
            call(2, **decision, status=Status.WARNING, rule="result.schema", request_id="r-1"),
            call(3, **decision, status=Status.BLOCKED, rule="result.max_bytes"),
            call(4, tool="write"),
            call(5, server="github"),
            call(6, server="github", status=Status.ERROR),
        ]
    )
    assert found(store, wanted) == seqs
    assert (
        found(store, replace(wanted, limit=None), oldest_first=True)[: len(seqs)]
        == sorted(found(store, replace(wanted, limit=None)))[: len(seqs)]
    )


def test_times_out_of_commit_order_are_still_all_found(store: SqliteStore) -> None:
    store.append([call(5), call(1), call(4), call(2)])
    wanted = RecordFilter(since=time_text(NOW + timedelta(minutes=2)), until=time_text(NOW + timedelta(minutes=5)))
    assert found(store, wanted) == [4, 3]


def test_long_results_are_paged_without_gaps_or_repeats(store: SqliteStore) -> None:
    store.append([call(number) for number in range(4_500)])
    assert found(store, EVERYTHING, oldest_first=True) == list(range(1, 4_501))
    assert found(store, RecordFilter(limit=4_100)) == list(range(4_500, 400, -1))


def test_a_unique_prefix_is_enough_to_read_a_record(store: SqliteStore) -> None:
    store.append([structs.replace(CALL, id="abc1"), structs.replace(CALL, id="abc12"), structs.replace(CALL, id="xyz")])
    assert store.read("x").seq == 3
    assert store.read("abc1").seq == 1  # the whole id wins over being a prefix
    for unclear in ("abc", "q", ""):
        with pytest.raises(RecordNotFound):
            store.read(unclear)


def test_following_sees_each_record_once_in_order(store: SqliteStore) -> None:
    store.append([call(1), call(2, server="github")])
    wanted = RecordFilter(server="files")
    first, place = store.follow(0, wanted)
    store.append([call(3), call(4, server="github")])
    second, place = store.follow(place, wanted)
    assert [stored.seq for stored in first + second] == [1, 3]
    assert store.follow(place, wanted) == ([], 4)


@pytest.mark.requirement("P6")
def test_digests_are_keyed_per_store_and_stay_the_same_after_reopening(tmp_path: Path) -> None:
    digests = []
    for folder in ("one", "one", "two"):
        store = SqliteStore.open(tmp_path / folder)
        digests.append(store.digest(b"small value"))
        store.close()
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


@pytest.mark.requirement("S8")
def test_a_derived_key_is_the_stores_own_and_no_digest_on_record_is_one(tmp_path: Path) -> None:
    keys = []
    for folder in ("one", "one", "two"):
        store = SqliteStore.open(tmp_path / folder)
        keys.append(store.derive_key("combined"))
        assert store.derive_key("combined") != store.derive_key("another")
        assert store.derive_key("combined").hex() not in (store.digest(b"combined"), store.digest(b'"combined"'))
        store.close()
    assert keys[0] == keys[1]
    assert keys[0] != keys[2]


@pytest.mark.requirement("P5")
@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM records WHERE seq > 3",
        "DELETE FROM records",
        "DELETE FROM records WHERE seq = 2",
        "DELETE FROM records WHERE seq = 1",
        "DELETE FROM head",
        "UPDATE head SET seq = 4",
        "UPDATE records SET payload = replace(payload, 'success', 'blocked') WHERE seq = 2",
        "UPDATE records SET payload = 'not json' WHERE seq = 2",
        "UPDATE records SET status = 'blocked' WHERE seq = 2",
        "UPDATE records SET rule = 'x' WHERE seq = 2",
        "UPDATE records SET seq = 9 WHERE seq = 5",
    ],
)
def test_whatever_is_changed_in_the_file_is_noticed(store: SqliteStore, tmp_path: Path, damage: str) -> None:
    store.append([call(number) for number in range(5)])
    assert walked(store).broken is None
    change(tmp_path, damage)
    assert walked(store).broken is not None


def test_a_cut_off_tail_stays_visible_after_more_is_appended(store: SqliteStore, tmp_path: Path) -> None:
    store.append([call(number) for number in range(5)])
    change(tmp_path, "DELETE FROM records WHERE seq > 3")
    store.append([call(9)])
    broken = walked(store).broken
    assert broken is not None
    assert (broken.seq, broken.problem) == (6, "2 records are missing before it")


def test_an_unreadable_record_is_reported_in_one_line(store: SqliteStore, tmp_path: Path) -> None:
    store.append([call(1)])
    change(tmp_path, "UPDATE records SET payload = '[]'")
    with pytest.raises(StoreError, match=r"^Record 1 in .* cannot be read; run `handfast activity verify`\.$"):
        list(store.query(EVERYTHING))


def test_records_older_than_the_days_kept_are_removed_and_the_chain_holds(store: SqliteStore) -> None:
    store.append([call(-60 * 24 * 10), call(-60 * 24 * 9), call(0)])
    assert store.prune(Retention(keep_days=7), now=NOW) == 2
    assert store.prune(Retention(keep_days=7), now=NOW) == 0
    assert found(store, EVERYTHING, oldest_first=True) == [3, 4]
    note = store.read(next(iter(store.query(EVERYTHING))).record.id).record
    assert (note.type, note.rule) == (RecordType.DIAGNOSTIC, "activity.pruned")
    assert {"count": 2, "through_seq": 2}.items() <= note.details.items()
    assert walked(store).broken is None


def test_deleting_past_what_retention_removed_is_noticed(store: SqliteStore, tmp_path: Path) -> None:
    store.append([call(-60 * 24 * 10), call(0), call(1)])
    store.prune(Retention(keep_days=7), now=NOW)
    change(tmp_path, "DELETE FROM records WHERE seq = 2")
    broken = walked(store).broken
    assert broken is not None
    assert broken.seq == 3


@pytest.mark.requirement("P5")
def test_writers_on_one_file_take_turns_instead_of_failing(tmp_path: Path) -> None:
    def write(_: int) -> None:
        own = SqliteStore.open(tmp_path)
        for number in range(100):
            own.append([call(number)])
        own.close()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(3)))
    store = SqliteStore.open_existing(tmp_path)
    assert walked(store) == ChainWalk(300, 1, store.head())
    store.close()


def test_a_failed_batch_leaves_nothing_behind(store: SqliteStore) -> None:
    store.append([call(1)])
    with pytest.raises(AttributeError):
        store.append([call(2), None])  # type: ignore[list-item] # a batch that fails half way
    store.append([call(3)])
    assert [stored.record.id for stored in store.query(EVERYTHING, oldest_first=True)] == ["id-00001", "id-00003"]
    assert walked(store).broken is None


def test_a_store_replaced_while_in_use_is_not_written_into_nowhere(store: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "activity.db").rename(tmp_path / "moved.db")
    with pytest.raises(StoreError, match="No such file"):
        store.append([call(1)])
    (tmp_path / "activity.db").touch()
    with pytest.raises(StoreError, match="was replaced while in use; restart handfast"):
        store.append([call(1)])


def change(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "activity.db", isolation_level=None)
    connection.execute(statement)
    connection.close()
