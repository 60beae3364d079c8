"""What is held for clients: counted, and past the bound the slow give way and the quick wait."""

from collections.abc import Hashable

import pytest

from handfast.gateway.edge.held_bytes import HeldBytes

PIECE = 256 * 1024  # what one is let go on by


def test_the_oldest_gives_way_until_the_rest_fits() -> None:
    held, gone = HeldBytes(lambda: 10), list[str]()
    held.hold("a", 2, lambda: gone.append("a"))
    held.hold("b", 3, lambda: gone.append("b"))
    held.hold("a", 5, lambda: gone.append("a"))  # more of the same is no younger
    assert (held.total, gone) == (8, [])
    held.hold("c", 6, lambda: gone.append("c"))
    assert (held.total, gone) == (9, ["a"])
    held.release("b")
    held.release("b")
    assert held.total == 6


def test_what_does_not_fit_at_all_gives_way_itself() -> None:
    held, gone = HeldBytes(lambda: 10), list[str]()
    held.hold("a", 11, lambda: gone.append("a"))
    assert (held.total, gone) == (0, ["a"])


class Crowd:
    """Clients that are quick unless they are named slow."""

    def __init__(self, most: int) -> None:
        self.slow: set[Hashable] = set()
        self.log: list[str] = []
        self.held = HeldBytes(lambda: most, is_slow=lambda holder: holder in self.slow)

    def hold(self, name: str, size: int) -> None:
        self.held.hold(name, size, lambda: self.log.append(f"{name} gave way"))

    def must_wait(self, name: str) -> bool:
        return self.held.must_wait(name, lambda: self.log.append(f"{name} goes on"))


@pytest.mark.requirement("F5")
def test_past_the_bound_the_quick_wait_and_the_oldest_of_them_goes_on() -> None:
    crowd = Crowd(4 * PIECE)
    for name in "abcd":
        crowd.hold(name, PIECE)
    assert [crowd.must_wait(name) for name in "abcd"] == [False, True, True, True]
    crowd.hold("a", 2 * PIECE)
    assert (crowd.must_wait("a"), crowd.log) == (False, [])
    crowd.held.release("a")
    assert crowd.log == ["b goes on"], "it is the oldest now, and there is room for one"
    crowd.held.release("b")
    assert crowd.log[1:] == ["c goes on", "d goes on"]


@pytest.mark.requirement("F5")
def test_the_slow_give_way_to_the_quick_the_oldest_first() -> None:
    crowd = Crowd(4 * PIECE)
    for name in "abcd":
        crowd.hold(name, PIECE)
    crowd.slow = {"b", "c"}
    crowd.hold("e", 1)
    assert (crowd.log, crowd.must_wait("e")) == (["b gave way"], False)
    assert crowd.held.total == 3 * PIECE + 1


@pytest.mark.requirement("F5")
def test_who_becomes_slow_makes_room_for_those_who_wait() -> None:
    crowd = Crowd(4 * PIECE)
    for name in "abcd":
        crowd.hold(name, PIECE)
    assert crowd.must_wait("d")
    crowd.held.look_again()
    assert crowd.log == []
    crowd.slow = {"a"}
    crowd.held.look_again()
    assert crowd.log == ["a gave way", "d goes on"]


@pytest.mark.requirement("F5")
def test_where_nobody_is_slow_twice_the_bound_is_the_end_for_newcomers() -> None:
    crowd = Crowd(2 * PIECE)
    for name in "abcd":
        crowd.hold(name, PIECE)
    crowd.hold("e", 1)
    assert (crowd.log, crowd.held.total, crowd.must_wait("e")) == (["e gave way"], 4 * PIECE, False)


@pytest.mark.requirement("F5")
def test_who_is_gone_is_not_called() -> None:
    crowd = Crowd(2 * PIECE)
    for name in "abc":
        crowd.hold(name, PIECE)
    assert (crowd.must_wait("b"), crowd.must_wait("c")) == (True, True)
    crowd.held.release("b")
    crowd.held.release("a")
    assert crowd.log == ["c goes on"]
