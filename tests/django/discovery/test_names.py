"""Names of tools: the url's segments after the API's root, then the action, within the rules."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.django.discovery.names import LONGEST, segments_of, shortened, tool_name, without_action
from handfast.django.discovery.views.routes import PathForm


@pytest.mark.requirement("D22")
@pytest.mark.parametrize(
    ("parts", "segments"),
    [
        (("/contacts/",), ["contacts"]),
        (("/api/contacts/",), ["contacts"]),
        (("/api/v1/dcim/devices",), ["dcim", "devices"]),
        (("/v2.1/API/contacts/",), ["contacts"]),
        (("/contacts/api/v1/",), ["contacts", "api", "v1"]),
        (("/apis/contacts/",), ["apis", "contacts"]),
        (("/api/sites/", "pk", "/devices/", "id", "/"), ["sites", "devices"]),
        (("/report-", "year", ".csv"), ["report-.csv"]),
        (("/", "tenant", "/api/contacts/"), ["contacts"]),
        (("/api/v1/",), []),
    ],
)
def test_the_root_and_parameters_are_no_part_of_a_name(parts: tuple[str, ...], segments: list[str]) -> None:
    assert segments_of(PathForm(parts)) == segments


def test_a_language_is_no_part_of_a_name() -> None:
    assert segments_of(PathForm(("/en-us/api/contacts/",)), "en-us/") == ["contacts"]


@pytest.mark.parametrize(
    ("segments", "url_path", "left"),
    [
        (["users", "set-password"], "set-password", ["users"]),
        (["users", "keys", "rotate"], r"keys/(?P<key>\d+)/rotate", ["users"]),
        (["users"], r"(?P<key>\d+)", ["users"]),
        (["users", "list"], "other", ["users", "list"]),
        (["users"], None, ["users"]),
    ],
)
def test_an_extra_action_is_not_named_twice(segments: list[str], url_path: str | None, left: list[str]) -> None:
    assert without_action(segments, url_path) == left


def test_what_a_name_may_not_hold_becomes_an_underscore() -> None:
    assert tool_name(["report-.csv", "über uns"], "list") == "report-_csv___ber_uns__list"


def test_a_long_name_keeps_its_beginning_and_its_action() -> None:
    name = tool_name(["warehouse", "x" * 150], "partial_update")
    assert shortened(name) == "warehouse__" + "x" * 92 + "_cd5e7153__partial_update"


@given(st.lists(st.text(min_size=1), max_size=4), st.text(min_size=1))
def test_every_name_is_within_the_rules(segments: list[str], action: str) -> None:
    name = shortened(tool_name(segments, action))
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,128}", name)
    assert name == shortened(tool_name(segments, action))


@given(st.integers(min_value=0), st.integers(min_value=0))
def test_long_names_that_differ_stay_apart(one: int, other: int) -> None:
    names = [shortened(tool_name(["a" * LONGEST, str(number)], "list")) for number in (one, other)]
    assert (names[0] == names[1]) is (one == other)
