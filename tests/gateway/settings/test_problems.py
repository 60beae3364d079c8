"""Suggestions: any single slip in any of our keys is refused, and the right key is named."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.settings import SettingsError, load_settings
from handfast.gateway.settings.environment import VARIABLES
from handfast.gateway.settings.keys import BLOCKS, FLAT_KEYS, POLICY_BLOCKS, SERVER_KEYS
from handfast.gateway.settings.problems import Findings, Rank, nearest, quoted, render_path

OWN = ("mcpServers", "s", "handfast")
TOOL = (*OWN, "tools", "t")
PLACES: list[tuple[tuple[str, ...], frozenset[str]]] = [
    *(((block,), frozenset(keys)) for block, keys in BLOCKS.items()),
    (OWN, frozenset({*FLAT_KEYS, *SERVER_KEYS, *POLICY_BLOCKS, "tools"})),
    (TOOL, frozenset({*FLAT_KEYS, *POLICY_BLOCKS})),
    *(((*OWN, block), frozenset(BLOCKS[block])) for block in POLICY_BLOCKS),
    *(((*TOOL, block), frozenset(BLOCKS[block])) for block in POLICY_BLOCKS),
]
LETTERS = "abcdefghijklmnopqrstuvwxyz_"


@st.composite
def slips(draw: st.DrawFn, name: str) -> str:
    """The name with one letter left out, added, changed, or swapped with the next."""
    at = draw(st.integers(0, len(name) - 1))
    letter = draw(st.sampled_from(LETTERS))
    return draw(
        st.sampled_from(
            [
                name[:at] + name[at + 1 :],
                name[:at] + letter + name[at:],
                name[:at] + letter + name[at + 1 :],
                name[:at] + name[at : at + 2][::-1] + name[at + 2 :],
            ]
        )
    )


@st.composite
def misspelt_keys(draw: st.DrawFn) -> tuple[tuple[str, ...], str, str]:
    where, names = draw(st.sampled_from(PLACES))
    name = draw(st.sampled_from(sorted(names)))
    slip = draw(slips(name).filter(lambda text: text not in names))
    return where, name, slip


@given(misspelt_keys())
def test_any_single_slip_in_a_key_of_ours_is_refused_and_the_right_key_is_named(
    tmp_path_factory: pytest.TempPathFactory, misspelt: tuple[tuple[str, ...], str, str]
) -> None:
    where, name, slip = misspelt
    document: dict[str, object] = {}
    inner = document
    for part in where:
        below: dict[str, object] = {}
        inner[part] = below
        inner = below
    inner[slip] = {}
    servers = document.setdefault("mcpServers", {"s": {}})
    assert isinstance(servers, dict)
    servers["s"]["command"] = "a"
    path = tmp_path_factory.getbasetemp() / "misspelt.json"
    path.write_text(json.dumps(document), "utf-8")

    with pytest.raises(SettingsError) as refused:
        load_settings(path, environ={})

    assert refused.value.problems == (
        f'{path}: {render_path((*where, slip))} is not a setting; did you mean "{name}"?',
    )


@given(st.data())
def test_any_single_slip_in_a_variable_is_refused_and_the_right_one_is_named(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(VARIABLES)))
    tail = name.removeprefix("HANDFAST_")
    slip = "HANDFAST_" + data.draw(slips(tail)).upper()
    if slip in VARIABLES:
        return

    with pytest.raises(SettingsError) as refused:
        load_settings(None, environ={slip: "x"})

    assert refused.value.problems == (f"{slip} is not a setting; did you mean {name}?",)


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=20), max_size=4))
def test_a_place_is_always_one_printable_line(part: str, parts: list[str]) -> None:
    shown = render_path((*parts, part))

    assert shown.isascii()
    assert shown.isprintable()


def test_a_long_name_is_cut() -> None:
    assert quoted("x" * 100) == '"' + "x" * 63 + '\\u2026"'


def test_a_name_that_is_near_nothing_gets_no_suggestion() -> None:
    assert [nearest(name, ["mode", "max_depth"]) for name in ("", "zzz", "x" * 1000, "___")] == [None] * 4


@pytest.mark.requirement("F4")
def test_ten_problems_are_worded_and_then_it_stops() -> None:
    findings = Findings("file")
    for number in range(9):
        findings.add((str(number),), "is wrong")
    with pytest.raises(SettingsError) as refused:
        findings.add(("9",), "is wrong", rank=Rank.KEY)
    assert refused.value.problems == (
        "file: 9 is wrong",
        *(f"file: {number} is wrong" for number in range(9)),
        "file: there may be more; mend these first",
    )
