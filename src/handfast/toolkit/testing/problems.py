"""Problem: one way in which a tool breaks its contract, described so that its author can reproduce it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_MOST_SHOWN = 500  # characters of arguments; longer ones are better inspected in a debugger
_MOST_NAMES = 12


@dataclass(frozen=True, slots=True)
class Problem:
    """A breach. `arguments` show it and are made from the schema, so they are not user data; None needs no call."""

    tool: str
    what: str
    arguments: Any = None  # Any: JSON

    @property
    def shape(self) -> str:
        """The shape of the arguments, such as `{id: integer, tags: [string, 2 in all]}`."""
        return shape_of(self.arguments)

    @property
    def reproduce(self) -> str:
        return _cut(f'await tools.dispatch("{self.tool}", {self.arguments!r})')

    def __str__(self) -> str:
        if self.arguments is None:
            return f"{self.tool}: {self.what}"
        return f"{self.tool}: {self.what}\n    arguments: {self.shape}\n    reproduce: {self.reproduce}"


def report(server: str, problems: Sequence[Problem]) -> str:
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return "\n".join([f"The tools of '{server}' break their contract, {count}:", *(f"- {each}" for each in problems)])


def shape_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string" if value else "empty string"
        case list():
            return _list_shape(value)
        case dict():
            return _object_shape(value)
        case _:
            return type(value).__name__


def _list_shape(value: list[Any]) -> str:  # Any: JSON
    if not value:
        return "[]"
    return f"[{shape_of(value[0])}]" if len(value) == 1 else f"[{shape_of(value[0])}, {len(value)} in all]"


def _object_shape(value: dict[str, Any]) -> str:  # Any: JSON
    shown = [f"{name}: {shape_of(inner)}" for name, inner in list(value.items())[:_MOST_NAMES]]
    return "{" + ", ".join([*shown, *(["…"] if len(value) > _MOST_NAMES else [])]) + "}"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}… ({len(text)} characters)"
