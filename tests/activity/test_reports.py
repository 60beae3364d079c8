"""Reports say what is in the store, whole and in order."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from handfast.activity.chain import Head
from handfast.activity.query import EVERYTHING, RecordFilter
from handfast.activity.reports import (
    Group,
    SummaryReport,
    VerifyReport,
    list_records,
    percentile,
    show_record,
    summarise,
    verify,
)
from handfast.activity.sqlite import SqliteStore
from handfast.activity.store import RecordNotFound
from handfast.activity.walk import BrokenLink
from handfast.core.call.exchange import Record, RecordType, Status

TIMES = [f"2026-03-01T12:0{minute}:00.000000Z" for minute in range(4)]
CALL, DECISION = RecordType.TOOL_CALL, RecordType.POLICY_DECISION
RECORDS = [
    Record(id="a", time=TIMES[0], type=CALL, status=Status.SUCCESS, server="s", tool="t", duration_ms=10.0),
    Record(id="b", time=TIMES[1], type=DECISION, status=Status.BLOCKED, server="s", tool="t", rule="r", request_id="q"),
    Record(
        id="c",
        time=TIMES[2],
        type=CALL,
        status=Status.BLOCKED,
        server="s",
        tool="t",
        duration_ms=30.0,
        request_id="q",
    ),
    Record(id="d", time=TIMES[3], type=RecordType.SERVER_STATE, status=Status.SUCCESS, duration_ms=99.0),
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore.open(tmp_path)
    opened.append(RECORDS)
    yield opened
    opened.close()


def ignore(_: int) -> None:
    pass


@pytest.mark.parametrize(("limit", "ids", "has_more"), [(None, "dcba", False), (4, "dcba", False), (2, "dc", True)])
def test_a_list_says_whether_there_is_more(store: SqliteStore, limit: int | None, ids: str, has_more: bool) -> None:
    report = list_records(store, RecordFilter(limit=limit))
    assert ("".join(stored.record.id for stored in report.records), report.has_more) == (ids, has_more)


@pytest.mark.parametrize(("shown", "related"), [("b", ["c"]), ("c", ["b"]), ("a", [])])
def test_a_record_is_shown_with_those_of_its_request(store: SqliteStore, shown: str, related: list[str]) -> None:
    report = show_record(store, shown)
    assert [stored.record.id for stored in (report.record, *report.related)] == [shown, *related]


def test_a_request_is_shown_by_its_newest_record_and_what_belongs_to_it(store: SqliteStore) -> None:
    request_id = show_record(store, "b").record.record.request_id
    report = show_record(store, request_id)
    assert [stored.record.id for stored in (report.record, *report.related)] == ["c", "b"]
    for unknown in ("", "nothing", request_id + "x"):
        with pytest.raises(RecordNotFound):
            show_record(store, unknown)


def test_a_summary_counts_everything_and_times_only_tool_calls(store: SqliteStore) -> None:
    assert summarise(store, EVERYTHING, on_progress=ignore) == SummaryReport(
        count=4,
        first_time=TIMES[0],
        last_time=TIMES[3],
        p50_ms=10.0,
        p95_ms=30.0,
        types=(
            Group("tool_call", 2, 10.0, 30.0),
            Group("policy_decision", 1, None, None),
            Group("server_state", 1, None, None),
        ),
        statuses=(Group("blocked", 2, 30.0, 30.0), Group("success", 2, 10.0, 10.0)),
        servers=(Group("s", 3, 10.0, 30.0),),
        tools=(Group("s/t", 3, 10.0, 30.0),),
        rules=(Group("r", 1, None, None),),
    )


def test_a_summary_of_nothing_is_all_zero(store: SqliteStore) -> None:
    report = summarise(store, RecordFilter(server="nobody"), on_progress=ignore)
    assert report == SummaryReport(0, "", "", None, None, (), (), (), (), ())


def test_a_verified_store_reports_its_head(store: SqliteStore) -> None:
    head = store.head()
    assert verify(store, on_progress=ignore) == VerifyReport(4, 1, head, None, None)
    assert verify(store, noted=head.hash, on_progress=ignore) == VerifyReport(4, 1, head, None, 4)


def test_a_head_noted_elsewhere_that_is_not_in_the_chain_breaks_it(store: SqliteStore) -> None:
    report = verify(store, noted="f" * 64, on_progress=ignore)
    assert (report.is_intact, report.count, report.head) == (False, 4, Head(4, store.head().hash))
    assert report.broken == BrokenLink(
        4, "", "no record has the noted head's hash, so the history is not the one noted"
    )


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.5, 50.0), (0.95, 95.0), (1.0, 100.0)])
def test_percentiles_are_by_nearest_rank(share: float, expected: float) -> None:
    assert percentile([float(number) for number in range(100, 0, -1)], share) == expected
    assert percentile([], share) is None
