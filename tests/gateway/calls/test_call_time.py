"""How long a call may take, and which bound it met."""

import pytest

from handfast.gateway.calls.call_time import CallTime, too_long, too_silent
from handfast.gateway.settings.blocks import Limits


@pytest.mark.requirement("F5")
def test_progress_moves_the_end_of_a_call_but_not_beyond_its_whole_length() -> None:
    time = CallTime(Limits(call_timeout_s=10, call_total_s=25), 100.0)
    assert (time.due, time.describe()) == (110.0, too_silent(10))
    time.extend(109.0)
    assert (time.due, time.describe()) == (119.0, too_silent(10))
    time.extend(118.0)
    assert (time.due, time.describe()) == (125.0, too_long(25))
    time.extend(124.0)
    assert time.due == 125.0


@pytest.mark.requirement("F5")
def test_a_whole_length_below_the_silence_is_met_first() -> None:
    time = CallTime(Limits(call_timeout_s=10, call_total_s=5), 0.0)
    assert (time.due, time.describe()) == (5.0, too_long(5))
