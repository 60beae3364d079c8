"""How a tool's own model reads the arguments of a call: the boundary `mcp.tool`."""

import json
import logging
import traceback
from typing import Any

from pydantic import BaseModel, ValidationError

from handfast.boundary import errors_of, parse_typed
from handfast.core.answers.errors import ToolError
from handfast.core.call.strict_json import depth_exceeds
from handfast.core.words.model_error_texts import A_RULE
from handfast.core.words.model_errors import describe_model_errors

_EXACT = 2.0**53  # below this a float is the integer that was meant
_DEEPEST = 64  # as deep as a result may be; every recursive reader is safe below it

_log = logging.getLogger("handfast.toolkit")


class Misshapen(Exception):
    """The arguments are not what the model asks for; `words` say how, without the values that were sent."""

    def __init__(self, words: tuple[str, ...]) -> None:
        super().__init__("; ".join(words))
        self.words = words


def parse_arguments(text: bytes, model: type[BaseModel], names: frozenset[str] = frozenset()) -> BaseModel:
    """Read as JSON: numbers and booleans are strict; dates, enums, UUIDs are read from text. Raises: Misshapen."""
    if depth_exceeds(text, _DEEPEST):
        raise Misshapen((f"is nested deeper than the limit of {_DEEPEST} levels",))
    if b".0" in text:
        text = _with_plain_integers(text)
    try:
        return parse_typed("mcp.tool", text, model)
    except ValidationError as error:
        words = describe_model_errors(errors_of(error), json.loads(text), names=names)
        raise Misshapen(tuple(map(str, words))) from None
    except ToolError as error:
        raise Misshapen((error.message.rstrip("."),)) from None  # written for the agent, by the model's author
    except Exception as error:  # noqa: BLE001 - pydantic lets through what validators raise, except for ValueError
        _note_crash(error, model)
        raise Misshapen((A_RULE,)) from None


def _note_crash(error: Exception, model: type[BaseModel]) -> None:
    """Where it happened, and never the text of the error, which may quote what was sent."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    _log.error(
        "A validator of %s raised %s at %s:%s; raise ValueError or broken_rule() for arguments that are wrong.",
        model.__name__,
        type(error).__name__,
        place.filename,
        place.lineno,
        extra={"event": "toolkit.validator.crashed", "error_type": type(error).__name__},
    )


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
