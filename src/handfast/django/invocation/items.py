"""The objects of a list body, each held to the contract of a single call: a list is no way around it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from handfast.core.arguments import check_unknown
from handfast.core.declared import Declared, read_declared
from handfast.core.policy import InputPolicy, UnknownArguments
from handfast.core.schema import CompiledSchema, compile_schema
from handfast.django.discovery.assembly import OBJECTS
from handfast.django.discovery.drf_types import Json
from handfast.django.discovery.tool import ViewTool
from handfast.toolkit.json_text import write_json

_DEFAULT: Final = InputPolicy(unknown_arguments=UnknownArguments.REJECT_OBJECTS)


def item_problems(
    tool: ViewTool,
    items: Sequence[Any],  # Any: JSON
    policy: InputPolicy = _DEFAULT,
) -> Iterator[tuple[int, str]]:
    """Every object that the tool would not be called with, by its place, and why."""
    declared, schema = _contract(write_json(_item_schema(tool)))
    for index, item in enumerate(items):
        problem = _problem(item, declared, schema, policy)
        if problem is not None:
            yield index, problem


def _item_schema(tool: ViewTool) -> Json:
    """What one object must meet: all of the tool's arguments, or an item of the list that is its body."""
    if not tool.takes_list:
        return tool.input_schema
    item: Json = tool.input_schema["properties"][OBJECTS].get("items", {})
    return {**item, "$defs": tool.input_schema["$defs"]} if "$defs" in tool.input_schema else item


@lru_cache(maxsize=256)
def _contract(text: bytes) -> tuple[Declared, CompiledSchema | None]:
    """What is declared, and the schema where it can be judged by in place."""
    compiled = compile_schema(text)
    if isinstance(compiled, CompiledSchema) and compiled.validator is not None:
        return compiled.declared, compiled
    return read_declared(msgspec.json.decode(text)), None


def _problem(
    item: Any,  # Any: JSON
    declared: Declared,
    schema: CompiledSchema | None,
    policy: InputPolicy,
) -> str | None:
    if not isinstance(item, Mapping):
        return "must be an object"
    unknown = check_unknown(item, declared, policy)
    if unknown is not None:
        return unknown.message
    if schema is None or schema.is_valid(item):
        return None
    return "; ".join(schema.describe(item))
