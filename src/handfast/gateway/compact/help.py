"""What the dispatcher's help says: every action in a line, those that a word is found in, or one action whole. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from handfast.core.contract import ToolContract
from handfast.core.redaction import scrub_names
from handfast.gateway.compact.offer import help_form, one_line

_MOST_CHARACTERS = 32_000  # some eight thousand tokens: three hundred actions
_WORDS = 120


def render_overview(tools: Mapping[str, ToolContract], *, found: str, ignored: Sequence[str], is_whole: bool) -> str:
    """All actions, or those with a word in their name or description."""
    word = found.casefold()
    wanted = [t for t in tools.values() if word in t.name.casefold() or word in t.description.casefold()]
    lines, left = _fitting([f"- {tool.name}: {one_line(tool.description, _WORDS)}".rstrip(": ") for tool in wanted])
    head = f"{len(wanted)} of {len(tools)} actions" if word else f"{len(tools)} actions"
    text = "\n".join([f"{head}{':' if lines else '.'}", *lines])
    if left or not is_whole:
        how = '{"action": "help", "arguments": {"find": WORD}}'
        text += f"\n{f'{left} more' if left else 'There are more'}. Narrow the list with {how}."
    return "\n".join([text, *_closing(tools, ignored)])


def render_action(tool: ToolContract, *, ignored: Sequence[str]) -> str:
    """One action as JSON: what its server says about it, the schemas as the server wrote them."""
    parts: dict[str, Any] = {"action": tool.name, "description": tool.description}  # Any: JSON
    raw = {"inputSchema": tool.input_schema, "outputSchema": tool.output_schema, "annotations": tool.annotations}
    parts |= {key: msgspec.Raw(value) for key, value in raw.items() if value is not None}
    if ignored:
        parts["ignored"] = scrub_names(ignored)
    return msgspec.json.encode(parts).decode()


def _fitting(lines: list[str]) -> tuple[list[str], int]:
    length = 0
    for count, line in enumerate(lines):
        length += len(line) + 1
        if length > _MOST_CHARACTERS:
            return lines[:count], len(lines) - count
    return lines, 0


def _closing(tools: Mapping[str, ToolContract], ignored: Sequence[str]) -> list[str]:
    lines = [f'The fields of one: {help_form(tools)}. To call it: {{"action": NAME, "arguments": {{its fields}}}}.']
    if ignored:
        lines.append(f"Nothing was called. Ignored arguments: {', '.join(scrub_names(ignored))}.")
    return lines
