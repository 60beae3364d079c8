"""The limits of the house: kept, and each of them seen to be noticed."""

import ast
from collections.abc import Callable, Iterator

import pytest
from scripts import house_limits

Modules = dict[str, tuple[str, ast.Module]]


def modules(**texts: str) -> Modules:
    return {f"gateway/{name}.py": (text, ast.parse(text)) for name, text in texts.items()}


def test_the_limits_are_kept() -> None:
    assert house_limits.find_problems() == []


READER = "from handfast.gateway.a import x\n" + "y = 1\n" * 60
BROKEN = {
    "a crowded folder": (house_limits.find_crowded_folders, modules(**{f"m{n}": "" for n in range(17)})),
    "a long module": (house_limits.find_long_ones, modules(a="x = 1\n" * 501)),
    "a long function": (house_limits.find_long_ones, modules(a="def f():\n" + "    x = 1\n" * 45)),
    "a doubled class": (house_limits.find_doubled_classes, modules(a="class A: ...\n", b="class A: ...\n")),
    "a crumb": (
        house_limits.find_crumbs,
        modules(a="x = 1\n", b=READER),
    ),
    "composition elsewhere": (house_limits.find_scattered_composition, modules(a="relay = HttpRelay()\n")),
}


@pytest.mark.parametrize(("check", "broken"), list(BROKEN.values()), ids=list(BROKEN))
def test_what_breaks_one_is_named(check: Callable[[Modules], Iterator[str]], broken: Modules) -> None:
    assert any("gateway" in problem for problem in check(broken))
