"""Scopes as Python itself sees them: its own symbol tables are the oracle."""

import ast
import symtable
import sys
import sysconfig
import warnings
from pathlib import Path
from textwrap import indent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.lint.sources.scopes import Scopes, read_scopes

STANDARD = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("[a-d]*.py"))
NAMES = ("a", "b", "parse")
Bound = dict[tuple[str, int], frozenset[str]]  # by the name and line of a scope


def ours(scopes: Scopes) -> Bound:
    found: Bound = {("top", 0): frozenset(scopes.module.bindings)}
    for node, scope in scopes.own.items():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name, node.lineno] = frozenset(scope.bindings)
    return found


def pythons(source: str) -> Bound:
    found: Bound = {}
    pending = [symtable.symtable(source, "x.py", "exec")]
    while pending:
        table = pending.pop()
        pending += table.get_children()
        is_plain = isinstance(table, symtable.Class) or table.get_type() in ("module", "function")
        if is_plain and table.get_name() not in ("lambda", "listcomp", "setcomp", "dictcomp", "genexpr"):
            # At the top everything is global; elsewhere that is what a `global` statement makes of a name.
            is_top = table.get_type() == "module"
            names = [
                s.get_name() for s in table.get_symbols() if (s.is_assigned() or s.is_imported() or s.is_parameter())
            ]
            kept = [n for n in names if is_top or table.lookup(n).is_local()]
            place = ("top", 0) if is_top else (table.get_name(), table.get_lineno())
            found[place] = frozenset(kept)
    return found


def comparable(bound: Bound) -> Bound:
    """Without what only one side counts: names a compiler adds or mangles, and globals that are set elsewhere."""
    return {
        place: frozenset(name for name in names if not name.startswith("__") and "__" not in name and name != ".0")
        for place, names in bound.items()
        if place != ("top", 0)
    }


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="type parameters have tables of their own there")
@pytest.mark.parametrize("path", STANDARD, ids=lambda path: path.name)
def test_the_standard_library_binds_what_python_says(path: Path) -> None:
    source = path.read_text("utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert comparable(ours(read_scopes(ast.parse(source)))) == comparable(pythons(source))


EXPRESSIONS = st.recursive(
    st.sampled_from(NAMES),
    lambda inner: st.builds(
        lambda form, one, other: form.format(one, other),
        st.sampled_from(
            (
                "{}({})",
                "({} + {})",
                "[{} for a in {}]",
                "{{a: {} for b in ({})}}",
                "(lambda a={}: {})",
                "{}.x[{}]",
                "(b := {})",
                "f'{{{}}}'",
                "({} if {} else b)",
            )
        ),
        inner,
        inner,
    ),
    max_leaves=4,
)
SIMPLE = st.builds(
    lambda form, name, value: form.format(name, value),
    st.sampled_from(
        (
            "{} = {}",
            "{}: int = {}",
            "{0}: {1}",
            "x, {} = {}",
            "{} += {}",
            "import os as {}",
            "from os import path as {}",
            "import os.{}",
            "from . import {}",
            "return_ = {1}",
            "del {}",
            "assert {1}",
            "{}.y = {}",
        )
    ),
    st.sampled_from(NAMES),
    EXPRESSIONS,
)


def blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    heads = st.sampled_from(
        (
            "def {}({}=1, *a, **k):",
            "@{1}\nasync def {0}(b, /, *, {1}_):",
            "class {}({}):",
            "if {}:",
            "for {} in {}:",
            "while {}:",
            "with {1} as {0}:",
            "try:\n    pass\nexcept E as {}:",
            "match {1}:\n  case [{0}, *b]:",
        )
    )
    bodies = st.lists(inner, min_size=1, max_size=3)
    return st.builds(
        lambda head, one, other, body: head.format(one, other) + "\n" + indent("\n".join(body), "    "),
        heads,
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        bodies,
    )


STATEMENTS = st.recursive(SIMPLE, blocks, max_leaves=8)
SOURCES = st.lists(STATEMENTS, min_size=1, max_size=4).map("\n".join)


def parses(source: str) -> bool:
    try:
        compile(source, "x.py", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="type parameters have tables of their own there")
@given(SOURCES.filter(parses))
def test_any_source_binds_what_python_says(source: str) -> None:
    assert comparable(ours(read_scopes(ast.parse(source)))) == comparable(pythons(source))


def test_names_are_found_where_python_would_look() -> None:
    tree = ast.parse(
        "x = 1\n"
        "class C:\n"
        "    x = 2\n"
        "    def f(self):\n"
        "        def g():\n"
        "            nonlocal y\n"
        "            y = 3\n"
        "            global x\n"
        "            return x, y\n"
        "        x = y = 4\n"
    )
    scopes = read_scopes(tree)
    functions = {name: scopes.own[node] for name, node in scopes.functions}
    inner, outer = functions["C.f.g"], functions["C.f"]
    assert inner.holder("x") is scopes.module
    assert inner.holder("y") is outer
    assert len(outer.bindings["y"]) == 2
    assert outer.holder("x") is outer
    assert outer.holder("C") is scopes.module
    assert outer.holder("nowhere") is None


def test_a_deep_expression_is_read_without_recursion() -> None:
    node: ast.expr = ast.Name("a", ast.Load())
    for _ in range(20_000):
        node = ast.Call(node, [], [])
    assert len(read_scopes(ast.Module([ast.Expr(node)], [])).around) == 20_001
