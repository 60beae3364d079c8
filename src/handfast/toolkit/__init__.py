"""The toolkit: write MCP servers that keep their contract from the first line."""

from handfast.core.answers.codes import CodeBook, DeclaredCode
from handfast.core.answers.envelopes import Envelope
from handfast.core.answers.errors import (
    ErrorCode,
    ToolError,
    error_invalid_input,
    error_not_found,
    error_not_implemented,
)
from handfast.toolkit.actor import Actor
from handfast.toolkit.adapters.under_contract import under_contract
from handfast.toolkit.args import Args, NoArgs
from handfast.toolkit.argument_checks import (
    ArgumentValidationError,
    actor_id,
    actor_label,
    coerce_pagination,
    get_optional_str,
    parse_str_sequence,
    parse_time_window,
    require_actor_id,
    require_arg,
    require_dict,
    require_non_blank,
)
from handfast.toolkit.builders import ToolHandler, admin_tool, read_tool, with_handler, with_handlers, write_tool
from handfast.toolkit.call import Call
from handfast.toolkit.dispatch import Answer, Caller
from handfast.toolkit.guardrails import GuardrailViolationError, require_admin_guardrails
from handfast.toolkit.handler_log import (
    log_handler_argument_invalid,
    log_handler_guardrail_violated,
    log_handler_invoke_failed,
)
from handfast.toolkit.handler_maps import build_handler_map, make_handlers_for_tools, make_placeholder_handler
from handfast.toolkit.kept_results import KeptResult, MemoryResults, ResultStore
from handfast.toolkit.pages import Page, PaginationMeta, Paging, dump_many, paginate_sequence
from handfast.toolkit.registry import ToolRegistry, UnknownTool
from handfast.toolkit.reply import Reply, ToolResult
from handfast.toolkit.schemas import ContractError
from handfast.toolkit.spec import Kind, ToolSpec
from handfast.toolkit.status_envelope import capability_gap, err, not_supported, ok, service_fallback
from handfast.toolkit.toolbox import Toolbox

__all__ = [
    "Actor",
    "Answer",
    "Args",
    "ArgumentValidationError",
    "Call",
    "Caller",
    "CodeBook",
    "ContractError",
    "DeclaredCode",
    "Envelope",
    "ErrorCode",
    "GuardrailViolationError",
    "KeptResult",
    "Kind",
    "MemoryResults",
    "NoArgs",
    "Page",
    "PaginationMeta",
    "Paging",
    "Reply",
    "ResultStore",
    "ToolError",
    "ToolHandler",
    "ToolRegistry",
    "ToolResult",
    "ToolSpec",
    "Toolbox",
    "UnknownTool",
    "actor_id",
    "actor_label",
    "admin_tool",
    "build_handler_map",
    "capability_gap",
    "coerce_pagination",
    "dump_many",
    "err",
    "error_invalid_input",
    "error_not_found",
    "error_not_implemented",
    "get_optional_str",
    "log_handler_argument_invalid",
    "log_handler_guardrail_violated",
    "log_handler_invoke_failed",
    "make_handlers_for_tools",
    "make_placeholder_handler",
    "not_supported",
    "ok",
    "paginate_sequence",
    "parse_str_sequence",
    "parse_time_window",
    "read_tool",
    "require_actor_id",
    "require_admin_guardrails",
    "require_arg",
    "require_dict",
    "require_non_blank",
    "service_fallback",
    "under_contract",
    "with_handler",
    "with_handlers",
    "write_tool",
]
