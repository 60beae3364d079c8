"""Agents, in the explicit form without models: the schema is written out, and each field is read by a helper."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from backoffice.app_state import AppState
from backoffice.domain.agents import Agent, AgentStatus, Workload
from backoffice.handlers.answering import Arguments, answering, page_of
from backoffice.handlers.outputs import list_schema, schema_of
from backoffice.handlers.written_schemas import KEY, NEW_KEY, PAGING, TEXT, closed
from handfast.toolkit import (
    ArgumentValidationError,
    ToolHandler,
    ToolSpec,
    admin_tool,
    coerce_pagination,
    get_optional_str,
    ok,
    parse_str_sequence,
    read_tool,
    require_admin_guardrails,
    require_non_blank,
    write_tool,
)

_AGENT: Final = schema_of(Agent)
_BY_ID: Final = closed({"id": KEY}, required=("id",))
_SKILL: Final = {"type": "string", "minLength": 1, "maxLength": 80, "pattern": r"\S"}

AGENT_TOOLS: Final[tuple[ToolSpec, ...]] = (
    read_tool(
        "agents_list",
        "List agents by their ids.",
        input_schema=closed(
            {
                "status": {
                    "enum": [status.value for status in AgentStatus],
                    "description": "Only agents in this state.",
                },
                "skill": {**_SKILL, "description": "Only agents who can do this."},
                **PAGING,
            }
        ),
        output_schema=list_schema(Agent),
    ),
    read_tool("agents_get", "Show one agent.", input_schema=_BY_ID, output_schema=_AGENT),
    read_tool(
        "agents_workload", "Count the tasks of an agent.", input_schema=_BY_ID, output_schema=schema_of(Workload)
    ),
    write_tool(
        "agents_register",
        "Register an agent, who is active at once.",
        input_schema=closed(
            {
                "id": NEW_KEY,
                "role": {**TEXT, "description": "What the agent is there for."},
                "skills": {
                    "type": "array",
                    "items": _SKILL,
                    "maxItems": 50,
                    "description": "What the agent can do.",
                },
            },
            required=("id", "role"),
        ),
        output_schema=_AGENT,
    ),
    write_tool(
        "agents_set_status",
        "Pause an agent, or let it go on.",
        input_schema=closed(
            {"id": KEY, "status": {"enum": ["active", "paused"], "description": "What the agent is to be."}},
            required=("id", "status"),
        ),
        output_schema=_AGENT,
        is_idempotent=True,
    ),
    admin_tool("agents_retire", "Retire an agent for good.", input_schema=_BY_ID, output_schema=_AGENT),
)


@answering
async def _agents_list(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    offset, limit = coerce_pagination(arguments)
    status = get_optional_str(arguments, "status")
    items, total = await app_state.agents.page(
        status=_status(status) if status else None,
        skill=get_optional_str(arguments, "skill"),
        offset=offset,
        limit=limit,
    )
    return page_of(items, total, offset=offset, limit=limit)


@answering
async def _agents_get(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    return ok(await app_state.agents.get(require_non_blank(arguments, "id")))


@answering
async def _agents_workload(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    return ok(await app_state.agents.workload(require_non_blank(arguments, "id")))


@answering
async def _agents_register(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    agent = await app_state.agents.register(
        require_non_blank(arguments, "id"),
        role=require_non_blank(arguments, "role"),
        skills=parse_str_sequence(arguments, "skills") or (),
    )
    return ok(agent)


@answering
async def _agents_set_status(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    status = _status(require_non_blank(arguments, "status"))
    return ok(await app_state.agents.set_status(require_non_blank(arguments, "id"), status))


@answering
async def _agents_retire(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    require_admin_guardrails(arguments, actor)
    return ok(await app_state.agents.retire(require_non_blank(arguments, "id")))


def _status(text: str) -> AgentStatus:
    """Raises: ArgumentValidationError."""
    try:
        return AgentStatus(text)
    except ValueError:
        raise ArgumentValidationError("status", "status of an agent") from None


AGENT_HANDLERS: Final[Mapping[str, ToolHandler]] = MappingProxyType(
    {
        "agents_list": _agents_list,
        "agents_get": _agents_get,
        "agents_workload": _agents_workload,
        "agents_register": _agents_register,
        "agents_set_status": _agents_set_status,
        "agents_retire": _agents_retire,
    }
)
