"""The ten minutes of `scripts/soak mixed` in small, with a crash and a reload."""

import asyncio
from dataclasses import replace

import pytest
from benchmarks.mixed_soak import Level, Outcome, Tally, carry_out, render_table

from benchmarks import mixed_soak
from handfast.core.call.contract import LIST_UNAVAILABLE


def test_every_caller_gets_one_answer_of_its_own_and_every_decision_is_on_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mixed_soak, "_CHAOS_SECONDS", 1.0)
    monkeypatch.setattr(mixed_soak, "_QUIET_SECONDS", 2.5)
    monkeypatch.setattr(mixed_soak, "_SESSION_IDLE_SECONDS", 2.0)
    outcome = asyncio.run(carry_out(8.0, early_at=4.0, callers=8))
    assert outcome.wrong == []
    assert outcome.recorded == outcome.decisions > 0
    assert sum(outcome.answers.values()) == outcome.requests > 50
    assert outcome.answers["answered"] > outcome.requests / 4
    assert str(outcome.decisions) in render_table(outcome)


LEVEL = Level(memory_mb=50.0, descriptors=30, processes=2, tasks=10)
FINE = Outcome(
    seconds=1.0,
    requests=10,
    answers={"answered": 9, "refused": 1},
    wrong=[],
    decisions=1,
    recorded=1,
    early=LEVEL,
    late=LEVEL,
)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"requests": 11}, "11 requests, 10 answers"),
        ({"recorded": 0}, "1 decisions were answered, 0 are on record"),
        ({"wrong": ["echo: another's answer"]}, "another's answer"),
        ({"late": replace(LEVEL, memory_mb=80.0)}, "memory grew"),
        ({"late": replace(LEVEL, tasks=20)}, "tasks grew"),
        ({"late": replace(LEVEL, processes=9)}, "processes grew"),
        ({"late": replace(LEVEL, descriptors=90)}, "descriptors grew"),
        ({"answers": {"answered": 5, "failed": 5}}, "5 of 10 requests failed"),
    ],
)
def test_what_does_not_hold_is_said(change: dict[str, object], words: str) -> None:
    assert FINE.problems() == []
    assert words in " ".join(replace(FINE, **change).problems())  # type: ignore[arg-type]  # each as its field is


def test_anothers_answer_and_a_second_one_are_noticed() -> None:
    tally = Tally()
    own = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"nonce":"mine"}}}'
    tally.take("echo", 1, "mine", 200, own)
    assert tally.wrong == []
    tally.take("echo", 1, "other", 200, own)
    tally.take("echo", 2, "mine", 200, own)
    tally.take("echo", 1, "mine", 200, b"data: %b\n\ndata: %b\n\n" % (own, own))
    assert len(tally.wrong) == 3


def test_a_server_that_is_being_restarted_is_no_decision_about_a_call() -> None:
    tally = Tally()
    refusal = b'{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"%b"}]}}'
    tally.take("wrong", 1, "mine", 200, refusal % LIST_UNAVAILABLE.message.encode())
    tally.take("wrong", 1, "mine", 200, refusal % b"'nonce' is no text")
    assert (tally.answers, tally.decisions) == ({"failed": 1, "refused": 1}, 1)
