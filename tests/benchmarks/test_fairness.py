"""scripts/fairness in small: one short round beside each attack, and what is made of the figures."""

import pytest
from benchmarks.attacks import ATTACKS
from benchmarks.fairness import Fairness, Seen, carry_out, render_table, summarize

ALONE = [Seen(p99_ms=2.0, errors=0, rest_mb=40.0, most_mb=41.0)] * 3


@pytest.mark.parametrize("attack", sorted(ATTACKS))
def test_an_honest_client_is_answered_beside_each_attack(attack: str) -> None:
    """How much slower is for the script to measure, on a machine that does nothing else."""
    (figures,) = carry_out([attack], rounds=1, seconds=1.0)
    assert figures.errors == 0
    assert figures.p99_ms > 0
    assert f"| {attack} |" in render_table([figures])


@pytest.mark.parametrize(
    ("seen", "is_fair"),
    [
        (Seen(p99_ms=5.9, errors=0, rest_mb=40.0, most_mb=79.0), True),
        (Seen(p99_ms=6.1, errors=0, rest_mb=40.0, most_mb=41.0), False),
        (Seen(p99_ms=2.0, errors=1, rest_mb=40.0, most_mb=41.0), False),
        (Seen(p99_ms=2.0, errors=0, rest_mb=40.0, most_mb=81.0), False),
    ],
)
def test_what_is_fair_is_three_times_as_slow_at_most_in_twice_the_memory(seen: Seen, is_fair: bool) -> None:
    figures: Fairness = summarize("x", ALONE, [seen] * 3)
    assert figures.is_fair is is_fair
