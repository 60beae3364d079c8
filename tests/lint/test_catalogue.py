"""The catalogue of ids against the code that uses them and the page that explains them."""

import re
from pathlib import Path

import pytest

from handfast.lint import catalogue
from handfast.lint.catalogue import RULES, matching

ROOT = Path(__file__).parents[2]
SOURCES = [path for path in (ROOT / "src/handfast/lint").rglob("*.py") if path.name != "catalogue.py"]


def test_the_page_lists_every_id_with_its_level_and_meaning() -> None:
    page = (ROOT / "docs" / "lint.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|warning|info) \| (.+?) \|$", page, re.MULTILINE)
    assert rows == [(rule.id, rule.level.value, rule.summary) for rule in RULES.values()]


def test_ids_are_sorted_and_each_has_a_sentence_and_a_hint() -> None:
    assert list(RULES) == sorted(RULES)
    assert [rule.id for rule in RULES.values() if not rule.summary.endswith(".") or not rule.hint] == []
    assert len(RULES) == len(catalogue._RULES)


def test_every_id_is_used_by_a_check() -> None:
    text = "\n".join(path.read_text("utf-8") for path in SOURCES)
    # The two that end in -reason are made from the id of their check.
    unused = [rule_id for rule_id in RULES if f'"{rule_id.removesuffix("-reason")}"' not in text]
    assert unused == []


def test_patterns_name_ids() -> None:
    assert matching(["tool-name", "boundary-*"]) == {
        "tool-name",
        "boundary-typed",
        "boundary-typed-missing",
        "boundary-typed-reason",
    }
    assert matching([]) == frozenset()


@pytest.mark.parametrize("pattern", ["tool", "TOOL-NAME", "tool-nam?e", ""])
def test_a_pattern_that_names_nothing_is_an_error(pattern: str) -> None:
    with pytest.raises(KeyError):
        matching(["tool-name", pattern])
