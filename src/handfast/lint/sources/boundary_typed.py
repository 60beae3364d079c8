"""`boundary-typed`: a registered function itself calls `parse_typed` with its own label, written out."""

import ast

from handfast.lint.catalogue import find
from handfast.lint.findings import Finding
from handfast.lint.sources.boundaries import Boundary
from handfast.lint.sources.file import SourceFile
from handfast.lint.sources.modules import Modules
from handfast.lint.sources.own_calls import last_name, own_calls
from handfast.lint.sources.scopes import Function

ID = "boundary-typed"
HELPER = "parse_typed"


def check_boundary(boundary: Boundary, file: SourceFile, modules: Modules, registry: str) -> list[Finding]:
    """What is wrong with one boundary in its file; `registry` is the file that lists it."""
    functions = _find_functions(boundary.function, file)
    if not functions:
        text = (
            f"The boundary '{boundary.label}' is to be in the function '{boundary.function}', which {file.shown} lacks."
        )
        return [find("boundary-typed-missing", text, file=registry)]
    names = {name for name, _ in functions}
    if len(names) > 1:
        text = f"The boundary '{boundary.label}' names '{boundary.function}', which {file.shown} has more than once."
        return [find("boundary-typed-missing", text, f"Name one of {', '.join(sorted(names))}.", file=registry)]
    if boundary.lenient:
        return []
    judged = [(node, _fault(node, boundary, file, modules)) for _, node in functions]
    return [
        find(ID, f"The boundary '{boundary.label}': {fault}.", _hint(boundary), file=file.shown, line=node.lineno)
        for node, fault in judged
        if fault and not file.is_allowed(ID, node.lineno, node.lineno)
    ]


def _hint(boundary: Boundary) -> str:
    return f'Call parse_typed("{boundary.label}", ...) in this function itself.'


def _find_functions(wanted: str, file: SourceFile) -> list[tuple[str, Function]]:
    """Every definition of that qualified name; a bare name also finds a method of that name."""
    wanted = wanted.replace(".<locals>", "")
    exact = [(name, node) for name, node in file.scopes.functions if name == wanted]
    found = exact or [(name, node) for name, node in file.scopes.functions if name.endswith(f".{wanted}")]
    real = [(name, node) for name, node in found if not _is_overload(node)]
    return real or found


def _is_overload(node: Function) -> bool:
    last = [d.attr if isinstance(d, ast.Attribute) else getattr(d, "id", "") for d in node.decorator_list]
    return "overload" in last


def _fault(node: Function, boundary: Boundary, file: SourceFile, modules: Modules) -> str:
    """Why a function does not hold its boundary, as the end of a sentence; nothing where it does."""
    calls = [call.node for call in own_calls(node)]
    real = [call for call in calls if modules.is_surely(call.func, file, HELPER)]
    labels = [_label(call) for call in real]
    name = f"'{node.name}'"
    if boundary.label in labels:
        return ""
    if None in labels:
        return f"{name} calls parse_typed with a label that is not written out as text"
    if labels:
        return f"{name} calls parse_typed with another label"
    if any(last_name(call) == HELPER or modules.may_be(call.func, file, HELPER) for call in calls):
        return f"the parse_typed that {name} calls is not, or not always, handfast's"
    inside = [call for call in ast.walk(node) if isinstance(call, ast.Call) and call not in calls]
    if any(modules.is_surely(call.func, file, HELPER) for call in inside):
        return f"only a function, default or decorator inside {name} calls parse_typed, not {name} itself"
    return f"{name} does not call parse_typed"


def _label(call: ast.Call) -> str | None:
    """The label as it is written; None where only a run could tell."""
    given = call.args[0] if call.args else None
    for keyword in call.keywords:
        if keyword.arg == "boundary" and given is None:
            given = keyword.value
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else None
