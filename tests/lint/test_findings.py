"""Findings: their places as text, their order, their levels."""

import itertools
from random import Random

import pytest

from handfast.lint.catalogue import find
from handfast.lint.findings import Level, in_order

FINDINGS = [
    find("source-unreadable", "m", file="a.py", line=9),
    find("source-unreadable", "m", file="a.py", line=10),
    find("boundary-typed", "m", file="b.py", line=1),
    find("mcp-admin-guardrail", "m", file="b.py", line=1),
    find("tool-name", "m", origin="contacts", tool="a", path="name"),
    find("tool-open-object", "m", origin="contacts", tool="b", path="inputSchema/properties/x"),
]


def test_the_order_depends_only_on_what_was_found_and_nothing_is_told_twice() -> None:
    shuffled = FINDINGS * 2
    Random(4).shuffle(shuffled)
    assert in_order(shuffled) == FINDINGS


@pytest.mark.parametrize(
    ("place", "finding"),
    [
        ("a.py:9", FINDINGS[0]),
        ("contacts: a/name", FINDINGS[4]),
        ("contacts: b/inputSchema/properties/x", FINDINGS[5]),
        ("a.py", find("source-unreadable", "m", file="a.py")),
        ("tools.json: a", find("tool-description-missing", "m", file="tools.json", tool="a")),
        ("tools.json: 3", find("tool-unreadable", "m", file="tools.json", path="3")),
    ],
)
def test_a_place_says_where_to_look(place: str, finding: object) -> None:
    assert getattr(finding, "place", None) == place


def test_levels_are_ordered_from_info_to_error() -> None:
    grave = [one for one, other in itertools.product(Level, Level) if one.is_at_least(other)]
    assert [grave.count(level) for level in (Level.INFO, Level.WARNING, Level.ERROR)] == [1, 2, 3]
