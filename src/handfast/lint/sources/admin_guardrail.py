"""`mcp-admin-guardrail`: an admin tool's handler calls `require_admin_guardrails` first, and not under a condition."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from handfast.lint.findings import Finding, make_finding
from handfast.lint.sources.modules import External, Local, Modules, SourceFile
from handfast.lint.sources.scopes import Assigned, Function, last_name, own_calls, source_text

BUILDER = "admin_tool"
ATTACHER = "with_handler"
# The handlers that these make only answer that the tool is not supported.
_PLACEHOLDERS = ("make_placeholder_handler", "make_handlers_for_tools")

Handler = tuple[SourceFile, Function | ast.Lambda]
ID = "mcp-admin-guardrail"
GUARD = "require_admin_guardrails"


@dataclass(frozen=True, slots=True)
class AdminTool:
    """One use of `admin_tool`, and the functions that handle it."""

    node: ast.Call | ast.Name | ast.Attribute
    name: str  # as it is written, for messages
    handlers: tuple[Handler, ...]
    unseen: str = ""  # why its handler cannot be found, as the end of a sentence


class AdminTools:
    """Finds the admin tools of one file."""

    def __init__(self, file: SourceFile, modules: Modules) -> None:
        self._file = file
        self._modules = modules

    def find(self) -> list[AdminTool]:
        found = [self._read(call) for call in self._calls if self._modules.may_be(call.func, self._file, BUILDER)]
        return found + list(self._uncalled())

    @cached_property
    def _calls(self) -> list[ast.Call]:
        return [node for node in self._file.scopes.around if isinstance(node, ast.Call)]

    def _read(self, call: ast.Call) -> AdminTool:
        name = _argument(call, "name", 0)
        shown = _text(name)
        decorated = self._decorated.get(call)
        if decorated is not None:
            return AdminTool(call, shown, ((self._file, decorated),))
        given = _keyword(call, "handler")
        candidates = [given] if given is not None else self._attached(call) or self._positional(call)
        candidates = candidates or self._mapped(name)
        if not candidates:
            return AdminTool(call, shown, (), "no handler is given, and no handler map in this file has its name")
        return self._judge(call, shown, candidates)

    def _judge(self, call: ast.Call, shown: str, candidates: list[ast.expr]) -> AdminTool:
        handlers: list[Handler] = []
        unseen = ""
        for candidate in candidates:
            found = self._functions(candidate)
            if found is None:
                unseen = f"its handler, {_text(candidate)}, is not a function that can be found from here"
            else:
                handlers += found
        return AdminTool(call, shown, tuple(handlers), unseen)

    def _functions(self, expr: ast.expr) -> list[Handler] | None:
        """The functions that an expression can stand for; None where one of them cannot be found in the sources."""
        if isinstance(expr, ast.Call):
            return self._made(expr)
        found: list[Handler] = []
        for meaning in self._modules.meanings(self._of_own_class(expr), self._file):
            if not isinstance(meaning, Local) or isinstance(meaning.node, ast.ClassDef):
                return None
            found.append((meaning.file, meaning.node))
        return found

    def _made(self, call: ast.Call) -> list[Handler] | None:
        """The handler of `partial(handler, ...)`; [] for a placeholder, which needs no guard; None for other calls."""
        if any(self._modules.is_surely(call.func, self._file, name) for name in _PLACEHOLDERS):
            return []
        meanings = self._modules.meanings(call.func, self._file)
        if meanings == {External("functools.partial")} and call.args:
            return self._functions(call.args[0])
        return None

    def _of_own_class(self, expr: ast.expr) -> ast.expr:
        """Turns `self.delete` into `Class.delete` inside that class; leaves other expressions as they are."""
        if isinstance(expr, ast.Attribute) and isinstance(expr.value, ast.Name) and expr.value.id in ("self", "cls"):
            scope = self._file.scopes.scope_at(expr)
            while scope.parent is not None:
                if isinstance(scope.node, ast.ClassDef):
                    node = ast.Name(scope.node.name, ast.Load())
                    self._file.scopes.around[node] = scope.parent
                    qualified = ast.Attribute(node, expr.attr, ast.Load())
                    self._file.scopes.around[qualified] = scope.parent
                    return qualified
                scope = scope.parent
        return expr

    def _attached(self, tool: ast.Call) -> list[ast.expr]:
        """The handlers that `with_handler` attaches to a tool that is given in place or by its assigned name."""
        attached = [call for call in self._calls if self._modules.may_be(call.func, self._file, ATTACHER)]
        pairs = [(_argument(call, "spec", 0), _argument(call, "handler", 1)) for call in attached]
        return [handler for spec, handler in pairs if handler is not None and self._is_made_by(spec, tool)]

    def _is_made_by(self, expr: ast.expr | None, tool: ast.Call) -> bool:
        if not isinstance(expr, ast.Name):
            return expr is tool
        holder = self._file.scopes.scope_at(expr).holder(expr.id)
        bindings = holder.bindings[expr.id] if holder is not None else []
        return any(isinstance(binding, Assigned) and binding.value is tool for binding in bindings)

    def _positional(self, call: ast.Call) -> list[ast.expr]:
        """The functions among the positional arguments: only a handler is a function."""
        return [arg for arg in call.args[1:] if isinstance(arg, ast.Lambda) or self._functions(arg)]

    def _mapped(self, name: ast.expr | None) -> list[ast.expr]:
        """The handlers that this file maps a tool's name to; other kinds of maps may have the same key."""
        key = self._key(name)
        named = (
            [] if key is None else [(value, self._functions(value)) for other, value in self._entries if other == key]
        )
        handlers = [value for value, found in named if found and all(_takes_arguments(node) for _, node in found)]
        return handlers or [value for value, found in named if found is None]

    @cached_property
    def _entries(self) -> list[tuple[str, ast.expr]]:
        entries: list[tuple[ast.expr | None, ast.expr]] = []
        for node in ast.walk(self._file.tree):
            match node:
                case ast.Dict():
                    entries += zip(node.keys, node.values, strict=True)
                case ast.Assign(targets=[ast.Subscript(slice=key)], value=value):
                    entries.append((key, value))
                case ast.Call(func=ast.Name(id="dict")):
                    entries += [(ast.Constant(k.arg), k.value) for k in node.keywords if k.arg is not None]
        # A text under the same key is a title or a description.
        handlers = [(self._key(key), value) for key, value in entries if not isinstance(value, ast.Constant)]
        return [(key, value) for key, value in handlers if key is not None]

    def _key(self, expr: ast.expr | None) -> str | None:
        """A tool's name in a form to compare: its constant where it has one, else the text of the expression."""
        if expr is None:
            return None
        if isinstance(expr, ast.Name):
            scope = self._file.scopes.scope_at(expr)
            holder = scope.holder(expr.id)
            bindings = holder.bindings[expr.id] if holder is not None else []
            if len(bindings) == 1 and isinstance(bindings[0], Assigned) and isinstance(bindings[0].value, ast.Constant):
                expr = bindings[0].value
        return source_text(expr)

    @cached_property
    def _decorated(self) -> dict[ast.expr, Function]:
        return {decorator: node for _, node in self._file.scopes.functions for decorator in node.decorator_list}

    def _uncalled(self) -> Iterator[AdminTool]:
        """Places that pass `admin_tool` on as a value: the tools registered through it cannot be found."""
        seen = {call.func for call in self._calls} | self._renamed
        read = [node for node in self._file.scopes.around if isinstance(node, ast.Name | ast.Attribute)]
        for node in read:
            if node not in seen and self._modules.may_be(node, self._file, BUILDER):
                yield AdminTool(node, BUILDER, (), "admin_tool is handed on here instead of being called")

    @cached_property
    def _renamed(self) -> set[ast.expr]:
        """The assigned values: `admin = admin_tool` is followed by name, so it hides no tool."""
        scopes = [self._file.scopes.module, *self._file.scopes.own.values()]
        bindings = [b for scope in scopes for found in scope.bindings.values() for b in found]
        return {binding.value for binding in bindings if isinstance(binding, Assigned)}


def _takes_arguments(node: Function | ast.Lambda) -> bool:
    """Whether a function could be a handler: handlers are called with the keyword `arguments`."""
    named = [arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)]
    return "arguments" in named or node.args.kwarg is not None


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _argument(call: ast.Call, name: str, place: int) -> ast.expr | None:
    given = call.args[place] if len(call.args) > place else None
    return _keyword(call, name) if given is None else given


def _text(expr: ast.expr | None) -> str:
    text = "?" if expr is None else " ".join(source_text(expr).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def check_admin_tools(tools: Sequence[AdminTool], file: SourceFile, modules: Modules) -> list[Finding]:
    """The findings about the admin tools that one file registers."""
    found: list[Finding] = []
    for tool in tools:
        node = tool.node
        if tool.unseen and not file.is_allowed(ID, node.lineno, node.end_lineno or node.lineno):
            text = f"The admin tool {tool.name}: {tool.unseen}."
            found.append(make_finding("mcp-admin-guardrail-unseen", text, file=file.shown, line=node.lineno))
        found += [finding for handler in tool.handlers for finding in _check_handler(tool, handler, modules)]
    return found


def _check_handler(tool: AdminTool, handler: Handler, modules: Modules) -> list[Finding]:
    file, node = handler
    fault = _fault(node, file, modules)
    if not fault or file.is_allowed(ID, *_header(node, file)):
        return []
    text = f"The handler of the admin tool {tool.name}: {_name(node)} {fault}."
    return [make_finding(ID, text, file=file.shown, line=node.lineno)]


def _header(node: Function | ast.Lambda, file: SourceFile) -> tuple[int, int]:
    """The lines where an opt-out counts: from the first decorator to the colon, or all of a lambda."""
    if isinstance(node, ast.Lambda):
        return node.lineno, node.end_lineno or node.lineno
    return min([node.lineno, *(d.lineno for d in node.decorator_list)]), file.header_end(node)


def _name(node: Function | ast.Lambda) -> str:
    return "the lambda" if isinstance(node, ast.Lambda) else f"'{node.name}'"


def _fault(node: Function | ast.Lambda, file: SourceFile, modules: Modules) -> str:
    """Why a handler is not guarded, as the end of a sentence; empty where it is."""
    calls = own_calls(node)
    guards = [call for call in calls if modules.is_surely(call.node.func, file, GUARD)]
    if not guards:
        if any(last_name(call.node) == GUARD or modules.may_be(call.node.func, file, GUARD) for call in calls):
            return f"calls a {GUARD} that is not, or not always, handfast's"
        return f"does not call {GUARD} itself"
    if calls[0] is not guards[0]:
        return f"calls something else before {GUARD}, in line {calls[0].node.lineno}"
    if guards[0].is_conditional:
        return f"calls {GUARD} only under a condition"
    return ""
