"""Names of all servers' tools in one space: within the rules, never two alike, the same whatever else is there."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.settings.servers import name_problem
from handfast.gateway.translate.combined.names import is_short_form, public_name, public_server, split_name

_RULES = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_LIKELY = st.text("ab_.-é {}\ud8000f", max_size=80) | st.sampled_from(["a", "a_", "_a", "a__b", "__", "", "x" * 127])
_NAMES = _LIKELY | st.text(max_size=200)
_SHORT = st.builds(lambda head, own: public_name("s", head + own + "!").removeprefix("s__"), _LIKELY, _LIKELY)


@pytest.mark.requirement("D12")
def test_an_ordinary_name_stands_behind_its_server_and_two_underscores() -> None:
    assert public_name("files", "read_file") == "files__read_file"
    assert public_name("files", "_x__y.z-") == "files___x__y.z-"


@pytest.mark.requirement("D12")
@given(st.text("ab_.-1", min_size=1, max_size=64))
def test_a_server_that_the_settings_accept_keeps_its_name(server: str) -> None:
    if name_problem(server) is None:
        assert public_server(server) == server


@pytest.mark.requirement("D12")
@given(_NAMES, _NAMES | _SHORT)
def test_every_name_is_within_the_rules_of_the_protocol(server: str, own: str) -> None:
    assert _RULES.fullmatch(public_name(server, own))


@pytest.mark.requirement("D12")
@given(st.lists(st.tuples(_NAMES, _NAMES | _SHORT), unique=True, min_size=2, max_size=8))
def test_no_two_are_called_the_same(pairs: list[tuple[str, str]]) -> None:
    assert len({public_name(server, own) for server, own in pairs}) == len(pairs)


@pytest.mark.requirement("D12")
@given(_NAMES, _NAMES | _SHORT)
def test_a_name_leads_back_to_its_server_and_itself(server: str, own: str) -> None:
    parts = split_name(public_name(server, own))
    assert parts is not None
    assert parts[0] == public_server(server)
    assert parts[1] == own or is_short_form(parts[1])


def test_the_short_form_is_the_same_for_ever() -> None:
    # Agents and policies remember names, so this may not change between versions.
    assert public_name("files", "read file") == "files__read-file--1214148ebf663ce8"
    assert public_name("files", "x" * 122) == "files__" + "x" * 103 + "--" + "ccd16bc19afac2e6"


@pytest.mark.requirement("D12")
def test_a_tool_that_is_called_like_anothers_short_form_does_not_get_its_name() -> None:
    taken = public_name("files", "read file").removeprefix("files__")
    assert public_name("files", taken) != public_name("files", "read file")
    assert public_server(taken) != taken


@pytest.mark.parametrize("name", ["", "plain", "files__", "__read", "a_b"])
def test_what_is_no_name_of_two_parts_has_none(name: str) -> None:
    assert split_name(name) is None
