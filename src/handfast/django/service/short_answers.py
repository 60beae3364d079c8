"""Lean answers to writes: instead of a large row, its key and the fields that the call sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from handfast.django.conf import LeanWrites
from handfast.django.discovery import ViewTool
from handfast.toolkit.running.json_text import write_json

_WRITES: Final = ("POST", "PUT", "PATCH")
_KEYS: Final = ("id", "pk", "uuid", "url", "slug")
_SHORT_BYTES: Final = 1024
_ABOUT: Final = "An answer that would be large has only the key and what was sent; read the rest."


@dataclass(frozen=True, slots=True)
class LeanForm:
    """The lean form of a tool that writes and answers with its row, made once for each."""

    keys: frozenset[str]  # members that are always sent
    whole_bytes: int  # an answer up to this size is sent whole
    output_schema: Mapping[str, Any]  # Any: JSON Schema

    def of(self, answer: Any, sent: Mapping[str, Any]) -> Any:  # Any: JSON
        if not isinstance(answer, dict) or not self.keys & answer.keys() or self._fits(answer):
            return answer
        return {key: value for key, value in answer.items() if key in self.keys or (key in sent and _is_short(value))}

    def of_each(self, answers: Sequence[Any], sent: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The answers for a list of objects: all of them whole, or all of them lean."""
        if self._fits(answers):
            return list(answers)
        least = replace(self, whole_bytes=0)
        return [least.of(answer, item) for answer, item in zip(answers, sent, strict=True)]

    def _fits(self, value: object) -> bool:
        return len(write_json(value)) <= self.whole_bytes


def _is_short(value: object) -> bool:
    return len(write_json(value)) <= _SHORT_BYTES


def lean_form(tool: ViewTool, when: LeanWrites, piece_bytes: int) -> LeanForm | None:
    """None where answers are sent as they are: a read, a tool with an unknown answer, or a row without a key."""
    if when == "never" or tool.method not in _WRITES or tool.kind == "read":
        return None
    root = _root(tool.output_schema)
    properties = root.get("properties", {})
    lookups = {each.name for each in tool.path.parameters if each.is_lookup}
    keys = frozenset(key for key in (*_KEYS, *lookups) if key in properties)
    if root.get("type") != "object" or not keys:
        return None
    required = [key for key in root.get("required", ()) if key in keys]
    described = " ".join(filter(None, (root.get("description"), _ABOUT)))
    loose = {key: part for key, part in root.items() if key != "required"}
    definitions = {key: tool.output_schema[key] for key in ("$defs",) if key in tool.output_schema}
    schema = {**loose, **({"required": required} if required else {}), "description": described, **definitions}
    return LeanForm(keys, 0 if when == "always" else piece_bytes, schema)


def _root(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref", "")
    found = schema.get("$defs", {}).get(str(reference).removeprefix("#/$defs/"))
    return found if isinstance(found, dict) else schema
