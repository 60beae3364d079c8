"""The toolkit: write MCP servers that keep their contract from the first line."""

from handfast.core.codes import CodeBook, DeclaredCode
from handfast.core.envelopes import Envelope
from handfast.core.errors import ErrorCode, ToolError, error_invalid_input, error_not_found, error_not_implemented
from handfast.toolkit.actor import Actor
from handfast.toolkit.args import Args, NoArgs
from handfast.toolkit.builders import ToolHandler, admin_tool, read_tool, with_handler, with_handlers, write_tool
from handfast.toolkit.call import Call
from handfast.toolkit.dispatch import Answer, Caller
from handfast.toolkit.registry import ToolRegistry, UnknownTool
from handfast.toolkit.reply import Reply, ToolResult
from handfast.toolkit.schemas import ContractError
from handfast.toolkit.spec import Kind, ToolSpec
from handfast.toolkit.toolbox import Toolbox

__all__ = [
    "Actor",
    "Answer",
    "Args",
    "Call",
    "Caller",
    "CodeBook",
    "ContractError",
    "DeclaredCode",
    "Envelope",
    "ErrorCode",
    "Kind",
    "NoArgs",
    "Reply",
    "ToolError",
    "ToolHandler",
    "ToolRegistry",
    "ToolResult",
    "ToolSpec",
    "Toolbox",
    "UnknownTool",
    "admin_tool",
    "error_invalid_input",
    "error_not_found",
    "error_not_implemented",
    "read_tool",
    "with_handler",
    "with_handlers",
    "write_tool",
]
