"""Many notifications that a list changed become few, and the last one is never lost."""

import asyncio

import pytest

from handfast.gateway.relay.list_notices import ListNotices, is_list_notice
from handfast.wire.message import Message, read_message
from tests.gateway.http_servers import turn_until


def notice(kind: str, number: int) -> Message:
    return read_message(b'{"method":"notifications/%b/list_changed","params":{"n":%d}}' % (kind.encode(), number))


@pytest.mark.requirement("F6")
def test_of_a_storm_the_first_passes_at_once_and_the_last_when_its_second_is_over() -> None:
    async def work() -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        passed: list[tuple[str, int]] = []
        notices = ListNotices[str](
            lambda source, message: passed.append((source, int(bytes(message.params()["n"]).decode())))
        )
        for number in range(1000):
            notices.take("a", notice("tools", number))
        notices.take("a", notice("prompts", 5000))
        notices.take("b", notice("tools", 6000))
        at_once = list(passed)
        await turn_until(lambda: len(passed) == 4)
        return at_once, passed[3:]

    assert asyncio.run(work()) == ([("a", 0), ("a", 5000), ("b", 6000)], [("a", 999)])


def test_only_lists_that_change_are_made_less_of() -> None:
    assert is_list_notice(notice("resources", 1))
    assert not is_list_notice(read_message(b'{"method":"notifications/resources/updated"}'))
    assert not is_list_notice(read_message(b'{"id":1,"method":"x/list_changed"}'))
