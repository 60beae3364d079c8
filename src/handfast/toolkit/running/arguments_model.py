"""Reading a call's arguments with the tool's own model: the boundary `mcp.tool`."""

import inspect
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

_EXACT = 2.0**53  # below this a float represents an integer exactly
_DEEPEST = 64  # the same as for results; every recursive reader is safe up to it

_log = logging.getLogger("handfast.toolkit")


class Misshapen(Exception):
    """The arguments do not fit the model; `words` say how, without the caller's values."""

    def __init__(self, words: tuple[str, ...]) -> None:
        super().__init__("; ".join(words))
        self.words = words


def parse_arguments(text: bytes, model: type[BaseModel], schema: object = None) -> BaseModel:
    """Reads JSON strictly for numbers and booleans; dates, enums and UUIDs are read from text.

    `schema` is the one published for the model; texts take names and types from it. Raises: Misshapen.
    """
    if depth_exceeds(text, _DEEPEST):
        raise Misshapen((f"is nested deeper than the limit of {_DEEPEST} levels",))
    if b".0" in text:
        text = _with_plain_integers(text)
    try:
        return parse_typed("mcp.tool", text, model)
    except ValidationError as error:
        words = describe_model_errors(errors_of(error), json.loads(text), schema=schema, show_names=True)
        raise Misshapen(tuple(map(str, words))) from None
    except ToolError as error:
        raise Misshapen((error.message.rstrip("."),)) from None  # written for the agent, by the model's author
    except Exception as error:  # noqa: BLE001 - pydantic lets through what validators raise, except for ValueError
        _note_crash(error, model)
        raise Misshapen((A_RULE,)) from None


def note_silent_validators(model: type[BaseModel]) -> None:
    """Tell the author of validators that raise ValueError how an agent gets to read which rule it broke."""
    found = model.__pydantic_decorators__
    functions = {name: each.func for name, each in found.field_validators.items()}
    functions |= {name: each.func for name, each in found.model_validators.items()}
    for name, function in functions.items():
        code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
        if code is not None and "ValueError" in code.co_names and "broken_rule" not in code.co_names:
            _log.warning(
                "%s.%s raises ValueError, whose text no agent reads, because it may quote what was sent. "
                'Raise broken_rule("must be ...") from handfast.boundary to say which rule was broken.',
                model.__name__,
                name,
                extra={"event": "toolkit.validator.silent"},
            )


def _note_crash(error: Exception, model: type[BaseModel]) -> None:
    """Logs where a validator crashed, without the error's text, which may quote the caller's values."""
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
    """Writes `5.0` as `5`: JSON Schema counts it as an integer and some clients send it, but the model refuses it."""
    return json.dumps(_plain(json.loads(text))).encode()


def _plain(value: Any) -> Any:  # Any: JSON
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return value
