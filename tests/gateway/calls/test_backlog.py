"""What waits for a client: in order, and never more than fits."""

from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.calls.backlog import Backlog
from handfast.wire.message import Message, read_message

MOST, MOST_BYTES = 1000, 4 * 1024 * 1024


def message(number: int, size: int) -> Message:
    return read_message(
        b'{"jsonrpc":"2.0","method":"notifications/n","params":{"n":%d,"x":"%b"}}' % (number, b"x" * size)
    )


@given(st.lists(st.sampled_from([10, 5_000, 300_000, 5_000_000]), max_size=30))
def test_what_is_dropped_is_the_oldest_and_the_newest_always_stays(sizes: list[int]) -> None:
    backlog = Backlog()
    messages = [message(number, size) for number, size in enumerate(sizes)]
    dropped = 0
    for each in messages:
        backlog.append(each)
        dropped += backlog.drop_oldest()
        assert len(backlog) == 1 or not backlog.is_full
    left = [backlog.popleft() for _ in range(len(backlog))]
    assert left == messages[dropped:]
    assert bool(left) == bool(messages)
    assert not backlog
    assert backlog.is_low


def test_a_thousand_messages_fit_and_one_more_does_not() -> None:
    backlog = Backlog()
    for number in range(MOST):
        backlog.append(message(number, 1))
    assert (backlog.is_full, backlog.is_low) == (False, False)
    backlog.append(message(MOST, 1))
    assert (backlog.is_full, backlog.drop_oldest(), len(backlog)) == (True, 1, MOST)
