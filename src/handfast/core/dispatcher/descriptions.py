"""How a dispatcher is described and how it lists its actions: bounded, whatever stands behind it."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from handfast.core.dispatcher.checks import HELP

# What the actions take up in the description at most, about a thousand tokens: forty actions with their words, or
# two hundred bare names. What the measured servers need is in docs/compact.md.
_MOST_CHARACTERS = 4000
_MOST_WORDS = 80  # characters for one action; the first sentences of real descriptions are rarely longer
_FEWEST_WORDS = 16  # fewer say nothing
_MOST_LISTED = 32_000  # characters of an overview, some eight thousand tokens: three hundred actions
_LISTED_WORDS = 120
_HELP_ACTION = '{"action": "help", "arguments": {"action": NAME}}'
_HELP_FLAG = '{"action": NAME, "help": true}'
_END_OF_SENTENCE = re.compile(r"(?<=[^.\s])[.!?](?=\s)")

NARROW = '{"action": "help", "arguments": {"find": WORD}}'


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


def how_to_call(names: Collection[str]) -> str:
    return f'The fields of one: {help_form(names)}. To call it: {{"action": NAME, "arguments": {{its fields}}}}.'


def render_use(described: Mapping[str, str]) -> str:
    """What a dispatcher's description says after its first sentence: how it is called, and what there is."""
    return (
        'Call one with {"action": NAME, "arguments": {its fields}}. Unless its fields are known, ask for them first'
        f" with {help_form(described)}.\nActions:{_render_actions(described)}"
    )


def _render_actions(described: Mapping[str, str]) -> str:
    """For a description: a few words each where there is room for them, else names alone, else as many as fit."""
    names = sum(len(name) for name in described)
    room = (_MOST_CHARACTERS - names) // max(len(described), 1) - len("\n- : ")
    if room >= _FEWEST_WORDS:
        most = min(room, _MOST_WORDS)
        return "".join(f"\n- {_with_words(name, said, most)}" for name, said in described.items())
    shown: list[str] = []
    length = 0
    for name in described:
        length += len(name) + len(", ")
        if length > _MOST_CHARACTERS:
            rest = f"and {len(described) - len(shown)} more, which help lists"
            return f" {', '.join([*shown, rest])}."
        shown.append(name)
    return f" {', '.join(shown)}."


def _with_words(name: str, said: str, most: int) -> str:
    words = one_line(said, most)
    return f"{name}: {words}" if words else name


def list_actions(described: Mapping[str, str], word: str) -> tuple[dict[str, str], int]:
    """For an overview: the actions with a word in their name or description, a line each, and how many are left out."""
    folded = word.casefold()
    wanted = [(n, said) for n, said in described.items() if folded in n.casefold() or folded in said.casefold()]
    shown: dict[str, str] = {}
    length = 0
    for name, said in wanted:
        line = one_line(said, _LISTED_WORDS)
        length += len(name) + len(line) + len("- : \n")
        if length > _MOST_LISTED:
            break
        shown[name] = line
    return shown, len(wanted) - len(shown)


def dispatcher_schema(names: Collection[str]) -> dict[str, Any]:  # Any: JSON Schema
    """What a dispatcher takes. `arguments` is open: each action has its own schema, which judges them."""
    properties: dict[str, Any] = {"action": {"type": "string"}}  # Any: as above
    if any("__" in name for name in names):
        words = "optional: RESOURCE with the action ACTION is the action RESOURCE__ACTION"
        properties["resource"] = {"type": "string", "description": words}
    properties["arguments"] = {
        "type": "object",
        "description": "the fields of the action, flat",
        "additionalProperties": True,
    }
    properties["help"] = {"type": "boolean", "description": "explain the action instead of calling it"}
    return {"type": "object", "properties": properties, "required": ["action"], "additionalProperties": False}
