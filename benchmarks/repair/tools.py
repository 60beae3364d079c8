"""The tools that are called: schemas as real servers list them, without their prose, and a valid call for each."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any, Final

from jsonschema import Draft202012Validator, FormatChecker  # type: ignore[import-untyped]  # it has none

Json = dict[str, Any]  # Any: JSON

_LISTED: Final = Path(__file__).with_name("tools.jsonl")
_WORDS: Final = ("alpha", "bravo", "delta", "golf", "hotel", "kilo", "lima", "oscar", "quebec", "tango")
_FORMATS: Final = {
    "date": "2026-03-17",
    "date-time": "2026-03-17T09:30:00Z",
    "uri": "https://example.com/page",
    "email": "ada@example.com",
    "uuid": "0b6f3c1e-8f0a-4c5e-9d43-1f2a7b8c9d0e",
}
_CHECKER: Final = FormatChecker()
_CHECKER.checks("uri")(lambda value: not isinstance(value, str) or bool(re.match(r"[a-z][a-z0-9+.-]*:", value)))
_DEEPEST: Final = 6
_MOST_OPTIONAL: Final = 0.6  # of an object's optional fields


class NoCall(Exception):
    """A schema for which no valid call is made here; it is left out and counted."""


@dataclass(frozen=True)
class Tool:
    server: str
    name: str
    schema: Json  # read strictly: an object with properties has no others, unless it says that it may

    @property
    def key(self) -> str:
        return f"{self.server}/{self.name}"

    @cached_property
    def validator(self) -> Draft202012Validator:
        return Draft202012Validator(self.schema, format_checker=_CHECKER)

    def accepts(self, arguments: object) -> bool:
        return bool(self.validator.is_valid(arguments))

    def valid_call(self, source: Random) -> Json:
        """Raises: NoCall."""
        for _ in range(20):
            made = Sampler(self.schema, source).value(self.schema)
            if isinstance(made, dict) and self.accepts(made):
                return made
        raise NoCall("none of twenty calls is valid")

    @property
    def has_call(self) -> bool:
        try:
            self.valid_call(Random(0))
        except NoCall:
            return False
        return True


def read_tools() -> list[Tool]:
    listed = [json.loads(line) for line in _LISTED.read_text("utf-8").splitlines()]
    return [Tool(one["server"], one["tool"], closed(one["schema"])) for one in listed]


def closed(schema: Any) -> Any:  # Any: JSON
    """The same schema, with unknown keys refused wherever it names keys and says nothing of others."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    read = {
        key: part if key in ("enum", "const", "required") else _closed_part(key, part) for key, part in schema.items()
    }
    if "properties" in read and "additionalProperties" not in read:
        read["additionalProperties"] = False
    return read


def _closed_part(key: str, part: Any) -> Any:  # Any: JSON
    if key in ("properties", "$defs", "definitions") and isinstance(part, dict):
        return {name: closed(inner) for name, inner in part.items()}
    return closed(part)


class Sampler:
    """Draws plain values that meet a schema, as far as its keywords are the common ones. Raises: NoCall."""

    def __init__(self, root: Json, source: Random) -> None:
        self.root = root
        self.source = source

    def value(self, schema: Any, depth: int = 0) -> Any:  # Any: JSON
        schema = resolve(schema, self.root)
        if depth > _DEEPEST:
            raise NoCall("too deep")
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.source.choice(schema["enum"])
        for key in ("anyOf", "oneOf"):
            if key in schema and "properties" not in schema:
                useful = [part for part in schema[key] if resolve(part, self.root).get("type") != "null"]
                return self.value(self.source.choice(useful), depth)
        kind = schema.get("type", "object" if "properties" in schema else "string")
        if isinstance(kind, list):
            kind = next(name for name in kind if name != "null")
        made = {"object": self.object, "array": self.array, "string": self.text, "boolean": self.boolean}.get(kind)
        return made(schema, depth) if made else self.number(schema, is_integer=kind == "integer")

    def object(self, schema: Json, depth: int) -> Json:
        properties: Mapping[str, Any] = schema.get("properties", {})  # Any: JSON
        if not properties:
            return {self.word(): self.word()} if schema.get("additionalProperties") is not False else {}
        required = schema.get("required", [])
        share = _MOST_OPTIONAL / (depth + 1)
        names = [name for name in properties if name in required or self.source.random() < share]
        made: Json = {}
        for name in names or list(properties)[:1]:
            try:
                made[name] = self.value(properties[name], depth + 1)
            except NoCall:
                if name in required:
                    raise
        return made

    def array(self, schema: Json, depth: int) -> list[Any]:  # Any: JSON
        count = max(schema.get("minItems", 0), self.source.randint(1, 2))
        return [
            self.value(schema.get("items", {}), depth + 1) for _ in range(min(count, schema.get("maxItems", count)))
        ]

    def text(self, schema: Json, _: int) -> str:
        if "pattern" in schema:
            raise NoCall("a pattern")
        if "format" in schema:
            return _FORMATS[schema["format"]]
        made = self.word()
        while len(made) < schema.get("minLength", 0):
            made += f" {self.word()}"
        return made[: schema.get("maxLength", len(made))]

    def boolean(self, _: Json, __: int) -> bool:
        return self.source.random() < 0.5

    def number(self, schema: Json, *, is_integer: bool) -> int | float:
        lowest = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        highest = schema.get("maximum", schema.get("exclusiveMaximum", lowest + 10) - ("exclusiveMaximum" in schema))
        drawn = self.source.randint(int(lowest), max(int(lowest), min(int(highest), int(lowest) + 40)))
        return drawn if is_integer else min(drawn + 0.5, highest)

    def word(self) -> str:
        return self.source.choice(_WORDS)


def resolve(schema: Any, root: Json) -> Json:  # Any: JSON
    """Follow a local reference."""
    if not isinstance(schema, dict):
        return {}
    while "$ref" in schema:
        target: Any = root  # Any: JSON
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target.get(part, {})
        schema = {**target, **{key: said for key, said in schema.items() if key != "$ref"}}
    if list(schema.get("allOf", [])) and "properties" not in schema and len(schema["allOf"]) == 1:
        return resolve({**schema["allOf"][0], **{key: said for key, said in schema.items() if key != "allOf"}}, root)
    plain: Json = schema
    return plain
