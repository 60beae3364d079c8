"""Which handler answers for which tool: read-only maps, put together without a name being lost."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from handfast.toolkit.writing.builders import ToolHandler
from handfast.toolkit.writing.status_envelope import not_supported

NOT_WIRED = "it is announced and has no handler yet"


def build_handler_map(*maps: Mapping[str, ToolHandler]) -> Mapping[str, ToolHandler]:
    """One read-only map of several.

    Raises:
        ValueError: two of them have a tool of the same name.
    """
    joined: dict[str, ToolHandler] = {}
    for handlers in maps:
        twice = sorted(joined.keys() & handlers.keys())
        if twice:
            message = f"Two handlers for the same tool: {', '.join(twice)}. Give each tool one."
            raise ValueError(message)
        joined.update(handlers)
    return MappingProxyType(joined)


def make_placeholder_handler(tool: str, reason: str = NOT_WIRED) -> ToolHandler:
    """A handler for a tool that has none: it answers that the tool is not supported."""

    async def answer_not_supported(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:  # noqa: ARG001  # Any: of the protocol
        return not_supported(tool, reason)

    return answer_not_supported


def make_handlers_for_tools(names: Iterable[str], reason: str = NOT_WIRED) -> Mapping[str, ToolHandler]:
    """Such a handler for each of these tools.

    Raises:
        ValueError: a name appears twice.
    """
    return build_handler_map(*({name: make_placeholder_handler(name, reason)} for name in names))
