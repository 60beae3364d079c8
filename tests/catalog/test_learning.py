"""Asking for contracts: one question at a time, callers wait only so long, a refusal is not asked for again at once."""

import asyncio
import itertools
from collections.abc import Awaitable

import pytest

from handfast.catalog.contracts import ServerContracts
from handfast.catalog.learning import Learner
from handfast.core.call.contract import ToolContract
from handfast.core.schema.compiled import SchemaBounds
from handfast.wire.message import Message, read_message
from tests.gateway.http_servers import turn_until

LIST = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}'
REFUSAL = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'


class Server:
    """Counts the questions; answers once the test lets it."""

    def __init__(self, answer: bytes = LIST) -> None:
        self.answer = answer
        self.asked = 0
        self.may_answer = asyncio.Event()

    def list_page(self, _cursor: bytes | None) -> Awaitable[Message]:
        return self._list()

    async def _list(self) -> Message:
        self.asked += 1
        await self.may_answer.wait()
        return read_message(self.answer)


class Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def learner(*known: ToolContract, timeout: float = 5.0, clock: Time | None = None) -> Learner:
    return Learner(ServerContracts(known, bounds=SchemaBounds()), timeout=timeout, monotonic=clock or Time())


@pytest.mark.requirement("004-1")
def test_a_known_contract_is_found_without_asking() -> None:
    async def work() -> int:
        server = Server()
        assert await learner(ToolContract("a", None, None)).find("a", server.list_page) is not None
        return server.asked

    assert asyncio.run(work()) == 0


@pytest.mark.requirement("D21")
def test_however_many_calls_wait_the_server_is_asked_once() -> None:
    async def work() -> int:
        server, learning = Server(), learner()
        waiting = [asyncio.create_task(learning.find("a", server.list_page)) for _ in range(20)]
        learning.discover(server.list_page)
        await asyncio.sleep(0)
        server.may_answer.set()
        assert all(await asyncio.gather(*waiting))
        return server.asked

    assert asyncio.run(work()) == 1


@pytest.mark.requirement("D21")
def test_a_tool_that_a_complete_list_does_not_have_is_not_asked_for_again() -> None:
    async def work() -> int:
        server, learning = Server(), learner()
        server.may_answer.set()
        assert await learning.find("other", server.list_page) is None
        assert await learning.find("other", server.list_page) is None
        return server.asked

    assert asyncio.run(work()) == 1


@pytest.mark.requirement("C3")
def test_a_call_waits_no_longer_than_the_timeout_and_a_late_answer_is_still_learnt() -> None:
    async def work() -> None:
        server, learning = Server(), learner(timeout=0.05)
        assert await learning.find("a", server.list_page) is None
        server.may_answer.set()
        assert await learning.find("a", server.list_page) is not None
        assert server.asked == 1

    asyncio.run(work())


def test_a_server_that_will_not_list_is_asked_again_only_after_half_a_minute() -> None:
    async def work() -> list[int]:
        clock = Time()
        server, learning = Server(REFUSAL), learner(clock=clock)
        server.may_answer.set()
        asked = []
        for later in (0.0, 29.0, 2.0):
            clock.now += later
            assert await learning.find("a", server.list_page) is None
            asked.append(server.asked)
        return asked

    assert asyncio.run(work()) == [1, 1, 2]


def test_a_connection_that_breaks_is_a_refusal_and_not_a_crash() -> None:
    async def broken(_cursor: bytes | None) -> Message:
        raise ConnectionError("gone")

    async def work() -> None:
        assert await learner().find("a", broken) is None

    asyncio.run(work())


def test_a_server_that_started_anew_is_asked_anew_and_otherwise_once() -> None:
    async def work() -> list[int]:
        server, learning = Server(), learner()
        server.may_answer.set()
        asked = []
        for starts_anew in (False, False, True):
            if starts_anew:
                learning.restart()
            learning.discover(server.list_page)
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
            asked.append(server.asked)
        return asked

    assert asyncio.run(work()) == [1, 1, 2]


def test_closing_ends_the_question() -> None:
    async def work() -> None:
        server, learning = Server(), learner()
        learning.discover(server.list_page)
        await asyncio.sleep(0)
        learning.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(others)
        assert all(task.cancelled() for task in others)

    asyncio.run(work())


class Storm:
    """A server that says again and again that its list has changed."""

    def __init__(self) -> None:
        self.clock = Time()
        self.server = Server()
        self.server.may_answer.set()
        self.learner = learner(clock=self.clock)
        self.asked_at: list[float] = []

    async def blow(self, seconds: float) -> None:
        """So many seconds of it, a hundred times a second."""
        until = self.clock.now + seconds
        while self.clock.now < until:
            before = self.server.asked
            self.learner.refresh(self.server.list_page)
            await turn_until(lambda: not self.learner._asking)  # what is being asked is answered at once
            if self.server.asked > before:
                self.asked_at.append(self.clock.now)
            self.clock.now = round(self.clock.now + 0.01, 2)

    def pauses(self) -> list[float]:
        return [round(later - sooner) for sooner, later in itertools.pairwise(self.asked_at)]


@pytest.mark.requirement("F6")
def test_the_first_change_is_learnt_at_once_and_a_storm_less_and_less_often() -> None:
    async def work() -> Storm:
        storm = Storm()
        await storm.blow(200)
        storm.learner.close()
        return storm

    storm = asyncio.run(work())
    assert storm.asked_at[0] == 100
    assert storm.pauses() == [1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.requirement("F6")
def test_after_a_quiet_time_a_change_is_learnt_at_once_again() -> None:
    async def work() -> Storm:
        storm = Storm()
        await storm.blow(4)
        storm.clock.now += 100
        await storm.blow(4)
        storm.learner.close()
        return storm

    assert asyncio.run(work()).pauses() == [1, 2, 101, 1, 2]


@pytest.mark.requirement("F6")
def test_the_last_change_is_learnt_once_the_rest_is_over() -> None:
    async def work() -> tuple[int, int]:
        storm = Storm()
        storm.learner.refresh(storm.server.list_page)
        await turn_until(lambda: not storm.learner._asking)
        storm.clock.now += 0.9
        storm.learner.refresh(storm.server.list_page)
        before = storm.server.asked
        storm.clock.now += 0.2
        await turn_until(lambda: not storm.learner._due and not storm.learner._asking)
        return before, storm.server.asked

    assert asyncio.run(work()) == (1, 2)


@pytest.mark.requirement("F6")
def test_a_change_that_is_announced_while_the_list_is_asked_for_is_not_lost() -> None:
    async def work() -> int:
        storm = Storm()
        storm.server.may_answer.clear()
        storm.learner.refresh(storm.server.list_page)
        await asyncio.sleep(0)
        storm.clock.now += 10
        storm.learner.refresh(storm.server.list_page)
        storm.server.may_answer.set()
        await turn_until(lambda: not storm.learner._due and not storm.learner._asking)
        return storm.server.asked

    assert asyncio.run(work()) == 2


@pytest.mark.requirement("F6")
def test_a_call_does_not_wait_for_a_server_that_rests() -> None:
    async def work() -> bool:
        storm = Storm()
        await storm.blow(3)
        found = await asyncio.wait_for(storm.learner.find("a", storm.server.list_page), 1)
        storm.learner.close()
        return found is not None

    assert asyncio.run(work())


@pytest.mark.requirement("F7")
def test_a_list_that_one_caller_is_refused_stops_no_other() -> None:
    async def work() -> tuple[bool, bool, int]:
        refusing, server, learning = Server(REFUSAL), Server(), learner()
        refusing.may_answer.set()
        server.may_answer.set()
        refused = await learning.find("a", refusing.list_page, must_be_listed=True, asker="greedy")
        again = await learning.find("a", refusing.list_page, must_be_listed=True, asker="greedy")
        found = await learning.find("a", server.list_page, must_be_listed=True, asker="victim")
        return (refused or again) is None, found is not None, refusing.asked

    assert asyncio.run(work()) == (True, True, 1)


@pytest.mark.requirement("F7")
@pytest.mark.parametrize("is_refused", [True, False], ids=["refused", "never answered"])
def test_a_caller_that_waited_for_anothers_list_in_vain_asks_in_its_own_session(is_refused: bool) -> None:
    async def work() -> bool:
        theirs, mine, learning = Server(REFUSAL), Server(), learner(timeout=1.0 if is_refused else 0.1)
        mine.may_answer.set()
        other = asyncio.create_task(learning.find("a", theirs.list_page, must_be_listed=True, asker="greedy"))
        await turn_until(lambda: theirs.asked == 1)
        waiting = asyncio.create_task(learning.find("a", mine.list_page, must_be_listed=True, asker="victim"))
        if is_refused:
            theirs.may_answer.set()
        found = await waiting
        await other
        learning.close()
        return found is not None

    assert asyncio.run(work())


@pytest.mark.requirement("F7")
def test_callers_that_are_refused_are_forgotten_at_some_point() -> None:
    async def work() -> int:
        refusing, learning = Server(REFUSAL), learner()
        refusing.may_answer.set()
        for number in range(1_200):
            await learning.find("a", refusing.list_page, asker=number)
        return len(learning._not_before)

    assert asyncio.run(work()) == 1_000
