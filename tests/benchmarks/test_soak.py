"""The minute of scripts/soak in small: as many sessions and calls, held for five seconds."""

import asyncio

from benchmarks.soak import Soak, carry_out, render_table

# Buffers of 200 connections on either side, and what the allocator keeps of the first seconds; a minute adds no more.
GROWTH_MB = 48.0


def test_a_thousand_sessions_and_two_hundred_calls_are_held_without_an_error() -> None:
    figures, errors = asyncio.run(carry_out(Soak(seconds=5.0)))
    assert errors == []
    assert (figures.sessions, figures.recorded) == (1000, figures.calls)
    assert figures.calls >= 200  # each client got at least one answer
    assert figures.end_mb - figures.opened_mb < GROWTH_MB
    assert render_table(figures).count("\n") == 2
