"""The calls that a function makes itself, in the order they are written; what functions inside it call is theirs."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from handfast.lint.sources.scopes import Function

_Order = tuple[int, ...]
_Part = tuple[ast.AST | None, bool]  # and whether it may be passed over


@dataclass(frozen=True, slots=True)
class OwnCall:
    node: ast.Call
    is_conditional: bool  # under an `if`, in a loop, in an `except`: a run may pass it over


def own_calls(function: Function | ast.Lambda) -> list[OwnCall]:
    """Every call in a function's body, first written first; of `a().b()` the inner one is first."""
    body: Sequence[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else function.body
    found: list[tuple[_Order, OwnCall]] = []
    pending: list[tuple[ast.AST, bool, _Order | None]] = [(node, False, None) for node in body]
    while pending:
        node, is_conditional, text = pending.pop()
        if isinstance(node, ast.Call):
            found.append((_order(node, text), OwnCall(node, is_conditional)))
        if isinstance(node, ast.JoinedStr) and text is None:
            text = _extent(node)
        pending += [(part, is_conditional or may_skip, text) for part, may_skip in _parts(node) if part is not None]
    return [call for _, call in sorted(found, key=lambda pair: pair[0])]


def _extent(node: ast.expr) -> _Order:
    return node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0


def _order(node: ast.Call, text: _Order | None) -> _Order:
    # Before Python 3.12 the places of what stands in an f-string are off, so the string's own place counts.
    return (*(text or _extent(node)), *_extent(node))


def _parts(node: ast.AST) -> Iterator[_Part]:
    """What of a node runs with the function, and whether a run may pass it over."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from _always([*node.decorator_list, *node.args.defaults, *node.args.kw_defaults])
        case ast.Lambda():
            yield from _always([*node.args.defaults, *node.args.kw_defaults])
        case ast.If() | ast.IfExp() | ast.While():
            yield node.test, False
            yield from _maybe(_listed(node.body) + _listed(node.orelse))
        case ast.For() | ast.AsyncFor():
            yield from _always([node.target, node.iter])
            yield from _maybe([*node.body, *node.orelse])
        case ast.Try() | ast.TryStar():
            yield from _always([*node.body, *node.finalbody])
            yield from _maybe([*node.handlers, *node.orelse])
        case ast.Match():
            yield node.subject, False
            yield from _maybe(node.cases)
        case ast.BoolOp():
            yield node.values[0], False
            yield from _maybe(node.values[1:])
        case ast.Compare():
            yield from _always([node.left, node.comparators[0]])
            yield from _maybe(node.comparators[1:])
        case ast.Assert():
            yield from _maybe([node.test, node.msg])  # python -O leaves assertions out
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            yield node.generators[0].iter, False
            yield from _maybe([part for part in ast.iter_child_nodes(node) if part is not node.generators[0]])
            first = node.generators[0]
            yield from _maybe([first.target, *first.ifs])
        case _:
            yield from _always(list(ast.iter_child_nodes(node)))


def _listed(part: ast.expr | list[ast.stmt]) -> list[ast.AST]:
    return [*part] if isinstance(part, list) else [part]


def _always(nodes: Sequence[ast.AST | None]) -> Iterator[_Part]:
    return ((node, False) for node in nodes)


def _maybe(nodes: Sequence[ast.AST | None]) -> Iterator[_Part]:
    return ((node, True) for node in nodes)


def last_name(call: ast.Call) -> str:
    """The name that a call is made by, whatever it stands for: `c` of `a.b.c()`."""
    func = call.func
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""


def written(expr: ast.expr) -> str:
    """An expression as text."""
    try:
        return ast.unparse(expr)
    except RecursionError:
        return "..."  # longer than anybody would read
