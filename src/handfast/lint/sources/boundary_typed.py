"""`boundary-typed`: the boundaries a project registers, and whether each calls `parse_typed` with its own label."""

import ast
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from handfast.lint.findings import Finding, make_finding
from handfast.lint.sources.boundary_helpers import HELPER, Helpers, label_of
from handfast.lint.sources.modules import Modules, SourceFile
from handfast.lint.sources.scopes import Function, last_name, own_calls

FILE_NAME = "pyproject.toml"
_KEYS = ("boundaries", "helpers")
_ROW_KEYS = ("file", "function", "label", "lenient")
ID, MISSING = "boundary-typed", "boundary-typed-missing"


@dataclass(frozen=True, slots=True)
class Boundary:
    """A function that takes in data from outside."""

    file: str  # from the project's folder, with "/" between its parts
    function: str  # by qualified name: decode_token, Service.decode_token, outer.inner
    label: str
    lenient: bool = False  # listed, but not required to call parse_typed


# handfast's own boundaries. A boundary is added together with the code that makes it one, never before.
OWN_BOUNDARIES: Final = (
    Boundary("src/handfast/access/jwt.py", "read_claims", "jwt"),
    Boundary("src/handfast/access/issuers.py", "read_issued_claims", "jwt.issuer"),
    Boundary("src/handfast/toolkit/running/arguments_model.py", "parse_arguments", "mcp.tool"),
    # Arguments of a tool without a model are judged by its input schema, and its handler reads them one by one.
    Boundary("src/handfast/toolkit/writing/builders.py", "run_of_handler", "mcp.tool.dual_path", lenient=True),
)


class ProjectUnreadable(ValueError):
    """The project's own settings for this command are wrong; the text says where and what to do."""


@dataclass(frozen=True, slots=True)
class Project:
    """The root of a project, and the boundaries that it registers."""

    root: Path
    boundaries: tuple[Boundary, ...] = ()
    registry: str = FILE_NAME  # the file that lists the boundaries, as findings show it
    helpers: tuple[str, ...] = ()  # functions that wrap parse_typed, by the name that would be imported


def find_project(paths: Sequence[Path]) -> Project:
    """The project around these paths: the nearest pyproject.toml above them all. Raises: ProjectUnreadable."""
    absolute = [path.resolve() for path in paths] or [Path.cwd()]
    common = Path(os.path.commonpath(absolute))
    start = common if common.is_dir() else common.parent
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return _read(folder / FILE_NAME)
    return Project(start)


def _read(path: Path) -> Project:
    shown = os.path.relpath(path)
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise ProjectUnreadable(f"{shown}: cannot be read as TOML. Correct it: {problem}") from None
    boundaries, helpers = _read_table(_at(content, "tool", "handfast", "lint"), shown)
    if _at(content, "project", "name") == "handfast":
        boundaries, shown = (*OWN_BOUNDARIES, *boundaries), "src/handfast/lint/sources/boundary_typed.py"
    return Project(path.parent, boundaries, shown, helpers)


def _at(content: dict[str, Any], *keys: str) -> object:  # Any: TOML
    found: object = content
    for key in keys:
        found = found.get(key, {}) if isinstance(found, dict) else {}
    return found


def _read_table(table: object, shown: str) -> tuple[tuple[Boundary, ...], tuple[str, ...]]:
    """The registered boundaries, and the names of helpers. Raises: ProjectUnreadable."""
    where = f"{shown}: tool.handfast.lint"
    if not isinstance(table, dict):
        raise ProjectUnreadable(f"{where} must be a table.")
    _refuse_unknown(table, _KEYS, where)
    rows = table.get("boundaries", [])
    if not isinstance(rows, list):
        raise ProjectUnreadable(f"{where}.boundaries must be a list of tables with file, function and label.")
    helpers = table.get("helpers", [])
    if not isinstance(helpers, list) or not all(isinstance(name, str) and "." in name for name in helpers):
        raise ProjectUnreadable(f"{where}.helpers must be a list of names such as shop.edge.parse_payload.")
    return tuple(_read_row(row, f"{where}.boundaries[{place}]") for place, row in enumerate(rows)), tuple(helpers)


def _read_row(row: object, where: str) -> Boundary:
    if not isinstance(row, dict):
        raise ProjectUnreadable(f"{where} must be a table with file, function and label.")
    _refuse_unknown(row, _ROW_KEYS, where)
    for key in _ROW_KEYS[:3]:
        if not isinstance(row.get(key), str) or not row[key]:
            raise ProjectUnreadable(f"{where}.{key} must be a text that is not empty.")
    lenient = row.get("lenient", False)
    if not isinstance(lenient, bool):
        raise ProjectUnreadable(f"{where}.lenient must be true or false.")
    return Boundary(row["file"], row["function"], row["label"], lenient)


def _refuse_unknown(table: dict[str, Any], known: Sequence[str], where: str) -> None:  # Any: TOML
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            advice = f"did you mean {near[0]}?" if near else f"known are: {', '.join(known)}."
            raise ProjectUnreadable(f"{where} has no key '{key}'; {advice}")


def check_boundary(
    boundary: Boundary, file: SourceFile, modules: Modules, helpers: Helpers, registry: str
) -> list[Finding]:
    """The findings about one boundary in its file; `registry` is the file that lists it."""
    functions = _find_functions(boundary.function, file)
    if not functions:
        text = (
            f"The boundary '{boundary.label}' must be in the function '{boundary.function}', which {file.shown} lacks."
        )
        return [make_finding(MISSING, text, file=registry)]
    names = {name for name, _ in functions}
    if len(names) > 1:
        text = f"The boundary '{boundary.label}' names '{boundary.function}', which {file.shown} has more than once."
        return [make_finding(MISSING, text, f"Name one of {', '.join(sorted(names))}.", file=registry)]
    if boundary.lenient:
        return []
    judged = [(node, _fault(node, boundary, file, modules, helpers)) for _, node in functions]
    hint = f'Call parse_typed("{boundary.label}", ...) in this function itself.'
    return [
        make_finding(ID, f"The boundary '{boundary.label}': {fault}.", hint, file=file.shown, line=node.lineno)
        for node, fault in judged
        if fault and not file.is_allowed(ID, node.lineno, node.lineno)
    ]


def _find_functions(wanted: str, file: SourceFile) -> list[tuple[str, Function]]:
    """Every definition with this qualified name, or else those whose qualified name ends with it, such as methods."""
    wanted = wanted.replace(".<locals>", "")
    exact = [(name, node) for name, node in file.scopes.functions if name == wanted]
    found = exact or [(name, node) for name, node in file.scopes.functions if name.endswith(f".{wanted}")]
    real = [(name, node) for name, node in found if not _is_overload(node)]
    return real or found


def _is_overload(node: Function) -> bool:
    last = [d.attr if isinstance(d, ast.Attribute) else getattr(d, "id", "") for d in node.decorator_list]
    return "overload" in last


def _fault(node: Function, boundary: Boundary, file: SourceFile, modules: Modules, helpers: Helpers) -> str:
    """Why a function breaks the rule for its boundary, as the end of a sentence; empty where it does not."""
    calls = [call.node for call in own_calls(node)]
    real = [call for call in calls if modules.is_surely(call.func, file, HELPER)]
    labels = [label_of(call) for call in real] + [label for call in calls for label in helpers.labels(call, file)]
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
