"""Findings: their places as text, their order, their levels."""

import itertools
import re
from pathlib import Path
from random import Random

import pytest

from handfast.lint.findings import RULES, Level, in_order, make_finding, matching_ids

FINDINGS = [
    make_finding("source-unreadable", "m", file="a.py", line=9),
    make_finding("source-unreadable", "m", file="a.py", line=10),
    make_finding("boundary-typed", "m", file="b.py", line=1),
    make_finding("mcp-admin-guardrail", "m", file="b.py", line=1),
    make_finding("tool-name", "m", origin="contacts", tool="a", path="name"),
    make_finding("tool-open-object", "m", origin="contacts", tool="b", path="inputSchema/properties/x"),
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
        ("a.py", make_finding("source-unreadable", "m", file="a.py")),
        ("tools.json: a", make_finding("tool-description-missing", "m", file="tools.json", tool="a")),
        ("tools.json: 3", make_finding("tool-unreadable", "m", file="tools.json", path="3")),
    ],
)
def test_a_place_says_where_to_look(place: str, finding: object) -> None:
    assert getattr(finding, "place", None) == place


def test_levels_are_ordered_from_info_to_error() -> None:
    grave = [one for one, other in itertools.product(Level, Level) if one.is_at_least(other)]
    assert [grave.count(level) for level in (Level.INFO, Level.WARNING, Level.ERROR)] == [1, 2, 3]


ROOT = Path(__file__).parents[2]
SOURCES = [path for path in (ROOT / "src/handfast/lint").rglob("*.py") if path.name != "findings.py"]


def test_the_page_lists_every_id_with_its_level_and_meaning() -> None:
    page = (ROOT / "docs" / "lint.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|warning|info) \| (.+?) \|$", page, re.MULTILINE)
    assert rows == [(rule_id, rule.level.value, rule.summary) for rule_id, rule in RULES.items()]


def test_ids_are_sorted_and_each_has_a_sentence_and_a_hint() -> None:
    assert list(RULES) == sorted(RULES)
    assert [rule_id for rule_id, rule in RULES.items() if not rule.summary.endswith(".") or not rule.hint] == []


def test_every_id_is_used_by_a_check() -> None:
    text = "\n".join(path.read_text("utf-8") for path in SOURCES)
    # The two that end in -reason are made from the id of their check.
    unused = [rule_id for rule_id in RULES if f'"{rule_id.removesuffix("-reason")}"' not in text]
    assert unused == []


def test_patterns_name_ids() -> None:
    assert matching_ids(["tool-name", "boundary-*"]) == {
        "tool-name",
        "boundary-typed",
        "boundary-typed-helper",
        "boundary-typed-missing",
        "boundary-typed-reason",
    }
    assert matching_ids([]) == frozenset()


@pytest.mark.parametrize("pattern", ["tool", "TOOL-NAME", "tool-nam?e", ""])
def test_a_pattern_that_names_nothing_is_an_error(pattern: str) -> None:
    with pytest.raises(KeyError):
        matching_ids(["tool-name", pattern])
