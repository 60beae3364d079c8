"""The names and calls of one Python file: what each scope binds, and which calls a function makes itself."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
ScopeNode = ast.Module | Function | ast.Lambda | ast.ClassDef | Comprehension
_Order = tuple[int, ...]
_Part = tuple[ast.AST | None, bool]  # a node, and whether a run may skip it


@dataclass(frozen=True, slots=True)
class Imported:
    """The target of `import a.b as x` or `from a import b`, as a dotted name."""

    dotted: str
    level: int = 0  # of a relative import: how many dots


@dataclass(frozen=True, slots=True)
class Assigned:
    """`x = value`, to a plain name."""

    value: ast.expr


@dataclass(frozen=True, slots=True)
class Defined:
    """A function or class of this name."""

    node: Function | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Bound:
    """A parameter, a loop variable, or another binding whose value is known only at run time."""


Binding = Imported | Assigned | Defined | Bound


@dataclass(slots=True, eq=False)
class NameScope:
    """One scope: the names it binds, and its parent, where other names are looked up."""

    node: ScopeNode
    parent: "NameScope | None" = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[Imported] = field(default_factory=list)  # modules imported with `*`
    is_global: set[str] = field(default_factory=set)
    is_nonlocal: set[str] = field(default_factory=set)

    def bind(self, name: str, binding: Binding) -> None:
        self.bindings.setdefault(name, []).append(binding)

    @property
    def module(self) -> "NameScope":
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def holder(self, name: str) -> "NameScope | None":
        """The scope whose binding of the name applies in this one; None where no scope binds it."""
        for scope in self._seen():
            if name in scope.is_global:
                return self.module if name in self.module.bindings else None
            if name in scope.bindings:
                return scope
        return None

    def _seen(self) -> Iterator["NameScope"]:
        yield self
        scope = self.parent
        while scope is not None:
            # The functions in a class body do not see the names that the body binds.
            if not isinstance(scope.node, ast.ClassDef):
                yield scope
            scope = scope.parent


@dataclass(slots=True)
class Scopes:
    """All scopes of one file, and the scope that each call and each name stands in."""

    module: NameScope
    own: dict[ast.AST, NameScope] = field(default_factory=dict)  # the scope that a function, class or lambda opens
    around: dict[ast.AST, NameScope] = field(
        default_factory=dict
    )  # the scope that a call, name or attribute is read in
    functions: list[tuple[str, Function]] = field(default_factory=list)  # by qualified name: Class.method, outer.inner

    def scope_at(self, node: ast.expr) -> NameScope:
        """The scope that a name, attribute, call or lambda of this file is read in."""
        return self.around.get(node, self.module)


def read_scopes(tree: ast.Module) -> Scopes:
    """Collects the scopes of a parsed file. Without recursion: a chain of a thousand operators is a tree as deep."""
    reader = _ScopeReader(Scopes(NameScope(tree)))
    reader.run()
    return reader.found


class _ScopeReader:
    def __init__(self, found: Scopes) -> None:
        self.found = found
        self.pending: list[tuple[ast.AST, NameScope]] = []
        self.opened = [found.module]
        self.names: dict[NameScope, str] = {found.module: ""}  # the qualified name of each scope that has one

    def run(self) -> None:
        module = self.found.module
        assert isinstance(module.node, ast.Module)  # the one scope that was made before reading began
        self.push(module.node.body, module)
        while self.pending:
            node, scope = self.pending.pop()
            self.read(node, scope)
        for scope in self.opened:
            _move_declared(scope)

    def push(self, nodes: Sequence[ast.AST | None], scope: NameScope) -> None:
        self.pending.extend((node, scope) for node in reversed(nodes) if node is not None)

    def open(self, node: ScopeNode, parent: NameScope, name: str = "") -> NameScope:
        scope = NameScope(node, parent)
        self.opened.append(scope)
        self.found.own[node] = scope
        self.names[scope] = f"{self.names[parent]}{name}." if name else self.names[parent]
        return scope

    def read(self, node: ast.AST, scope: NameScope) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.read_function(node, scope)
            case ast.ClassDef():
                self.read_class(node, scope)
            case ast.Lambda():
                self.push(_evaluated_outside(node.args), scope)
                own = self.open(node, scope)
                _bind_parameters(node.args, own)
                self.push([node.body], own)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self.read_comprehension(node, scope)
            case _:
                self.read_plain(node, scope)

    def read_function(self, node: Function, scope: NameScope) -> None:
        scope.bind(node.name, Defined(node))
        self.found.functions.append((f"{self.names[scope]}{node.name}", node))
        self.push([*node.decorator_list, *_evaluated_outside(node.args), node.returns], scope)
        own = self.open(node, scope, node.name)
        _bind_parameters(node.args, own)
        _bind_type_parameters(node, own)
        self.push(node.body, own)

    def read_class(self, node: ast.ClassDef, scope: NameScope) -> None:
        scope.bind(node.name, Defined(node))
        self.push([*node.decorator_list, *node.bases, *node.keywords], scope)
        own = self.open(node, scope, node.name)
        _bind_type_parameters(node, own)
        self.push(node.body, own)

    def read_comprehension(self, node: Comprehension, scope: NameScope) -> None:
        own = self.open(node, scope)
        first, *others = node.generators
        self.push([first.iter], scope)  # the only part that is evaluated in the enclosing scope
        self.push([first.target, *first.ifs, *others], own)
        self.push([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt], own)

    def read_plain(self, node: ast.AST, scope: NameScope) -> None:
        if isinstance(node, ast.Call | ast.Attribute) or (
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        ):
            self.found.around[node] = scope
        match node:
            case ast.Import():
                _bind_imports(node, scope)
            case ast.ImportFrom():
                _bind_imports_from(node, scope)
            case ast.Global():
                scope.is_global.update(node.names)
            case ast.Nonlocal():
                scope.is_nonlocal.update(node.names)
            case ast.Assign():
                self.assign(node.targets, node.value, scope)
            case ast.AnnAssign(value=ast.expr() as value):
                self.assign([node.target], value, scope)
                self.push([node.annotation], scope)
            case ast.NamedExpr():
                _outside_comprehensions(scope).bind(node.target.id, Assigned(node.value))
                self.push([node.value], scope)
            case ast.Name():
                if not isinstance(node.ctx, ast.Load):
                    scope.bind(node.id, Bound())
            case _:
                _bind_captured(node, scope)
                self.push(list(ast.iter_child_nodes(node)), scope)

    def assign(self, targets: Sequence[ast.expr], value: ast.expr, scope: NameScope) -> None:
        for target in targets:
            if isinstance(target, ast.Name):
                scope.bind(target.id, Assigned(value))
            else:
                self.push([target], scope)
        self.push([value], scope)


def _evaluated_outside(args: ast.arguments) -> list[ast.AST | None]:
    """The defaults and annotations, which belong to the scope that the function is defined in."""
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [*args.defaults, *args.kw_defaults, *(arg.annotation for arg in every if arg is not None)]


def _bind_parameters(args: ast.arguments, scope: NameScope) -> None:
    for arg in (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg):
        if arg is not None:
            scope.bind(arg.arg, Bound())


def _bind_type_parameters(node: Function | ast.ClassDef, scope: NameScope) -> None:
    for parameter in getattr(node, "type_params", []):  # Python 3.12 and newer
        scope.bind(parameter.name, Bound())


def _bind_imports(node: ast.Import, scope: NameScope) -> None:
    for alias in node.names:
        if alias.asname:
            scope.bind(alias.asname, Imported(alias.name))
        else:
            first = alias.name.partition(".")[0]
            scope.bind(first, Imported(first))


def _bind_imports_from(node: ast.ImportFrom, scope: NameScope) -> None:
    for alias in node.names:
        if alias.name == "*":
            scope.stars.append(Imported(node.module or "", node.level))
        else:
            dotted = f"{node.module}.{alias.name}" if node.module else alias.name
            scope.bind(alias.asname or alias.name, Imported(dotted, node.level))


def _bind_captured(node: ast.AST, scope: NameScope) -> None:
    """Binds the names that the tree holds as plain text: `except E as x`, and the captures of patterns."""
    name: object = None
    match node:
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
            name = node.name
        case ast.MatchMapping():
            name = node.rest
    if isinstance(name, str):
        scope.bind(name, Bound())


def _outside_comprehensions(scope: NameScope) -> NameScope:
    while scope.parent is not None and isinstance(scope.node, Comprehension):
        scope = scope.parent
    return scope


def _move_declared(scope: NameScope) -> None:
    """Moves the bindings of names declared `global` or `nonlocal` to the outer scope that they belong to."""
    for name in scope.is_global & scope.bindings.keys():
        if scope.parent is not None:
            scope.module.bindings.setdefault(name, []).extend(scope.bindings.pop(name))
    for name in scope.is_nonlocal & scope.bindings.keys():
        moved = scope.bindings.pop(name)
        outer = scope.holder(name)
        if outer is not None:
            outer.bindings[name].extend(moved)


@dataclass(frozen=True, slots=True)
class OwnCall:
    node: ast.Call
    is_conditional: bool  # under an `if`, in a loop, in an `except`: a run may skip it


def own_calls(function: Function | ast.Lambda) -> list[OwnCall]:
    """Every call in a function's body, in the order of the source; of `a().b()` the inner call comes first."""
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
    # Before Python 3.12 positions inside an f-string are wrong, so the position of the string itself counts first.
    return (*(text or _extent(node)), *_extent(node))


def _parts(node: ast.AST) -> Iterator[_Part]:
    """The parts of a node that run when the function runs, each with whether a run may skip it."""
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
    """The last part of the name that is called, `c` of `a.b.c()`; empty where the callee has no name."""
    func = call.func
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""


def source_text(expr: ast.expr) -> str:
    """An expression as text."""
    try:
        return ast.unparse(expr)
    except RecursionError:
        return "..."  # longer than a message should be
