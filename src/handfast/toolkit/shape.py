"""How a tool's own model reads the arguments of a call: the boundary `mcp.tool`."""

import json
from typing import Any

from pydantic import BaseModel, ValidationError

from handfast.boundary import errors_of, parse_typed
from handfast.core.model_words import describe_model_errors

_EXACT = 2.0**53  # below this a float is the integer that was meant


class Misshapen(Exception):
    """The arguments are not what the model asks for; `words` say how, without anybody's values."""

    def __init__(self, words: tuple[str, ...]) -> None:
        super().__init__("; ".join(words))
        self.words = words


def parse_arguments(text: bytes, model: type[BaseModel], names: frozenset[str] = frozenset()) -> BaseModel:
    """Read as JSON: numbers and booleans are strict; dates, enums, UUIDs are read from text. Raises: Misshapen."""
    if b".0" in text:
        text = _with_plain_integers(text)
    try:
        return parse_typed("mcp.tool", text, model)
    except ValidationError as error:
        words = describe_model_errors(errors_of(error), json.loads(text), names=names)
        raise Misshapen(tuple(map(str, words))) from None


def _with_plain_integers(text: bytes) -> bytes:
    """`5.0` is an integer to JSON Schema, and some clients send every number so; the model would refuse it."""
    return json.dumps(_plain(json.loads(text))).encode()


def _plain(value: Any) -> Any:  # Any: JSON
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return value
