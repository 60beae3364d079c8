"""`mcp-admin-guardrail`: an admin tool's handler calls `require_admin_guardrails` first, and not under a condition."""

import ast

from handfast.lint.catalogue import find
from handfast.lint.findings import Finding
from handfast.lint.sources.admin_handlers import AdminTool, AdminTools, Handler
from handfast.lint.sources.file import SourceFile
from handfast.lint.sources.modules import Modules
from handfast.lint.sources.own_calls import last_name, own_calls
from handfast.lint.sources.scopes import Function

ID = "mcp-admin-guardrail"
GUARD = "require_admin_guardrails"


def check_admin_tools(file: SourceFile, modules: Modules) -> list[Finding]:
    """What is wrong with the admin tools that one file registers."""
    found: list[Finding] = []
    for tool in AdminTools(file, modules).find():
        if tool.unseen and not _is_allowed_at(tool, file):
            text = f"The admin tool {tool.name}: {tool.unseen}."
            found.append(find("mcp-admin-guardrail-unseen", text, file=file.shown, line=tool.node.lineno))
        found += [finding for handler in tool.handlers for finding in _check_handler(tool, handler, modules)]
    return found


def _is_allowed_at(tool: AdminTool, file: SourceFile) -> bool:
    return file.is_allowed(ID, tool.node.lineno, tool.node.end_lineno or tool.node.lineno)


def _check_handler(tool: AdminTool, handler: Handler, modules: Modules) -> list[Finding]:
    file, node = handler
    fault = _fault(node, file, modules)
    if not fault or file.is_allowed(ID, *_header(node, file)):
        return []
    text = f"The handler of the admin tool {tool.name}: {_name(node)} {fault}."
    return [find(ID, text, file=file.shown, line=node.lineno)]


def _header(node: Function | ast.Lambda, file: SourceFile) -> tuple[int, int]:
    """From the first decorator to the colon; all of a lambda."""
    if isinstance(node, ast.Lambda):
        return node.lineno, node.end_lineno or node.lineno
    return min([node.lineno, *(d.lineno for d in node.decorator_list)]), file.header_end(node)


def _name(node: Function | ast.Lambda) -> str:
    return "the lambda" if isinstance(node, ast.Lambda) else f"'{node.name}'"


def _fault(node: Function | ast.Lambda, file: SourceFile, modules: Modules) -> str:
    """Why a handler is not guarded, as the end of a sentence; nothing where it is."""
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
