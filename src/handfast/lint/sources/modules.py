"""What a name stands for across the files of a project: imports are followed to where something is defined."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from handfast.lint.sources.file import SourceFile, read_source
from handfast.lint.sources.scopes import Assigned, Binding, Bound, Defined, Function, Imported, Scope

_MOST_STEPS = 32  # a chain of re-exports is shorter; a circle ends here


@dataclass(frozen=True, slots=True)
class External:
    """Something that is not a file of the project, by its dotted name: `handfast.boundary.parse_typed`."""

    dotted: str

    def is_handfasts(self, name: str) -> bool:
        return self.dotted.startswith("handfast.") and self.dotted.endswith(f".{name}")


@dataclass(frozen=True, slots=True)
class Local:
    """A function, lambda or class of the project."""

    file: SourceFile = field(compare=False)
    node: Function | ast.Lambda | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Unknown:
    """What only a run can tell."""


Meaning = External | Local | Unknown


class Modules:
    """The files of one project as Python would import them."""

    def __init__(self, root: Path, shown: Mapping[Path, str]) -> None:
        self._roots = (root, root / "src")
        self._shown = shown  # how the user named a file, by its real path
        self._files: dict[Path, SourceFile | None] = {}
        self._located: dict[tuple[Path, str], SourceFile | None] = {}

    def meanings(self, expr: ast.expr, file: SourceFile) -> set[Meaning]:
        """Everything that an expression can stand for where it is read; more than one where bindings compete."""
        return _Search(self, package_of(file.path)[0]).of_expression(
            expr, file.scopes.scope_at(expr), file, _MOST_STEPS
        )

    def is_surely(self, expr: ast.expr, file: SourceFile, name: str) -> bool:
        """Whether an expression can be nothing but handfast's function of this name."""
        return all(isinstance(m, External) and m.is_handfasts(name) for m in self.meanings(expr, file))

    def may_be(self, expr: ast.expr, file: SourceFile, name: str) -> bool:
        return any(isinstance(m, External) and m.is_handfasts(name) for m in self.meanings(expr, file))

    def locate(self, dotted: str, beside: Path) -> SourceFile | None:
        """The file of a module, where it is one of the project's or stands in the folder `beside`."""
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


class _Search:
    """One question about one expression. Each name is looked into once, however many ways lead to it."""

    def __init__(self, modules: Modules, beside: Path) -> None:
        self._modules = modules
        self._beside = beside
        self._known: dict[tuple[Scope, str], set[Meaning]] = {}

    def of_expression(self, expr: ast.expr, scope: Scope, file: SourceFile, steps: int) -> set[Meaning]:
        if steps <= 0:
            return {Unknown()}
        match expr:
            case ast.Name():
                return self._of_name(expr.id, scope, file, steps - 1)
            case ast.Attribute():
                held = self.of_expression(expr.value, scope, file, steps - 1)
                return {meaning for holder in held for meaning in self._member(holder, expr.attr, steps - 1)}
            case ast.Lambda():
                return {Local(file, expr)}
            case _:
                return {Unknown()}

    def _of_name(self, name: str, scope: Scope, file: SourceFile, steps: int) -> set[Meaning]:
        holder = scope.holder(name)
        if steps <= 0:
            return {Unknown()}
        if holder is None:
            return self._of_star(name, scope.module, file, steps)
        if (holder, name) not in self._known:
            self._known[holder, name] = {Unknown()}  # what stands for itself stands for nothing that can be told
            found = [self._of_binding(binding, holder, file, steps - 1) for binding in holder.bindings[name]]
            self._known[holder, name] = set().union(*found)
        return self._known[holder, name]

    def _of_star(self, name: str, module: Scope, file: SourceFile, steps: int) -> set[Meaning]:
        stars = [Imported(f"{star.dotted}.{name}", star.level) for star in module.stars]
        found = {meaning for star in stars for meaning in self._of_import(star, file, steps - 1)}
        # Which of several modules a name comes from cannot be seen; if handfast is among them, it is taken.
        return {m for m in found if isinstance(m, External) and m.is_handfasts(name)} or found or {Unknown()}

    def _of_binding(self, binding: Binding, scope: Scope, file: SourceFile, steps: int) -> set[Meaning]:
        match binding:
            case Imported():
                return self._of_import(binding, file, steps)
            case Assigned():
                return self.of_expression(binding.value, scope, file, steps)
            case Defined():
                return {Local(file, binding.node)}
            case Bound():
                return {Unknown()}

    def _of_import(self, imported: Imported, file: SourceFile, steps: int) -> set[Meaning]:
        dotted = _absolute(imported, file)
        return {Unknown()} if dotted is None else self._of_dotted(dotted, steps)

    def _of_dotted(self, dotted: str, steps: int) -> set[Meaning]:
        module, _, name = dotted.rpartition(".")
        # handfast itself is never followed: its names are what the checks look for.
        if not module or dotted.startswith("handfast.") or self._modules.locate(dotted, self._beside) is not None:
            return {External(dotted)}
        found = self._modules.locate(module, self._beside)
        return {External(dotted)} if found is None else self._of_name(name, found.scopes.module, found, steps)

    def _member(self, holder: Meaning, name: str, steps: int) -> set[Meaning]:
        match holder:
            case External():
                return self._of_dotted(f"{holder.dotted}.{name}", steps)
            case Local(file, ast.ClassDef() as node):
                found = file.scopes.own[node].bindings.get(name, [])
                return {Local(file, b.node) if isinstance(b, Defined) else Unknown() for b in found} or {Unknown()}
            case _:
                return {Unknown()}


def _from_here(path: Path) -> str:
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def package_of(path: Path) -> tuple[Path, tuple[str, ...]]:
    """The folder that a file's top package stands in, and the packages from there to the file."""
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
        return None  # out of its package: an error when it runs
    return ".".join((*packages[: len(packages) - above], imported.dotted))
