"""What is held for slow clients: counted, and past the bound the oldest gives way."""

from handfast.gateway.edge.held_bytes import HeldBytes


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


def test_who_is_not_slow_keeps_its_room_and_the_slow_give_way_to_it() -> None:
    held, gone = HeldBytes(lambda: 10), list[str]()
    held.hold("quick", 4, None)
    held.hold("slow", 4, lambda: gone.append("slow"))
    held.hold("later", 2, lambda: gone.append("later"))
    held.hold("quick", 7, None)
    assert (held.total, gone) == (9, ["slow"])
    held.hold("quick", 12, None)
    assert (held.total, gone) == (12, ["slow", "later"])
    held.hold("quick", 12, lambda: gone.append("quick"))
    assert (held.total, gone) == (0, ["slow", "later", "quick"]), "it has become slow"


def test_what_does_not_fit_at_all_gives_way_itself() -> None:
    held, gone = HeldBytes(lambda: 10), list[str]()
    held.hold("a", 11, lambda: gone.append("a"))
    assert (held.total, gone) == (0, ["a"])
