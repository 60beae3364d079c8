"""All tools of the back office in one toolbox: both forms, written and described, in one registry."""

from collections.abc import Iterable, Mapping

from backoffice.app_state import AppState
from backoffice.domain.entities import Entity
from backoffice.handlers import approvals, budget, organisation
from backoffice.handlers.agents import AGENT_HANDLERS, AGENT_TOOLS
from backoffice.handlers.communication import COMMUNICATION_HANDLERS, COMMUNICATION_TOOLS
from backoffice.handlers.entities import definitions_of, handlers_of
from backoffice.handlers.tasks import TASK_HANDLERS, TASK_TOOLS
from handfast.core.call.exchange import Recorder
from handfast.toolkit import Envelope, Toolbox, ToolHandler, ToolSpec, build_handler_map

INSTRUCTIONS = (
    "A back office. Lists come in pages: go on with a larger offset until all of `pagination.total` is read. "
    "Tools that delete or override need a known caller, confirm: true and a reason."
)


def explicit_tools(entities: Iterable[Entity]) -> list[ToolSpec]:
    return [*TASK_TOOLS, *AGENT_TOOLS, *COMMUNICATION_TOOLS, *definitions_of(entities)]


def explicit_handlers(entities: Iterable[Entity]) -> Mapping[str, ToolHandler]:
    """Raises, where two domains have a tool of one name."""
    return build_handler_map(TASK_HANDLERS, AGENT_HANDLERS, COMMUNICATION_HANDLERS, handlers_of(entities))


def build_toolbox(app: AppState, *, entities: tuple[Entity, ...] = (), recorder: Recorder | None = None) -> Toolbox:
    """The written tools, and ten more for each entity."""
    tools = Toolbox(
        "backoffice",
        envelope=Envelope.STATUS,
        app=app,
        version="1.0.0",
        instructions=INSTRUCTIONS,
        recorder=recorder,
    )
    tools.add_all(explicit_tools(entities), explicit_handlers(entities))
    for domain in (approvals, budget, organisation):
        domain.register(tools)
    return tools
