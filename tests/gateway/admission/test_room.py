from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.admission.room import NoRoom, Room, share_of

pytestmark = pytest.mark.requirement("F7")


@dataclass(eq=False)
class Place:
    address: str
    opened: float
    last_used: float = 0.0
    has_called: bool = False
    is_idle: bool = True


def room(*places: Place) -> Room[Place]:
    found: Room[Place] = Room()
    for place in places:
        found.add(place)
    return found


def test_nobody_makes_way_while_there_is_room() -> None:
    assert room(Place("a", 1), Place("b", 2)).find_leaver("c", 4) is None


def test_one_address_holds_at_most_half_and_loses_its_own() -> None:
    old, new = Place("a", 1), Place("a", 2)
    assert room(old, new, Place("b", 3)).find_leaver("a", 4) is new


def test_what_never_made_a_call_goes_first_and_then_what_was_not_used_for_longest() -> None:
    called, used, idle = Place("a", 1, 9, has_called=True), Place("a", 2, 5, has_called=True), Place("a", 3)
    found = room(called, used, idle)
    assert found.find_leaver("a", 6) is idle
    found.remove(idle)
    found.add(Place("a", 4, 7, has_called=True))
    assert found.find_leaver("a", 6) is used


def test_when_all_is_taken_the_opener_loses_its_own_before_another_does() -> None:
    mine, yours = Place("a", 1, has_called=True), Place("b", 2)
    assert room(mine, yours, Place("c", 3), Place("d", 4)).find_leaver("a", 4) is mine


def test_an_opener_without_any_takes_from_the_address_that_holds_the_most() -> None:
    newest = Place("b", 9)
    assert room(newest, Place("a", 1), Place("a", 2), Place("c", 3)).find_leaver("d", 4).opened == 2  # type: ignore[union-attr]  # there is one


def test_what_is_in_use_makes_way_for_nobody() -> None:
    busy = [Place(address, 1, is_idle=False) for address in "aabc"]
    with pytest.raises(NoRoom, match="2 sessions of this caller"):
        room(*busy).find_leaver("a", 4)
    with pytest.raises(NoRoom, match="Too many sessions"):
        room(*busy).find_leaver("d", 4)


def test_where_there_is_one_place_it_can_be_had() -> None:
    only = Place("a", 1)
    assert (share_of(1), room().find_leaver("a", 1), room(only).find_leaver("b", 1)) == (1, None, only)


def test_what_is_not_there_can_be_taken_out() -> None:
    found = room(place := Place("a", 1))
    found.remove(place)
    found.remove(place)
    assert (len(found), found.find_leaver("a", 2)) == (0, None)


@given(st.lists(st.sampled_from("abcdef"), max_size=60), st.integers(1, 12))
def test_no_address_ever_holds_more_than_its_share_and_none_without_is_turned_away(
    openers: list[str], most: int
) -> None:
    found: Room[Place] = Room()
    held: list[Place] = []
    for now, address in enumerate(openers):
        leaver = found.find_leaver(address, most)
        if leaver is not None:
            found.remove(leaver)
            held.remove(leaver)
        held.append(place := Place(address, now))
        found.add(place)
        assert len(held) == len(found) <= most
        assert max(sum(place.address == one for place in held) for one in "abcdef") <= share_of(most)
