"""Functions of a project that wrap `parse_typed`: a boundary may call one of them instead."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from handfast.lint.findings import Finding, make_finding
from handfast.lint.sources.modules import External, Local, Meaning, Modules, SourceFile
from handfast.lint.sources.scopes import Function, own_calls

HELPER = "parse_typed"
_Key = str | tuple[Path, int]  # a function of an installed package by name, one of the project by file and line


@dataclass(frozen=True, slots=True)
class _Label:
    """Where a call of the helper has the label; or the label itself, where the helper writes it out."""

    parameter: str = "boundary"
    place: int | None = 0
    written: str | None = None

    def of(self, call: ast.Call) -> str | None:
        if self.written is not None:
            return self.written
        given = call.args[self.place] if self.place is not None and len(call.args) > self.place else None
        named = [keyword.value for keyword in call.keywords if keyword.arg == self.parameter]
        return _text(given or next(iter(named), None))


_AS_PARSE_TYPED = (_Label(),)


def label_of(call: ast.Call) -> str | None:
    """The label of a call of `parse_typed`; None where it is not written out as text."""
    return _AS_PARSE_TYPED[0].of(call)


class Helpers:
    """The helpers that a project names, each as it would be imported, such as `shop.edge.parse_payload`."""

    def __init__(self, names: Sequence[str], modules: Modules, registry: str) -> None:
        self.findings: list[Finding] = []  # about helpers that are not there, or do not wrap parse_typed
        self._modules = modules
        self._known: dict[_Key, tuple[_Label, ...]] = {}
        for name in names:
            self._read(name, registry)

    def _read(self, name: str, registry: str) -> None:
        match list(self._modules.named(name)):
            case [Local(file, ast.FunctionDef() | ast.AsyncFunctionDef() as node) as found]:
                if labels := tuple(self._labels(node, file)):
                    self._known[_key(found)] = labels
                    return
                text = f"The helper '{name}' does not call parse_typed itself."
                self.findings.append(make_finding("boundary-typed-helper", text, file=file.shown, line=node.lineno))
            case [External() as found] if not self._modules.has_package(name.partition(".")[0]):
                self._known[_key(found)] = _AS_PARSE_TYPED  # installed, so its text is not here to be judged
            case _:
                text = f"The helper '{name}' is not a function at the top of a module of this project."
                self.findings.append(make_finding("boundary-typed-helper", text, file=registry))

    def _labels(self, node: Function, file: SourceFile) -> Iterator[_Label]:
        positional = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
        named = [*positional, *(arg.arg for arg in node.args.kwonlyargs)]
        for call in own_calls(node):
            if not self._modules.is_surely(call.node.func, file, HELPER):
                continue
            given = call.node.args[0] if call.node.args else None
            label = given or next((k.value for k in call.node.keywords if k.arg == "boundary"), None)
            if isinstance(label, ast.Name) and label.id in named:
                yield _Label(label.id, positional.index(label.id) if label.id in positional else None)
            else:
                yield _Label("", None, _text(label))

    def labels(self, call: ast.Call, file: SourceFile) -> list[str | None]:
        """The labels with which a call reaches `parse_typed` through a helper; none where it may call another."""
        meanings = self._modules.meanings(call.func, file) if self._known else set()
        known = [self._known.get(_key(meaning)) for meaning in meanings]
        return [label.of(call) for labels in known for label in labels or ()] if all(known) else []


def _key(meaning: Meaning) -> _Key:
    match meaning:
        case External(dotted):
            return dotted
        case Local(file, node):
            return file.path.resolve(), node.lineno
        case _:
            return ""


def _text(expr: ast.expr | None) -> str | None:
    return expr.value if isinstance(expr, ast.Constant) and isinstance(expr.value, str) else None
