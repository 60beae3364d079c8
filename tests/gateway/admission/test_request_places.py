from contextlib import ExitStack

import pytest

from handfast.gateway.admission.request_places import LISTENING, PlacesRefused, RequestPlaces

pytestmark = pytest.mark.requirement("F7")


def test_an_address_has_half_of_the_places_and_the_rest_is_for_others() -> None:
    noted: list[str] = []
    places = RequestPlaces(lambda: 4, LISTENING, on_refusal=lambda _rule, reason: noted.append(reason))
    with ExitStack() as stack:
        for address in "aab":
            stack.enter_context(places.hold(address))
        with pytest.raises(PlacesRefused, match="2 streams of this caller"), places.hold("a"):
            pass
        stack.enter_context(places.hold("c"))
        with pytest.raises(PlacesRefused, match="Too many streams"), places.hold("b"):
            pass
    assert [reason.startswith("A stream was refused: ") for reason in noted] == [True, True]
    with places.hold("a"), places.hold("a"):  # all of them were given back
        pass


def test_a_place_is_given_back_however_its_stream_ends() -> None:
    places = RequestPlaces(lambda: 2, LISTENING, on_refusal=lambda _rule, _reason: None)
    for _ in range(3):
        with pytest.raises(KeyError), places.hold("a"):
            raise KeyError
