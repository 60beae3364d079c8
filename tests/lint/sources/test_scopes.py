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

from handfast.lint.sources.scopes import Scopes, last_name, own_calls, read_scopes, source_text

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


def calls(body: str) -> list[str]:
    """Each call by its last name, a conditional one with a question mark."""
    tree = ast.parse("def f():\n" + "\n".join(f"    {line}" for line in body.splitlines()))
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    return [last_name(call.node) + ("?" if call.is_conditional else "") for call in own_calls(function)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a()\nb()", "a b"),
        ("a(b(), c=d())", "a b d"),
        ("a().b(c()).d()", "a b d c"),
        ("x = a() + b()", "a b"),
        ("return {a(): b(), c(): d()}", "a b c d"),
        ("x = a() if b() else c()", "a? b c?"),
        ("x = a() and b() and c()", "a b? c?"),
        ("x = a() < b() < c()", "a b c?"),
        ("if a(): b()\nelif c(): d()\nelse: e()", "a b? c? d? e?"),
        ("for x in a(): b()\nelse: c()", "a b? c?"),
        ("while a(): b()", "a b?"),
        ("try: a()\nexcept b(): c()\nelse: d()\nfinally: e()", "a b? c? d? e"),
        ("with a() as b, c(): d()", "a c d"),
        ("match a():\n    case b() if c(): d()", "a c? d?"),
        ("assert a(), b()", "a? b?"),
        ("[a(x) for x in b() if c()]", "a? b c?"),
        ("{a(): b() for x in c() for y in d()}", "a? b? c d?"),
        ("f'{a()}{b():{c()}}'\nd()", "a b c d"),
        ("a(f'{b()}')\nf'{c()}'.d()", "a b c d"),
        ("def g(x=a(), *, y=b()) -> c(): d()", "a b"),
        ("@a()\ndef g(): b()", "a"),
        ("@a()\nclass C(b(), m=c()):\n    x = d()\n    def m(self): e()", "a b c d"),
        ("g = lambda x=a(): b()", "a"),
        ("await_ = a\nyield b()\ndel c()[0]", "b c"),
    ],
)
def test_calls_are_told_in_the_order_they_are_written(body: str, expected: str) -> None:
    assert calls(body) == expected.split()


def test_a_lambda_has_calls_of_its_own() -> None:
    tree = ast.parse("lambda x=a(): b(c() or d())", mode="eval")
    assert isinstance(tree.body, ast.Lambda)
    assert [(last_name(c.node), c.is_conditional) for c in own_calls(tree.body)] == [
        ("b", False),
        ("c", False),
        ("d", True),
    ]


def test_a_call_by_no_name_has_none() -> None:
    assert calls("a()()\nb[0]()") == ["a", "", ""]


def test_what_is_too_long_to_write_is_not_written() -> None:
    node: ast.expr = ast.Name("a", ast.Load())
    for _ in range(5_000):
        node = ast.Attribute(node, "a", ast.Load())
    assert source_text(node) == "..."
    assert source_text(ast.parse("a . b", mode="eval").body) == "a.b"
