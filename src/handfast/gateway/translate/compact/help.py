"""The texts of the dispatcher's help: one line for each action, or for those with a word, or one action whole. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from handfast.core.call.contract import ToolContract
from handfast.core.dispatcher.descriptions import NARROW, how_to_call, list_actions
from handfast.core.words.redaction import scrub_names


def render_overview(tools: Mapping[str, ToolContract], *, found: str, ignored: Sequence[str], is_whole: bool) -> str:
    """All actions, or those with a word in their name or description."""
    shown, left = list_actions({name: tool.description for name, tool in tools.items()}, found)
    lines = [f"- {name}: {words}".rstrip(": ") for name, words in shown.items()]
    head = f"{len(shown) + left} of {len(tools)} actions" if found else f"{len(tools)} actions"
    text = "\n".join([f"{head}{':' if lines else '.'}", *lines])
    if left or not is_whole:
        text += f"\n{f'{left} more' if left else 'There are more'}. Narrow the list with {NARROW}."
    return "\n".join([text, *_closing(tools, ignored)])


def render_action(tool: ToolContract, *, ignored: Sequence[str]) -> str:
    """One action as JSON: what its server says about it, the schemas as the server wrote them."""
    parts: dict[str, Any] = {"action": tool.name, "description": tool.description}  # Any: JSON
    raw = {"inputSchema": tool.input_schema, "outputSchema": tool.output_schema, "annotations": tool.annotations}
    parts |= {key: msgspec.Raw(value) for key, value in raw.items() if value is not None}
    if ignored:
        parts["ignored"] = scrub_names(ignored)
    return msgspec.json.encode(parts).decode()


def _closing(tools: Mapping[str, ToolContract], ignored: Sequence[str]) -> list[str]:
    lines = [how_to_call(tools)]
    if ignored:
        lines.append(f"Nothing was called. Ignored arguments: {', '.join(scrub_names(ignored))}.")
    return lines
