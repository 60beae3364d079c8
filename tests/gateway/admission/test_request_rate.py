"""Requests of one caller in a minute: bounded for it, and for nobody else."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.admission.request_rate import RequestRate
from tests.gateway.running import eventually, read_records, running, send, stdio
from tests.gateway.signed import SignedClient, token
from tests.stubs.run import answer, tool, write_stub

TEXT = '{"content":[{"type":"text","text":"fine"}]}'


class Time:
    """A clock that a test turns."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_fills_again_with_time() -> None:
    clock = Time()
    rate = RequestRate(clock)
    assert [rate.take("ada", 6) for _ in range(8)] == [0] * 6 + [10, 10]
    assert rate.take("bob", 6) == 0
    clock.now += 9.5
    assert rate.take("ada", 6) == 1
    clock.now += 0.5
    assert [rate.take("ada", 6), rate.take("ada", 6)] == [0, 10]
    clock.now += 3600
    assert [rate.take("ada", 6) for _ in range(7)] == [0] * 6 + [10]


@given(st.lists(st.floats(0, 20), min_size=1, max_size=200), st.integers(1, 100))
def test_no_minute_has_more_than_twice_the_bound(pauses: list[float], most: int) -> None:
    """A full bucket, and what flows in meanwhile."""
    clock = Time()
    rate = RequestRate(clock)
    taken: list[float] = []
    for pause in pauses:
        clock.now += pause
        if rate.take("ada", most) == 0:
            taken.append(clock.now)
    assert all(sum(begin <= at <= begin + 60 for at in taken) <= 2 * most for begin in taken)


def test_a_caller_over_its_rate_reads_when_to_come_back_and_others_go_on(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    with running({"up": stdio(stub)}, tmp_path, auth={"mode": "token"}, limits={"requests_per_minute": 10}) as gateway:
        clients = [
            SignedClient(gateway, place, token(gateway.state, subject=who), is_modern=is_modern)
            for place, who, is_modern in (("/mcp/up", "ann", True), ("/mcp#up", "ann", True), ("/mcp/up", "bob", False))
        ]
        ann, combined, bob = clients
        bob.open()
        statuses = [ann.call("add").status for _ in range(12)]
        assert statuses == [200] * 10 + [429] * 2
        assert combined.call("up__add").status == 429  # one caller, whichever way it comes
        assert bob.call("add").text == "fine"
        message = json.dumps(ann.render("ping")).encode()
        refused = send(gateway.base, "POST", "/mcp/up", message, ann.headers(message))
        assert 1 <= int(refused.headers["retry-after"]) <= 7
        assert refused.error["message"].startswith("More requests came than the 10 a minute")
        assert eventually(lambda: read_records(gateway.state, rule="caller.rate"), "a record")
        assert len(stub.journal.calls("add")) == 11
