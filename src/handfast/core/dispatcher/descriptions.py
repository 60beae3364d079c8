"""A dispatcher's description, schema and list of actions, bounded in length however many tools it has."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from handfast.core.dispatcher.checks import HELP

# The most that actions take up in the description, about a thousand tokens: forty actions with a few words each, or
# two hundred bare names. docs/compact.md has what measured servers need.
_MOST_CHARACTERS = 4000
_MOST_WORDS = 80  # characters of text for one action; first sentences of real descriptions are rarely longer
_FEWEST_WORDS = 16  # a shorter text says too little
_MOST_LISTED = 32_000  # characters of an overview, some eight thousand tokens: three hundred actions
_LISTED_WORDS = 120
_HELP_ACTION = '{"action": "help", "arguments": {"action": NAME}}'
_HELP_FLAG = '{"action": NAME, "help": true}'
_END_OF_SENTENCE = re.compile(r"(?<=[^.\s])[.!?](?=\s)")

NARROW = '{"action": "help", "arguments": {"find": WORD}}'


def one_line(description: str, most: int = _MOST_WORDS) -> str:
    """The first sentence of a description on one line, cut if it is too long."""
    words = " ".join(description[: most * 4].split())
    end = _END_OF_SENTENCE.search(words)
    if end is not None:
        words = words[: end.start()]
    words = "".join(c if c.isprintable() else "?" for c in words.rstrip("."))
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def help_form(names: Collection[str]) -> str:
    """The call that explains one action. If a tool is named `help`, the flag form is used instead of that action."""
    return _HELP_FLAG if HELP in names else _HELP_ACTION


def how_to_call(names: Collection[str]) -> str:
    return f'The fields of one: {help_form(names)}. To call it: {{"action": NAME, "arguments": {{its fields}}}}.'


def render_use(described: Mapping[str, str]) -> str:
    """The part of a dispatcher's description after its first sentence: how to call it, and its actions."""
    return (
        'Call one with {"action": NAME, "arguments": {its fields}}. Unless its fields are known, ask for them first'
        f" with {help_form(described)}.\nActions:{_render_actions(described)}"
    )


def _render_actions(described: Mapping[str, str]) -> str:
    """The actions for a description: with a few words each if there is room, else all names, else as many as fit."""
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
    """The actions with `word` in name or description, one line each for an overview, and the number left out."""
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
    """A dispatcher's input schema. `arguments` is open, because each action's own schema judges them."""
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
