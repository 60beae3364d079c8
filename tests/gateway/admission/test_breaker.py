"""When a failing server is tried again: the waits, one try at a time, and what starts the count anew."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.admission.breaker import SETTLED_SECONDS, Breaker, Rest, reconnect_rest, restart_rest


@dataclass(slots=True)
class Time:
    """A clock that a test moves."""

    seconds: float = 1000.0

    def __call__(self) -> float:
        return self.seconds


def for_child(now: Callable[[], float], most: int = 10) -> Breaker:
    return Breaker(now, rest_after=lambda n: restart_rest(n, most), settles_after=SETTLED_SECONDS)


def for_address(now: Callable[[], float], most: int = 3) -> Breaker:
    return Breaker(now, rest_after=lambda n: reconnect_rest(n, most))


def fail_after_each_wait(breaker: Breaker, time: Time, times: int) -> list[float]:
    """The wait that follows each failure."""
    waits = []
    for _ in range(times):
        assert breaker.admit() == 0.0
        breaker.failed()
        waits.append(breaker.admit())
        time.seconds += waits[-1]
    return waits


def test_a_child_is_started_again_at_once_then_after_waits_that_double_then_once_a_minute() -> None:
    time = Time()
    waits = fail_after_each_wait(for_child(time), time, 12)
    assert waits == [0, 0.5, 1, 2, 4, 8, 16, 30, 30, 60, 60, 60]


def test_an_address_may_fail_a_few_times_before_it_is_left_alone() -> None:
    time = Time()
    waits = fail_after_each_wait(for_address(time), time, 10)
    assert waits == [0, 0, 1, 2, 4, 8, 16, 30, 30, 30]


@pytest.mark.parametrize("rest", [restart_rest, reconnect_rest])
@given(failures=st.integers(1, 10**6), most=st.integers(1, 1000))
def test_no_number_of_failures_makes_a_wait_longer_than_a_minute(
    rest: Callable[[int, int], Rest], failures: int, most: int
) -> None:
    seconds, is_open = rest(failures, most)
    assert (0 <= seconds <= 60, is_open) == (True, failures >= most)


def test_one_try_is_let_through_when_the_wait_is_over() -> None:
    time = Time()
    breaker = for_address(time, most=1)
    breaker.failed()
    time.seconds += 1
    assert [breaker.admit() for _ in range(4)] == [0, 10, 10, 10]
    assert breaker.is_open
    time.seconds += 4
    breaker.succeeded()
    assert ([breaker.admit() for _ in range(4)], breaker.is_open, breaker.failures) == ([0] * 4, False, 0)


def test_a_try_that_fails_doubles_the_wait() -> None:
    time = Time()
    breaker = for_address(time, most=1)
    breaker.failed()
    time.seconds += 1
    assert breaker.admit() == 0
    breaker.failed()
    assert (breaker.admit(), breaker.failures) == (2, 2)


@pytest.mark.parametrize("make", [for_child, for_address])
def test_a_try_that_shows_nothing_makes_room_for_another(make: Callable[[Time, int], Breaker]) -> None:
    time = Time()
    breaker = make(time, 1)
    breaker.failed()
    time.seconds += 60
    assert breaker.admit() == 0
    breaker.release()
    assert [breaker.admit(), breaker.admit()] == [0, 10]
    time.seconds += 10  # and one that nobody hears of again does not keep the others away for ever
    assert breaker.admit() == 0


def test_a_release_without_a_try_does_not_shorten_a_wait() -> None:
    breaker = for_address(Time(), most=1)
    breaker.failed()
    breaker.release()
    assert breaker.admit() == 1


@pytest.mark.parametrize("make", [for_child, for_address])
def test_many_that_fail_at_once_are_one_failure(make: Callable[[Time, int], Breaker]) -> None:
    breaker = make(Time(), 1)
    for _ in range(50):
        breaker.failed()
    assert breaker.failures == 1


def test_one_answer_is_proof_enough_of_an_address() -> None:
    time = Time()
    breaker = for_address(time)
    for _ in range(10):
        breaker.failed()
        breaker.failed()
        breaker.succeeded()
    assert (breaker.admit(), breaker.failures) == (0, 0)


@pytest.mark.parametrize(("seconds", "failures"), [(SETTLED_SECONDS - 1, 4), (SETTLED_SECONDS, 1)])
def test_a_child_must_run_well_for_a_while_before_its_crashes_are_forgotten(seconds: float, failures: int) -> None:
    time = Time()
    breaker = for_child(time)
    fail_after_each_wait(breaker, time, 3)
    assert breaker.admit() == 0
    breaker.succeeded()
    time.seconds += seconds
    breaker.failed()
    assert breaker.failures == failures


def test_a_child_that_answers_does_not_shorten_the_wait_after_anothers_death() -> None:
    breaker = for_child(Time())
    breaker.failed()
    breaker.failed()
    breaker.succeeded()
    assert breaker.admit() == 0.5


EVENTS = st.lists(st.tuples(st.booleans(), st.floats(0, 2)), max_size=200)


@given(EVENTS)
def test_a_child_that_dies_at_once_is_started_again_once_and_then_never_within_half_a_second(
    events: list[tuple[bool, float]],
) -> None:
    """However often it is asked for, and whatever children from earlier still answer."""
    time = Time()
    breaker = for_child(time)
    starts: list[float] = []
    for is_asked_for, seconds in events:
        time.seconds += seconds
        if not is_asked_for:
            breaker.succeeded()
        elif breaker.admit() == 0:
            assert len(starts) < 2 or time.seconds - starts[-1] >= 0.5 - 1e-6
            starts.append(time.seconds)
            breaker.failed()
