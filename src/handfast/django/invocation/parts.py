"""Splits the arguments of a call as an HTTP caller would: into the path, the query and the body."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from handfast.core.answers.errors import error_invalid_input
from handfast.django.discovery.assembly import OBJECTS
from handfast.django.discovery.parameters.paths import PathRefused, UrlTarget
from handfast.django.discovery.tool import QueryParameter, ViewTool
from handfast.toolkit.running.json_text import write_json


@dataclass(frozen=True, slots=True)
class Parts:
    """The target, query and body of a call. `body` is JSON not yet serialized; without `has_body` there is none."""

    target: UrlTarget
    query: str
    body: Any  # Any: JSON
    has_body: bool


def split_arguments(tool: ViewTool, arguments: Mapping[str, Any]) -> Parts:  # Any: JSON
    """Splits the arguments of one call. Raises: ToolError, where an argument does not fit the path."""
    try:
        target = tool.path.target(arguments)
    except PathRefused as refused:
        raise error_invalid_input(str(refused), fields={refused.parameter: ["does not fit the address"]}) from None
    query = query_string(tool.query, arguments) if tool.query else ""
    return Parts(target, query, _body(tool, arguments), tool.body is not None)


def _body(tool: ViewTool, arguments: Mapping[str, Any]) -> Any:  # Any: JSON
    if tool.body is None:
        return None
    if tool.takes_list:
        return arguments.get(OBJECTS, [])
    return {name: arguments[name] for name in tool.body if name in arguments}


def query_string(parameters: Iterable[QueryParameter], arguments: Mapping[str, Any]) -> str:  # Any: JSON
    """The query as it is in a url, which cannot express null or an empty list: these are left out."""
    pairs = (
        (one.name, text)
        for one in parameters
        if arguments.get(one.name) is not None
        for text in _texts(one, arguments[one.name])
    )
    return "&".join(f"{quote_plus(name)}={quote_plus(text)}" for name, text in pairs)


def _texts(one: QueryParameter, value: Any) -> Iterator[str]:  # Any: JSON
    if not isinstance(value, list):
        yield _text(value)
    elif one.style == "repeat":
        yield from map(_text, value)
    elif value:
        yield ",".join(map(_text, value))


def _text(value: Any) -> str:  # Any: JSON
    """Text as it is, the rest as JSON writes it: `true`, `1.5`."""
    return value if isinstance(value, str) else write_json(value).decode()
