from contextlib import ExitStack

import pytest

from handfast.gateway.admission.listening_places import ListeningPlaces, ListeningRefused

pytestmark = pytest.mark.requirement("F7")


def test_an_address_has_half_of_the_places_and_the_rest_is_for_others() -> None:
    noted: list[str] = []
    places = ListeningPlaces(lambda: 4, on_refusal=noted.append)
    with ExitStack() as stack:
        for address in "aab":
            stack.enter_context(places.hold(address))
        with pytest.raises(ListeningRefused, match="2 streams of this caller"), places.hold("a"):
            pass
        stack.enter_context(places.hold("c"))
        with pytest.raises(ListeningRefused, match="Too many streams"), places.hold("b"):
            pass
    assert [reason.startswith("A stream was refused: ") for reason in noted] == [True, True]
    with places.hold("a"), places.hold("a"):  # all of them were given back
        pass


def test_a_place_is_given_back_however_its_stream_ends() -> None:
    places = ListeningPlaces(lambda: 2, on_refusal=lambda _: None)
    for _ in range(3):
        with pytest.raises(KeyError), places.hold("a"):
            raise KeyError
