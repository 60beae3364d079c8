"""The one tool that a compact server offers: its name, its description, its schema, its annotations. Pure."""

import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from handfast.core.call.contract import ToolContract
from handfast.core.dispatcher.descriptions import dispatcher_schema, render_use
from handfast.core.words.redaction import scrub_name

_LONGEST_NAME = 64  # what the providers of models accept


def dispatcher_name(server: str) -> str:
    """The server's name with illegal characters replaced; at `/mcp` the server's prefix makes it unique."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", server)[:_LONGEST_NAME] or "server"


def render_tool(server: str, tools: Mapping[str, ToolContract]) -> dict[str, Any]:  # Any: JSON
    """The one entry of tools/list. It has no output schema: every action has its own."""
    return {
        "name": dispatcher_name(server),
        "description": render_description(server, tools),
        "inputSchema": dispatcher_schema(tools),
        "annotations": _annotations(tools.values()),
    }


def render_description(server: str, tools: Mapping[str, ToolContract]) -> str:
    use = render_use({name: tool.description for name, tool in tools.items()})
    return f"The {len(tools)} tools of the server {scrub_name(server)}. {use}"


class _Hints(msgspec.Struct, rename="camel"):
    read_only_hint: bool | None = None
    open_world_hint: bool | None = None


def _annotations(tools: Collection[ToolContract]) -> dict[str, bool]:
    """The hints that hold for every action; where one action may write, the dispatcher counts as destructive."""
    hints = [_read_hints(tool) for tool in tools]
    is_read_only = all(hint.read_only_hint is True for hint in hints)
    found = {"readOnlyHint": is_read_only, "destructiveHint": not is_read_only}
    if all(hint.open_world_hint is False for hint in hints):
        found["openWorldHint"] = False
    return found


def _read_hints(tool: ToolContract) -> _Hints:
    try:
        return msgspec.json.decode(tool.annotations or b"{}", type=_Hints)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Hints()
