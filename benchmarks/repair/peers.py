"""What peers answer to the same calls: FastMCP, the SDK's MCPServer and pydantic, with models made from schemas.

Runs in .parts/py, where they are: one JSON object on stdin, one on stdout. A tool that does not fit Python's types is
left out.
"""

import asyncio
import inspect
import json
import keyword
import logging
import sys
from datetime import date, datetime
from typing import Annotated, Any, Literal, Union
from uuid import UUID

from fastmcp import Client as FastMCPClient
from fastmcp import FastMCP
from mcp import Client as SdkClient
from mcp.server import MCPServer
from pydantic import AnyUrl, BaseModel, ConfigDict, EmailStr, Field, ValidationError, create_model

Json = dict[str, Any]  # Any: JSON
_FORMATS = {"date": date, "date-time": datetime, "uri": AnyUrl, "email": EmailStr, "uuid": UUID}
_SCALARS = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
_LIMITS = {
    "minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt", "multipleOf": "multiple_of",
    "minLength": "min_length", "maxLength": "max_length", "minItems": "min_length", "maxItems": "max_length",
    "pattern": "pattern",
}  # fmt: skip
_KNOWN = {
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf", "allOf",
    "$ref", "$defs", "definitions", "format", "propertyNames", *_LIMITS,
}  # fmt: skip


class Unfit(Exception):
    """A schema outside the common subset."""


class Models:
    """Python types with equal meaning, as an author would write them."""

    def __init__(self, root: Json) -> None:
        self.root = root
        self.known: dict[str, Any] = {}
        self.count = 0

    def type(self, schema: Any) -> Any:  # noqa: C901 - a line for each keyword; Any: JSON, then a type
        if schema is True or schema == {}:
            return Any
        if not isinstance(schema, dict) or schema.keys() - _KNOWN:
            raise Unfit(f"unknown keywords {sorted(schema.keys() - _KNOWN) if isinstance(schema, dict) else schema}")
        if "$ref" in schema:
            return self.referred(schema["$ref"])
        if "allOf" in schema:
            if len(schema["allOf"]) != 1:
                raise Unfit("allOf")
            return self.type(schema["allOf"][0])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                if "properties" in schema:
                    raise Unfit(key)
                return Union[tuple(self.type(part) for part in schema[key])]  # noqa: UP007 - made from a list
        if "const" in schema:
            return Literal[schema["const"]]
        if "enum" in schema:
            return Literal[tuple(schema["enum"])]
        kind = schema.get("type", "object" if "properties" in schema else None)
        if isinstance(kind, list):
            return Union[tuple(self.type({**schema, "type": one}) for one in kind)]  # noqa: UP007 - made from a list
        if kind is None:
            return Any
        return self.limited(schema, self.plain(kind, schema))

    def plain(self, kind: str, schema: Json) -> Any:
        if kind == "object":
            return (
                self.model(schema)
                if schema.get("properties")
                else dict[str, self.type(schema.get("additionalProperties") or True)]
            )
        if kind == "array":
            return list[self.type(schema.get("items", True))]
        if "format" in schema:
            return _FORMATS[schema["format"]]
        return _SCALARS[kind]

    def limited(self, schema: Json, plain: Any) -> Any:
        limits = {ours: schema[theirs] for theirs, ours in _LIMITS.items() if theirs in schema}
        return Annotated[plain, Field(**limits)] if limits else plain

    def referred(self, reference: str) -> Any:
        if reference not in self.known:
            self.known[reference] = None
            target: Any = self.root
            for part in reference.removeprefix("#/").split("/"):
                target = target[part]
            self.known[reference] = self.type(target)
        if self.known[reference] is None:
            raise Unfit("recursive")
        return self.known[reference]

    def model(self, schema: Json) -> Any:
        required = schema.get("required", [])
        fields: Json = {}
        for count, (name, part) in enumerate(schema["properties"].items()):
            default = {} if name in required else {"default": None}
            fields[f"f{count}_"] = (self.type(part), Field(alias=name, **default))
            if is_plain(name):
                fields[name] = (fields.pop(f"f{count}_")[0], Field(**default))
        self.count += 1
        extra = "forbid" if schema.get("additionalProperties") is False else "allow"
        return create_model(f"Model{self.count}", __config__=ConfigDict(extra=extra), **fields)

    def parameters(self) -> list[inspect.Parameter]:
        if self.root.keys() & {"anyOf", "oneOf", "allOf", "$ref"} or self.root.get("additionalProperties") is True:
            raise Unfit("the root is more than properties")
        required = self.root.get("required", [])
        found = []
        for name, part in self.root.get("properties", {}).items():
            if not is_plain(name):
                raise Unfit("a name that no parameter can have")
            default = inspect.Parameter.empty if name in required else None
            kind = inspect.Parameter.KEYWORD_ONLY
            found.append(inspect.Parameter(name, kind, annotation=self.type(part), default=default))
        return found


def is_plain(name: str) -> bool:
    taken = hasattr(BaseModel, name) or name.startswith("_")
    return name.isidentifier() and not keyword.iskeyword(name) and not taken


def make_function(schema: Json) -> Any:
    """A tool that tells what it was called with. Raises: Unfit."""
    parameters = Models(schema).parameters()

    def tool(**given: Any) -> str:
        return json.dumps({name: plain(value) for name, value in given.items()}, default=str)

    tool.__signature__ = inspect.Signature(parameters, return_annotation=str)
    tool.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": str}
    return tool


def plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, list):
        return [plain(part) for part in value]
    return {key: plain(part) for key, part in value.items()} if isinstance(value, dict) else value


def pydantic_answer(model: type[BaseModel], arguments: Json) -> Json:
    try:
        read = model.model_validate(arguments)
    except ValidationError as problem:
        return {"error": str(problem)}
    return {"read": read.model_dump(mode="json", by_alias=True, exclude_unset=True)}


async def tool_answer(client: Any, key: str, arguments: Json, **options: Any) -> Json:
    answer = await client.call_tool(key, arguments, **options)
    text = "".join(block.text for block in answer.content)
    return {"error": text} if answer.is_error else {"read": json.loads(text)}


async def main() -> None:
    logging.disable(logging.CRITICAL)
    asked = json.load(sys.stdin)
    servers, models, unfit = (FastMCP("peer"), MCPServer("peer")), {}, {}
    for key, schema in asked["tools"].items():
        try:
            servers[0].tool(make_function(schema), name=key)
            servers[1].tool(name=key)(make_function(schema))
            models[key] = Models(schema).model({"properties": {}, "additionalProperties": False, **schema})
        except (Unfit, KeyError, TypeError, ValueError, RecursionError) as problem:
            unfit[key] = f"{type(problem).__name__}: {problem}"[:120]
    answers = []
    async with FastMCPClient(servers[0]) as fastmcp, SdkClient(servers[1]) as sdk:
        for key, arguments in asked["calls"]:
            if key in unfit:
                answers.append(None)
                continue
            answers.append(
                {
                    "fastmcp": await tool_answer(fastmcp, key, arguments, raise_on_error=False),
                    "sdk": await tool_answer(sdk, key, arguments),
                    "pydantic": pydantic_answer(models[key], arguments),
                }
            )
    json.dump({"unfit": unfit, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
