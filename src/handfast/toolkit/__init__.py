"""The toolkit for MCP servers whose tools keep their contracts: its public names."""

from handfast.core.answers.codes import CodeBook, DeclaredCode
from handfast.core.answers.envelopes import Envelope
from handfast.core.answers.errors import (
    ErrorCode,
    ToolError,
    error_invalid_input,
    error_not_found,
    error_not_implemented,
)
from handfast.toolkit.adapters.under_contract import under_contract
from handfast.toolkit.registry import ToolRegistry, UnknownTool
from handfast.toolkit.running.dispatch import Answer, ToolCaller
from handfast.toolkit.running.kept_results import CutResult, MemoryResults, ResultStore
from handfast.toolkit.toolbox import Toolbox
from handfast.toolkit.writing.actor import Actor
from handfast.toolkit.writing.argument_checks import (
    ArgumentValidationError,
    GuardrailViolationError,
    actor_id,
    actor_label,
    coerce_pagination,
    get_optional_str,
    parse_str_sequence,
    parse_time_window,
    require_actor_id,
    require_admin_guardrails,
    require_arg,
    require_dict,
    require_non_blank,
)
from handfast.toolkit.writing.builders import (
    ToolHandler,
    admin_tool,
    build_handler_map,
    make_handlers_for_tools,
    make_placeholder_handler,
    read_tool,
    with_handler,
    with_handlers,
    write_tool,
)
from handfast.toolkit.writing.call import Args, Call, NoArgs
from handfast.toolkit.writing.handler_log import (
    log_handler_argument_invalid,
    log_handler_guardrail_violated,
    log_handler_invoke_failed,
)
from handfast.toolkit.writing.pages import Page, PaginationMeta, Paging, dump_many, paginate_sequence
from handfast.toolkit.writing.reply import Reply, ToolResult
from handfast.toolkit.writing.schemas import ContractError
from handfast.toolkit.writing.spec import Kind, ToolSpec
from handfast.toolkit.writing.status_envelope import capability_gap, err, not_supported, ok, service_fallback

__all__ = [
    "Actor",
    "Answer",
    "Args",
    "ArgumentValidationError",
    "Call",
    "CodeBook",
    "ContractError",
    "CutResult",
    "DeclaredCode",
    "Envelope",
    "ErrorCode",
    "GuardrailViolationError",
    "Kind",
    "MemoryResults",
    "NoArgs",
    "Page",
    "PaginationMeta",
    "Paging",
    "Reply",
    "ResultStore",
    "ToolCaller",
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
