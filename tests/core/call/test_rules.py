"""The catalogue of rule ids: its form, its page, and that all of the code takes its rules from it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from scripts import document_rules

from handfast.core.call import rules

SRC = Path(rules.__file__).parents[2]
RULES = {name: value for name, value in vars(rules).items() if name.isupper()}
TAKES_A_RULE = {"Violation", "Blocked", "Warned", "NoPlace", "RefusalTexts", "diagnose", "server_state"}
RULE_LIKE = re.compile(r"[a-z_]+\.[a-z_]*")


def test_a_constant_is_named_after_its_rule_and_is_plain_text() -> None:
    assert {rule.upper().replace(".", "_"): rule for rule in RULES.values()} == RULES
    assert {type(rule) for rule in RULES.values()} == {str}


def test_every_rule_says_what_happened_and_what_to_do() -> None:
    entries = list(document_rules.read_catalogue())
    assert {entry.constant: entry.rule for entry in entries} == RULES
    assert [entry.rule for entry in entries if not entry.happened.strip() or not entry.advice.endswith(".")] == []


def test_a_refusal_is_told_from_what_was_only_noticed() -> None:
    assert rules.is_refusal(rules.SESSION_UNKNOWN)
    assert not rules.is_refusal(rules.SESSION_EVICTED)
    assert not rules.is_refusal("no.rule")


def test_the_page_is_current() -> None:
    page = document_rules.PAGE.read_text("utf-8")
    assert page == document_rules.with_table(page), "run: scripts/docs"


# --- everything else -------------------------------------------------------------------------------------------------


def other_modules() -> Iterator[tuple[str, ast.Module]]:
    for path in SRC.rglob("*.py"):
        if path != Path(rules.__file__):
            yield path.relative_to(SRC).as_posix(), ast.parse(path.read_text("utf-8"))


def texts_in(node: ast.AST) -> Iterator[str]:
    """Literals, and the literal parts of formatted texts."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def places_of_rules(tree: ast.Module) -> Iterator[ast.expr]:
    """Where a rule is handed over: as `rule`, as its default, or by its position."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "rule")
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called.lstrip("_") in TAKES_A_RULE:
                yield from node.args
        elif isinstance(node, ast.arguments):
            by_place = [*node.posonlyargs, *node.args]
            named = [
                *zip(by_place[len(by_place) - len(node.defaults) :], node.defaults, strict=True),
                *zip(node.kwonlyargs, node.kw_defaults, strict=True),
            ]
            yield from (default for arg, default in named if arg.arg == "rule" and default is not None)


def test_no_other_module_spells_a_rule_out() -> None:
    found = {(name, text) for name, tree in other_modules() for text in texts_in(tree) if text in RULES.values()}
    assert found == set(), "use the constant of handfast.core.call.rules"


def test_only_rules_of_the_catalogue_are_recorded() -> None:
    found = {
        (name, text)
        for name, tree in other_modules()
        for place in places_of_rules(tree)
        for text in texts_in(place)
        if RULE_LIKE.fullmatch(text)
    }
    assert found == set(), "add it to handfast.core.call.rules, and use the constant"


def test_every_rule_of_the_catalogue_is_used() -> None:
    used = {
        node.attr
        for _, tree in other_modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "rules"
    }
    assert sorted(RULES.keys() - used) == []
