"""Which names each scope of a Python file binds, and to what: Python's own rules, as far as a text can tell."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
ScopeNode = ast.Module | Function | ast.Lambda | ast.ClassDef | Comprehension


@dataclass(frozen=True, slots=True)
class Imported:
    """`import a.b as x`, `from a import b`: what stands there, as a dotted name."""

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
    """A parameter, a loop's variable, or whatever else gives a name a value that only a run can tell."""


Binding = Imported | Assigned | Defined | Bound


@dataclass(slots=True, eq=False)
class Scope:
    """One scope, what it binds, and where names that it does not bind are looked up."""

    node: ScopeNode
    parent: "Scope | None" = None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[Imported] = field(default_factory=list)  # modules of which it imports everything
    is_global: set[str] = field(default_factory=set)
    is_nonlocal: set[str] = field(default_factory=set)

    def bind(self, name: str, binding: Binding) -> None:
        self.bindings.setdefault(name, []).append(binding)

    @property
    def module(self) -> "Scope":
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def holder(self, name: str) -> "Scope | None":
        """The scope whose binding of the name is seen from here; None where no scope binds it."""
        for scope in self._seen():
            if name in scope.is_global:
                return self.module if name in self.module.bindings else None
            if name in scope.bindings:
                return scope
        return None

    def _seen(self) -> Iterator["Scope"]:
        yield self
        scope = self.parent
        while scope is not None:
            # What a class body binds is not seen by the functions in it.
            if not isinstance(scope.node, ast.ClassDef):
                yield scope
            scope = scope.parent


@dataclass(slots=True)
class Scopes:
    """All scopes of one file, and the scope that each call and each name stands in."""

    module: Scope
    own: dict[ast.AST, Scope] = field(default_factory=dict)  # the scope that a function, class or lambda opens
    around: dict[ast.AST, Scope] = field(default_factory=dict)  # the scope that a call, name or attribute is read in
    functions: list[tuple[str, Function]] = field(default_factory=list)  # by qualified name: Class.method, outer.inner

    def scope_at(self, node: ast.expr) -> Scope:
        """The scope that a name, attribute, call or lambda of this file is read in."""
        return self.around.get(node, self.module)


def read_scopes(tree: ast.Module) -> Scopes:
    """Survey a parsed file. Without recursion: a chain of a thousand operators is as deep a tree."""
    reader = _Reader(Scopes(Scope(tree)))
    reader.run()
    return reader.found


class _Reader:
    def __init__(self, found: Scopes) -> None:
        self.found = found
        self.pending: list[tuple[ast.AST, Scope]] = []
        self.opened = [found.module]
        self.names: dict[Scope, str] = {found.module: ""}  # the qualified name of each scope that has one

    def run(self) -> None:
        module = self.found.module
        assert isinstance(module.node, ast.Module)  # the one scope that was made before reading began
        self.push(module.node.body, module)
        while self.pending:
            node, scope = self.pending.pop()
            self.read(node, scope)
        for scope in self.opened:
            _move_declared(scope)

    def push(self, nodes: Sequence[ast.AST | None], scope: Scope) -> None:
        self.pending.extend((node, scope) for node in reversed(nodes) if node is not None)

    def open(self, node: ScopeNode, parent: Scope, name: str = "") -> Scope:
        scope = Scope(node, parent)
        self.opened.append(scope)
        self.found.own[node] = scope
        self.names[scope] = f"{self.names[parent]}{name}." if name else self.names[parent]
        return scope

    def read(self, node: ast.AST, scope: Scope) -> None:
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

    def read_function(self, node: Function, scope: Scope) -> None:
        scope.bind(node.name, Defined(node))
        self.found.functions.append((f"{self.names[scope]}{node.name}", node))
        self.push([*node.decorator_list, *_evaluated_outside(node.args), node.returns], scope)
        own = self.open(node, scope, node.name)
        _bind_parameters(node.args, own)
        _bind_type_parameters(node, own)
        self.push(node.body, own)

    def read_class(self, node: ast.ClassDef, scope: Scope) -> None:
        scope.bind(node.name, Defined(node))
        self.push([*node.decorator_list, *node.bases, *node.keywords], scope)
        own = self.open(node, scope, node.name)
        _bind_type_parameters(node, own)
        self.push(node.body, own)

    def read_comprehension(self, node: Comprehension, scope: Scope) -> None:
        own = self.open(node, scope)
        first, *others = node.generators
        self.push([first.iter], scope)  # the only part that is evaluated outside
        self.push([first.target, *first.ifs, *others], own)
        self.push([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt], own)

    def read_plain(self, node: ast.AST, scope: Scope) -> None:
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

    def assign(self, targets: Sequence[ast.expr], value: ast.expr, scope: Scope) -> None:
        for target in targets:
            if isinstance(target, ast.Name):
                scope.bind(target.id, Assigned(value))
            else:
                self.push([target], scope)
        self.push([value], scope)


def _evaluated_outside(args: ast.arguments) -> list[ast.AST | None]:
    """Defaults and annotations belong to the scope that the function is defined in."""
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [*args.defaults, *args.kw_defaults, *(arg.annotation for arg in every if arg is not None)]


def _bind_parameters(args: ast.arguments, scope: Scope) -> None:
    for arg in (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg):
        if arg is not None:
            scope.bind(arg.arg, Bound())


def _bind_type_parameters(node: Function | ast.ClassDef, scope: Scope) -> None:
    for parameter in getattr(node, "type_params", []):  # Python 3.12 and newer
        scope.bind(parameter.name, Bound())


def _bind_imports(node: ast.Import, scope: Scope) -> None:
    for alias in node.names:
        if alias.asname:
            scope.bind(alias.asname, Imported(alias.name))
        else:
            first = alias.name.partition(".")[0]
            scope.bind(first, Imported(first))


def _bind_imports_from(node: ast.ImportFrom, scope: Scope) -> None:
    for alias in node.names:
        if alias.name == "*":
            scope.stars.append(Imported(node.module or "", node.level))
        else:
            dotted = f"{node.module}.{alias.name}" if node.module else alias.name
            scope.bind(alias.asname or alias.name, Imported(dotted, node.level))


def _bind_captured(node: ast.AST, scope: Scope) -> None:
    """Names that stand in the tree as plain text: `except E as x`, and what a pattern captures."""
    name: object = None
    match node:
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
            name = node.name
        case ast.MatchMapping():
            name = node.rest
    if isinstance(name, str):
        scope.bind(name, Bound())


def _outside_comprehensions(scope: Scope) -> Scope:
    while scope.parent is not None and isinstance(scope.node, Comprehension):
        scope = scope.parent
    return scope


def _move_declared(scope: Scope) -> None:
    """What a function binds under `global` or `nonlocal` is bound further out."""
    for name in scope.is_global & scope.bindings.keys():
        if scope.parent is not None:
            scope.module.bindings.setdefault(name, []).extend(scope.bindings.pop(name))
    for name in scope.is_nonlocal & scope.bindings.keys():
        moved = scope.bindings.pop(name)
        outer = scope.holder(name)
        if outer is not None:
            outer.bindings[name].extend(moved)
