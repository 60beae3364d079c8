"""The Python files of a project, each parsed once, and the meaning of names across them, by following imports."""

import ast
import io
import re
import sys
import tokenize
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from handfast.lint.findings import Finding, make_finding
from handfast.lint.sources.scopes import (
    Assigned,
    Binding,
    Bound,
    Defined,
    Function,
    Imported,
    NameScope,
    Scopes,
    read_scopes,
)
from handfast.regular_file import read_regular

_MARK = re.compile(r"#\s*lint-allow:\s*(?P<id>[\w-]+)(?P<rest>(?:(?!#\s*lint-allow:).)*)")
_REASON = re.compile(r"\s*--\s*(?P<reason>.*)")
_VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
_MOST_STEPS = 32  # a chain of re-exports is shorter; a circle ends here


@dataclass(frozen=True, slots=True)
class OptOut:
    """The comment `# lint-allow: <id> -- <reason>`, on any line."""

    id: str
    line: int
    has_reason: bool


@dataclass(frozen=True)
class SourceFile:
    """A parsed file. `shown` is its name in findings, as the user would write it."""

    path: Path
    shown: str
    source: bytes
    tree: ast.Module

    @cached_property
    def scopes(self) -> Scopes:
        return read_scopes(self.tree)

    @cached_property
    def _tokens(self) -> list[tokenize.TokenInfo]:
        tokens: list[tokenize.TokenInfo] = []
        try:
            # The tree has no comments, and a string may look like one, so opt-outs are read from the tokens.
            tokens.extend(tokenize.tokenize(io.BytesIO(self.source).readline))
        except (tokenize.TokenError, SyntaxError):
            return []  # without opt-outs more is reported, not less
        return tokens

    @cached_property
    def opt_outs(self) -> list[OptOut]:
        if b"lint-allow" not in self.source:
            return []  # the usual case, and reading tokens takes longer than everything else
        comments = [token for token in self._tokens if token.type == tokenize.COMMENT]
        return [
            OptOut(mark["id"], comment.start[0], _has_reason(mark["rest"]))
            for comment in comments
            for mark in _MARK.finditer(comment.string)
        ]

    def is_allowed(self, rule_id: str, first: int, last: int) -> bool:
        """Whether an opt-out with a reason stands on one of these lines."""
        return any(o.id == rule_id and o.has_reason and first <= o.line <= last for o in self.opt_outs)

    def header_end(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
        """The line of the colon before a function's body."""
        first = node.body[0]
        decorators: list[ast.expr] = getattr(first, "decorator_list", [])  # decorators come before their function
        begin = min([(first.lineno, first.col_offset), *((d.lineno, d.col_offset) for d in decorators)])
        colons = [t.start[0] for t in self._tokens if t.string == ":" and node.lineno <= t.start[0] and t.start < begin]
        return max(colons, default=node.lineno)

    def missing_reasons(self) -> list[Finding]:
        return [
            make_finding(f"{o.id}-reason", f"The opt-out from {o.id} gives no reason.", file=self.shown, line=o.line)
            for o in self.opt_outs
            if not o.has_reason and o.id in ("boundary-typed", "mcp-admin-guardrail")
        ]


def _has_reason(rest: str) -> bool:
    given = _REASON.match(rest)
    # A lone dash or dot is not a reason.
    return given is not None and any(char.isalnum() for char in given["reason"])


def read_source(path: Path, shown: str) -> SourceFile | Finding:
    """The parsed file, or a finding that says why it cannot be parsed."""
    try:
        source = read_regular(path)
    except OSError as problem:
        reason = problem.strerror or "it cannot be opened"
        return make_finding("source-unreadable", f"The file cannot be read: {reason}.", file=shown)
    try:
        return SourceFile(path, shown, source, _parse(source))
    except SyntaxError as problem:
        said = problem.msg.removesuffix(".")
        return make_finding(
            "source-unreadable", f"This is not Python {_VERSION}: {said}.", file=shown, line=problem.lineno or 1
        )
    except (ValueError, RecursionError, MemoryError):
        text = "This is not Python: the text is binary or nested too deeply."
        return make_finding("source-unreadable", text, file=shown, line=1)


def _parse(source: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an odd escape in a user's file is not ours to report
        return ast.parse(source)


@dataclass(frozen=True, slots=True)
class External:
    """A module, or a name from outside the project, as a dotted name: `handfast.boundary.parse_typed`."""

    dotted: str

    def is_handfasts(self, name: str) -> bool:
        return self.dotted.startswith("handfast.") and self.dotted.endswith(f".{name}")


@dataclass(frozen=True, slots=True)
class Local:
    """A function, lambda or class of the project."""

    file: SourceFile = field(compare=False)
    node: Function | ast.Lambda | ast.ClassDef


@dataclass(frozen=True, slots=True)
class UnknownMeaning:
    """A meaning that the sources do not show."""


Meaning = External | Local | UnknownMeaning


class Modules:
    """The files of one project as Python would import them."""

    def __init__(self, root: Path, shown: Mapping[Path, str]) -> None:
        self._roots = (root, root / "src")
        self._shown = shown  # the name that the user gave each file, by its real path
        self._files: dict[Path, SourceFile | None] = {}
        self._located: dict[tuple[Path, str], SourceFile | None] = {}

    def meanings(self, expr: ast.expr, file: SourceFile) -> set[Meaning]:
        """Everything that an expression can mean where it is read; several where its name is bound more than once."""
        return _MeaningSearch(self, package_of(file.path)[0]).of_expression(
            expr, file.scopes.scope_at(expr), file, _MOST_STEPS
        )

    def named(self, dotted: str) -> set[Meaning]:
        """Everything that a name can mean that is imported from the project's folder: `package.module.function`."""
        return _MeaningSearch(self, self._roots[0]).of_dotted(dotted, _MOST_STEPS)

    def has_package(self, name: str) -> bool:
        """Whether a top package or module of this name belongs to the project."""
        return any((root / name).is_dir() or (root / f"{name}.py").is_file() for root in self._roots)

    def is_surely(self, expr: ast.expr, file: SourceFile, name: str) -> bool:
        """Whether the only meaning of an expression is handfast's function of this name."""
        return all(isinstance(m, External) and m.is_handfasts(name) for m in self.meanings(expr, file))

    def may_be(self, expr: ast.expr, file: SourceFile, name: str) -> bool:
        return any(isinstance(m, External) and m.is_handfasts(name) for m in self.meanings(expr, file))

    def locate(self, dotted: str, beside: Path) -> SourceFile | None:
        """The file of a module that belongs to the project or is in the folder `beside`; None for other modules."""
        if (beside, dotted) not in self._located:
            self._located[beside, dotted] = self._look_for(dotted, beside)
        return self._located[beside, dotted]

    def _look_for(self, dotted: str, beside: Path) -> SourceFile | None:
        for root in (beside, *self._roots):
            path = root.joinpath(*dotted.split("."))
            for file in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
                if file.is_file():
                    return self._read(file)
        return None

    def _read(self, path: Path) -> SourceFile | None:
        if path not in self._files:
            source = read_source(path, self._shown.get(path.resolve(), _from_here(path)))
            self._files[path] = source if isinstance(source, SourceFile) else None
        return self._files[path]


class _MeaningSearch:
    """The search for the meanings of one expression. Each name is resolved once, however many paths lead to it."""

    def __init__(self, modules: Modules, beside: Path) -> None:
        self._modules = modules
        self._beside = beside
        self._known: dict[tuple[NameScope, str], set[Meaning]] = {}

    def of_expression(self, expr: ast.expr, scope: NameScope, file: SourceFile, steps: int) -> set[Meaning]:
        if steps <= 0:
            return {UnknownMeaning()}
        match expr:
            case ast.Name():
                return self._of_name(expr.id, scope, file, steps - 1)
            case ast.Attribute():
                held = self.of_expression(expr.value, scope, file, steps - 1)
                return {meaning for holder in held for meaning in self._member(holder, expr.attr, steps - 1)}
            case ast.Lambda():
                return {Local(file, expr)}
            case _:
                return {UnknownMeaning()}

    def _of_name(self, name: str, scope: NameScope, file: SourceFile, steps: int) -> set[Meaning]:
        holder = scope.holder(name)
        if steps <= 0:
            return {UnknownMeaning()}
        if holder is None:
            return self._of_star(name, scope.module, file, steps)
        if (holder, name) not in self._known:
            self._known[holder, name] = {UnknownMeaning()}  # a name that refers to itself has no known meaning
            found = [self._of_binding(binding, holder, file, steps - 1) for binding in holder.bindings[name]]
            self._known[holder, name] = set().union(*found)
        return self._known[holder, name]

    def _of_star(self, name: str, module: NameScope, file: SourceFile, steps: int) -> set[Meaning]:
        stars = [Imported(f"{star.dotted}.{name}", star.level) for star in module.stars]
        found = {meaning for star in stars for meaning in self._of_import(star, file, steps - 1)}
        # Which of several star imports a name comes from is unknown; if handfast is among them, its name is assumed.
        return {m for m in found if isinstance(m, External) and m.is_handfasts(name)} or found or {UnknownMeaning()}

    def _of_binding(self, binding: Binding, scope: NameScope, file: SourceFile, steps: int) -> set[Meaning]:
        match binding:
            case Imported():
                return self._of_import(binding, file, steps)
            case Assigned():
                return self.of_expression(binding.value, scope, file, steps)
            case Defined():
                return {Local(file, binding.node)}
            case Bound():
                return {UnknownMeaning()}

    def _of_import(self, imported: Imported, file: SourceFile, steps: int) -> set[Meaning]:
        dotted = _absolute(imported, file)
        return {UnknownMeaning()} if dotted is None else self.of_dotted(dotted, steps)

    def of_dotted(self, dotted: str, steps: int) -> set[Meaning]:
        module, _, name = dotted.rpartition(".")
        # handfast itself is never followed: its names are what the checks look for.
        if not module or dotted.startswith("handfast.") or self._modules.locate(dotted, self._beside) is not None:
            return {External(dotted)}
        found = self._modules.locate(module, self._beside)
        return {External(dotted)} if found is None else self._of_name(name, found.scopes.module, found, steps)

    def _member(self, holder: Meaning, name: str, steps: int) -> set[Meaning]:
        match holder:
            case External():
                return self.of_dotted(f"{holder.dotted}.{name}", steps)
            case Local(file, ast.ClassDef() as node):
                found = file.scopes.own[node].bindings.get(name, [])
                return {Local(file, b.node) if isinstance(b, Defined) else UnknownMeaning() for b in found} or {
                    UnknownMeaning()
                }
            case _:
                return {UnknownMeaning()}


def _from_here(path: Path) -> str:
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def package_of(path: Path) -> tuple[Path, tuple[str, ...]]:
    """The folder that contains a file's top package, and the packages from there down to the file."""
    folder, parts = path.resolve().parent, list[str]()
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        parts.append(folder.name)
        folder = folder.parent
    return folder, tuple(reversed(parts))


def _absolute(imported: Imported, file: SourceFile) -> str | None:
    if imported.level == 0:
        return imported.dotted
    _, packages = package_of(file.path)
    above = imported.level - 1
    if above >= len(packages):
        return None  # the import leaves its top package, which is an error at run time
    return ".".join((*packages[: len(packages) - above], imported.dotted))
