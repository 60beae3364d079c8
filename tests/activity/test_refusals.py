"""Refusals in a loop are counted, every one of them, and what one caller repeats leaves the others' records whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.activity.refusals import RefusalRates
from handfast.clock import Clock
from handfast.core.call.exchange import Record, RecordType, Status, Tally

CLOCK = Clock()


def refusal(tool: str = "add", rule: str = "arguments.unknown", size: int = 10) -> tuple[Record, Record]:
    decision = Record(
        id=CLOCK.new_id(),
        time=CLOCK.now(),
        type=RecordType.POLICY_DECISION,
        status=Status.BLOCKED,
        server="files",
        tool=tool,
        mode="warn",
        rule=rule,
        request_id="r-1",
        actor="ada",
    )
    return decision, Record(
        id=CLOCK.new_id(),
        time=CLOCK.now(),
        type=RecordType.TOOL_CALL,
        status=Status.BLOCKED,
        details={"argument_bytes": size},
    )


def is_whole(
    rates: RefusalRates, caller: str = "ada", now: float = 0.0, tool: str = "add", rule: str = "arguments.unknown"
) -> bool:
    return rates.count(caller, refusal(tool, rule), now) is None


@pytest.mark.requirement("F9")
def test_the_first_twenty_of_a_kind_in_a_minute_are_whole_records() -> None:
    rates = RefusalRates()
    assert [is_whole(rates) for _ in range(30)] == [True] * 20 + [False] * 10
    assert is_whole(rates, caller="bob")
    assert is_whole(rates, tool="subtract")
    assert is_whole(rates, rule="arguments.schema")
    assert not is_whole(rates, now=59.0)
    assert is_whole(rates, now=61.0)


@pytest.mark.requirement("F9")
def test_an_operator_may_have_more_of_them_whole_or_all() -> None:
    rates = RefusalRates(25)
    assert [is_whole(rates) for _ in range(30)] == [True] * 25 + [False] * 5
    assert sum(is_whole(rates, tool=f"tool-{number}") for number in range(900)) == 725
    everything = RefusalRates(None)
    assert all(is_whole(everything) for _ in range(1_000))


@pytest.mark.requirement("F9")
def test_the_record_of_a_tally_says_how_many_of_what_and_when() -> None:
    rates = RefusalRates()
    counted = [refusal() for _ in range(25)]
    tallies = {rates.count("ada", records, 0.0) for records in counted}
    assert len(tallies) == 2  # one, and none for those that are whole
    assert (rates.due, rates.take_due(0.9, CLOCK)) == (1.0, [])
    ((tally, record),) = rates.take_due(1.0, CLOCK)
    assert tally in tallies
    assert (record.type, record.status, record.rule) == (
        RecordType.POLICY_DECISION,
        Status.BLOCKED,
        "arguments.unknown",
    )
    assert (record.server, record.tool, record.mode, record.actor) == ("files", "add", "warn", "ada")
    assert record.reason == "5 more calls of this kind were refused."
    assert record.details == {
        "count": 5,
        "first_time": counted[20][0].time,
        "last_time": counted[24][0].time,
        "caller": "ada",
    }
    assert rates.due is None


@pytest.mark.requirement("F9")
def test_a_caller_that_varies_its_calls_is_counted_as_one() -> None:
    rates = RefusalRates()
    assert sum(is_whole(rates, tool=f"tool-{number}") for number in range(740)) == 600
    ((_, record),) = rates.take_due(1.0, CLOCK)
    assert (record.tool, record.server, record.details["count"]) == ("", "", 140)
    assert record.reason == "140 more calls of this caller were refused."
    assert is_whole(rates, caller="bob")


@pytest.mark.requirement("F9")
def test_callers_without_end_are_counted_together() -> None:
    rates = RefusalRates()
    assert sum(is_whole(rates, caller=f"caller-{number}") for number in range(1_900)) == 1200
    ((_, record),) = rates.take_due(1.0, CLOCK)
    assert (record.actor, record.details["count"], "caller" in record.details) == ("", 700, False)
    assert record.reason == "700 more calls of several callers were refused."


@pytest.mark.requirement("F9")
@pytest.mark.parametrize(("size", "calls"), [(0, 256), (4 * 1024 * 1024, 3)])
def test_what_waits_for_a_tally_is_bounded(size: int, calls: int) -> None:
    rates = RefusalRates()
    while is_whole(rates, now=5.0):
        pass
    for _ in range(calls - 1):
        assert rates.due == 6.0
        assert rates.count("ada", refusal(size=size), 5.0)
    assert rates.due == 5.0


@pytest.mark.requirement("F9")
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["x", "y", *map(str, range(70))]), st.floats(0, 3)),
        max_size=400,
    )
)
def test_every_refusal_is_counted_exactly_once(calls: list[tuple[str, str, float]]) -> None:
    rates, now, whole, counted = RefusalRates(), 0.0, 0, 0
    for caller, tool, later in calls:
        now += later
        whole += rates.count(caller, refusal(tool), now) is None
        counted += sum(tally.count for tally, _ in rates.take_due(now, CLOCK))
    counted += sum(tally.count for tally, _ in rates.take_due(now + 1, CLOCK))
    assert whole + counted == len(calls)


def test_tallies_are_told_apart_by_what_they_are_and_not_by_what_they_hold() -> None:
    first, _ = refusal()
    assert len({Tally(first, 0.0), Tally(first, 0.0)}) == 2
