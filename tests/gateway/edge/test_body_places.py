"""Places for large bodies: few, kept by who uses them, and handed round among callers."""

import asyncio

import pytest

from handfast.core.call.caller import Caller
from handfast.gateway.edge import body_places
from handfast.gateway.edge.body_places import BodyPlaces
from tests.gateway.translate.combined.scripted import until

LONG = 3_000_000


class Client:
    """Sends when it is told to, and writes down what happens to it."""

    def __init__(self, places: BodyPlaces, log: list[str], name: str) -> None:
        self.caller = Caller(actor=name[0])
        self.bytes_a_look = 0
        self.is_waited_for = True
        self.is_ready = True
        self._received = 0
        self._places = places
        self._log = log
        self._name = name

    @property
    def body_received(self) -> int:
        self._received += self.bytes_a_look
        return self._received

    def ask(self, size: int = LONG) -> None:
        self._places.ask(self, size)

    def leave(self) -> None:
        self._places.leave(self)

    def send_on(self) -> None:
        self._log.append(f"{self._name} sends")

    def step_aside(self) -> None:
        self._log.append(f"{self._name} steps aside")

    def turn_away(self) -> None:
        self._log.append(f"{self._name} is turned away")


class Crowd(dict[str, Client]):
    def __init__(self) -> None:
        self.places = BodyPlaces()
        self.log: list[str] = []

    def __missing__(self, name: str) -> Client:
        client = self[name] = Client(self.places, self.log, name)
        return client

    def happened(self) -> list[str]:
        log, self.log[:] = self.log[:], []
        return log


@pytest.mark.requirement("F5")
def test_two_send_and_the_callers_of_the_others_take_turns() -> None:
    async def run() -> None:
        crowd = Crowd()
        for name in ("a1", "a2", "a3", "a4", "b1"):
            crowd[name].ask()
        assert crowd.happened() == ["a1 sends", "a2 sends"]
        for name in ("a1", "a2", "a3"):
            crowd[name].leave()
        assert crowd.happened() == ["a3 sends", "b1 sends", "a4 sends"]
        crowd["b1"].leave()
        crowd["b1"].leave()
        crowd["c1"].leave()
        crowd["a4"].leave()
        assert (crowd.happened(), crowd.places.senders) == ([], 0)

    asyncio.run(run())


@pytest.mark.requirement("F5")
def test_who_waits_may_leave() -> None:
    async def run() -> None:
        crowd = Crowd()
        for name in ("a1", "a2", "a3", "b1"):
            crowd[name].ask()
        crowd["a3"].leave()
        crowd["a1"].leave()
        assert crowd.happened() == ["a1 sends", "a2 sends", "b1 sends"]

    asyncio.run(run())


@pytest.mark.requirement("F5")
def test_bodies_of_one_size_do_not_wait_for_those_of_another() -> None:
    async def run() -> None:
        crowd = Crowd()
        for name in ("a1", "a2", "a3"):
            crowd[name].ask()
        for name, size in (("b1", 100_000), ("b2", 900_000)):
            crowd[name].ask(size)
        assert crowd.happened() == ["a1 sends", "a2 sends", "b1 sends", "b2 sends"]

    asyncio.run(run())


@pytest.mark.requirement("F5")
def test_only_who_is_waited_for_and_sends_little_loses_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_places, "_LOOK_SECONDS", 0.001)

    async def run() -> None:
        crowd = Crowd()
        crowd["stalls"].ask()
        crowd["busy"].ask()
        await asyncio.sleep(0.02)
        assert crowd.happened() == ["stalls sends", "busy sends"], "nobody waits, so nobody loses anything"
        crowd["busy"].is_waited_for = False  # it has a turn to wait for
        crowd["quick"].bytes_a_look = 30_000
        crowd["quick"].ask()
        await until(lambda: len(crowd.log) == 2)
        assert crowd.happened() == ["stalls steps aside", "quick sends"]
        crowd["next"].ask()
        await asyncio.sleep(0.02)
        assert crowd.happened() == [], "one is waited for and sends, the other is not waited for"
        crowd["quick"].bytes_a_look = 20_000
        await until(lambda: len(crowd.log) == 2)
        assert crowd.happened() == ["quick steps aside", "next sends"]

    asyncio.run(run())


@pytest.mark.requirement("F5")
def test_who_waits_without_having_sent_more_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_places, "_LOOK_SECONDS", 0.001)

    async def run() -> None:
        crowd = Crowd()
        for name in ("a1", "a2", "a3", "a4", "a5"):
            crowd[name].is_waited_for = False
            crowd[name].is_ready = name == "a5"
            crowd[name].ask()
        crowd["a1"].leave()
        assert crowd.happened() == ["a1 sends", "a2 sends", "a3 steps aside", "a4 steps aside", "a5 sends"]
        crowd["a6"].is_ready = False
        crowd["a6"].ask()
        await until(lambda: crowd.log)
        assert crowd.happened() == ["a6 steps aside"], "also while no place is free"
        crowd["a7"].ask()
        crowd["a8"].ask()
        crowd["a7"].is_ready = crowd["a8"].is_ready = False
        crowd["a2"].leave()
        assert crowd.happened() == ["a7 steps aside", "a8 sends"], "where nobody else waits there is a place"

    asyncio.run(run())


@pytest.mark.requirement("F5")
def test_where_too_many_wait_the_caller_with_most_of_them_loses_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_places, "_WAITING", 3)

    async def run() -> None:
        crowd = Crowd()
        for name in ("a1", "a2", "a3", "a4", "a5", "a6", "b1"):
            crowd[name].ask()
        assert crowd.happened() == ["a1 sends", "a2 sends", "a6 is turned away", "a5 is turned away"]
        crowd["a6"].leave()
        crowd["a1"].leave()
        crowd["a2"].leave()
        assert crowd.happened() == ["a3 sends", "b1 sends"]

    asyncio.run(run())
