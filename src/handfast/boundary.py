"""parse_typed: turns foreign input into a typed value, or logs one line that says why it is refused."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, LiteralString, TypeVar, overload

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError, from_json

from handfast.core.events import API_BOUNDARY_VALIDATION_FAILED
from handfast.core.words.model_error_texts import AUTHORS_RULE, TOO_MANY
from handfast.core.words.model_errors import UNSEEN, describe_model_errors
from handfast.core.words.redaction import scrub_name

_MOST_LOCATIONS = 5
_MOST_PARTS = 16  # of one location
_MOST_ERRORS = 10_000  # pydantic lists a thousand in a millisecond, and only all or none

_logger = logging.getLogger("handfast.boundary")

ModelT = TypeVar("ModelT", bound=BaseModel)
T = TypeVar("T")


@overload
def parse_typed(boundary: LiteralString, raw: object, model: type[ModelT]) -> ModelT: ...
@overload
def parse_typed(boundary: LiteralString, raw: object, model: TypeAdapter[T]) -> T: ...
def parse_typed(
    boundary: LiteralString, raw: object, model: type[BaseModel] | TypeAdapter[Any]
) -> object:  # Any: of the overloads
    """Reads input at this boundary; None counts as an empty object.

    Bytes are read as JSON text: numbers and booleans are strict; dates, enums and the like are read from strings.

    Raises:
        ValidationError: pydantic's own, after one log line without input values.
    """
    value = {} if raw is None else raw
    try:
        if isinstance(value, bytes):
            read = model.validate_json if isinstance(model, TypeAdapter) else model.model_validate_json
            return read(value, strict=True)
        return model.validate_python(value) if isinstance(model, TypeAdapter) else model.model_validate(value)
    except ValidationError as failure:
        _log(boundary, value, failure)
        raise


def errors_of(failure: ValidationError) -> list[Mapping[str, Any]]:  # Any: pydantic's error details
    """The errors without input values, in the form that `describe_model_errors` reads."""
    count = failure.error_count()
    if count > _MOST_ERRORS:
        return [{"type": TOO_MANY, "loc": (), "msg": "", "ctx": {"count": count}}]
    return list(failure.errors(include_url=False, include_input=False))


def broken_rule(text: LiteralString) -> PydanticCustomError:
    """An exception for validators that tells the agent which rule it broke; a literal, as values are never shown.

    Other exceptions of a validator are reported as `does not meet a rule of this tool`.
    """
    return PydanticCustomError(AUTHORS_RULE, text)


def _log(boundary: str, value: object, failure: ValidationError) -> None:
    errors = errors_of(failure)
    description = "; ".join(str(told) for told in describe_model_errors(errors, _decoded(value), show_names=True))
    fields = {
        "event": API_BOUNDARY_VALIDATION_FAILED,
        "boundary": boundary,
        "error_type": type(failure).__name__,
        "error_count": failure.error_count(),
        "description": description,
        "locations": [_location(error["loc"]) for error in errors[:_MOST_LOCATIONS]],
        "truncated": failure.error_count() > _MOST_LOCATIONS,
    }
    # No exc_info, because the exception's own text quotes input values.
    _logger.warning(
        "%s: what came in at %s was refused: %s", API_BOUNDARY_VALIDATION_FAILED, boundary, description, extra=fields
    )


def _decoded(value: object) -> object:
    """The decoded input, for naming the types in it; UNSEEN if it is not JSON."""
    if not isinstance(value, bytes):
        return value
    try:
        return from_json(value)
    except ValueError:
        return UNSEEN


def _location(parts: Sequence[str | int]) -> str:
    return "/".join(scrub_name(str(part)) for part in parts[:_MOST_PARTS])
