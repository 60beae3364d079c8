"""The one tool that a compact server offers: its name, its description, its schema, its annotations. Pure."""

import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from handfast.core.contract import ToolContract
from handfast.core.dispatch import HELP
from handfast.core.redaction import scrub_name

_LONGEST_NAME = 64  # what the providers of models accept
# What the actions take up in the description at most, about a thousand tokens: forty actions with their words, or
# two hundred bare names. What the measured servers need is in docs/compact.md.
_MOST_CHARACTERS = 4000
_MOST_WORDS = 80  # characters for one action; the first sentences of real descriptions are rarely longer
_FEWEST_WORDS = 16  # fewer say nothing
_HELP_ACTION = '{"action": "help", "arguments": {"action": NAME}}'
_HELP_FLAG = '{"action": NAME, "help": true}'
_END_OF_SENTENCE = re.compile(r"(?<=[^.\s])[.!?](?=\s)")


def dispatcher_name(server: str) -> str:
    """The server's name, with what a tool's name may not have replaced: unique wherever servers stand side by side."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", server)[:_LONGEST_NAME] or "server"


def render_tool(server: str, tools: Mapping[str, ToolContract]) -> dict[str, Any]:  # Any: JSON
    """What tools/list answers. No output schema: every action has its own."""
    return {
        "name": dispatcher_name(server),
        "description": render_description(server, tools),
        "inputSchema": _input_schema(tools),
        "annotations": _annotations(tools.values()),
    }


def render_description(server: str, tools: Mapping[str, ToolContract]) -> str:
    head = (
        f"The {len(tools)} tools of the server {scrub_name(server)}. Call one with"
        ' {"action": NAME, "arguments": {its fields}}. Unless its fields are known, ask for them first with'
        f" {help_form(tools)}.\nActions:"
    )
    return head + _render_actions(tools)


def one_line(description: str, most: int = _MOST_WORDS) -> str:
    """The first sentence, on one line, cut where it is too long."""
    words = " ".join(description[: most * 4].split())
    end = _END_OF_SENTENCE.search(words)
    if end is not None:
        words = words[: end.start()]
    words = "".join(c if c.isprintable() else "?" for c in words.rstrip("."))
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def help_form(names: Collection[str]) -> str:
    """How one action's fields are asked for. A tool that is itself called `help` is that tool."""
    return _HELP_FLAG if HELP in names else _HELP_ACTION


def _render_actions(tools: Mapping[str, ToolContract]) -> str:
    """With a few words each where there is room for them, else names alone, else as many names as fit."""
    names = sum(len(name) for name in tools)
    room = (_MOST_CHARACTERS - names) // max(len(tools), 1) - len("\n- : ")
    if room >= _FEWEST_WORDS:
        return "".join(f"\n- {_with_words(tool, min(room, _MOST_WORDS))}" for tool in tools.values())
    shown: list[str] = []
    length = 0
    for name in tools:
        length += len(name) + len(", ")
        if length > _MOST_CHARACTERS:
            rest = f"and {len(tools) - len(shown)} more, which help lists"
            return f" {', '.join([*shown, rest])}."
        shown.append(name)
    return f" {', '.join(shown)}."


def _with_words(tool: ToolContract, most: int) -> str:
    words = one_line(tool.description, most)
    return f"{tool.name}: {words}" if words else tool.name


def _input_schema(tools: Mapping[str, ToolContract]) -> dict[str, Any]:  # Any: JSON
    properties: dict[str, Any] = {"action": {"type": "string"}}  # Any: JSON
    if any("__" in name for name in tools):
        words = "optional: RESOURCE with the action ACTION is the action RESOURCE__ACTION"
        properties["resource"] = {"type": "string", "description": words}
    properties["arguments"] = {
        "type": "object",
        "description": "the fields of the action, flat",
        "additionalProperties": True,
    }
    properties["help"] = {"type": "boolean", "description": "explain the action instead of calling it"}
    return {"type": "object", "properties": properties, "required": ["action"], "additionalProperties": False}


class _Hints(msgspec.Struct, rename="camel"):
    read_only_hint: bool | None = None
    open_world_hint: bool | None = None


def _annotations(tools: Collection[ToolContract]) -> dict[str, bool]:
    """What holds for every action; where one may write, the dispatcher may destroy."""
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
