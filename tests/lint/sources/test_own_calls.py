"""The calls of a function itself: which, in which order, and whether a run may pass them over."""

import ast

import pytest

from handfast.lint.sources.own_calls import last_name, own_calls, written


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
    assert written(node) == "..."
    assert written(ast.parse("a . b", mode="eval").body) == "a.b"
