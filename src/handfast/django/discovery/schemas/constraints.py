"""What validators ask of a value, in the words of JSON Schema."""

import decimal
import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final

from django.core.validators import (
    BaseValidator,
    MaxLengthValidator,
    MaxValueValidator,
    MinLengthValidator,
    MinValueValidator,
    RegexValidator,
    URLValidator,
)

from handfast.core.schema.compiled import CompiledSchema, compile_schema
from handfast.django.discovery.drf_types import Json

MOST_CHARACTERS: Final = 300  # a longer one says nothing to an agent, and the serializer judges by it anyway

# Flags change what a pattern means and cannot be written down; without ASCII these classes hold other letters than
# elsewhere; the rest is known to Python alone, or to engines that can be made to search without end.
_FLAGS: Final = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE
_BY_ALPHABET: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[wWsSbB]")
_BEYOND: Final = re.compile(r"\(\?(?!P<|:)|(?<!\\)(?:\\\\)*\\(?:[1-9]|[kgGN])|\(\?P=|[*+?}]\+")
_ENDINGS: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\[zZ]")
_STARTS: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\A")
# Comparing with a number beyond this takes a judge as long as a whole object; the serializer knows its column's range.
_FARTHEST: Final = 10**18
_SIZES: Final = {
    "string": {MinLengthValidator: "minLength", MaxLengthValidator: "maxLength"},
    "array": {MinLengthValidator: "minItems", MaxLengthValidator: "maxItems"},
    "object": {MinLengthValidator: "minProperties", MaxLengthValidator: "maxProperties"},
    "integer": {MinValueValidator: "minimum", MaxValueValidator: "maximum"},
    "number": {MinValueValidator: "minimum", MaxValueValidator: "maximum"},
}


@lru_cache(maxsize=1024)
def portable_pattern(pattern: str, flags: int = 0) -> str | None:
    """The same pattern for a schema's `pattern`, or None where no schema should have it."""
    if len(pattern) > MOST_CHARACTERS or flags & _FLAGS or _BEYOND.search(pattern):
        return None
    if _BY_ALPHABET.search(pattern) and not flags & re.ASCII:
        return None
    written = _STARTS.sub(r"\1^", _ENDINGS.sub(r"\1$", pattern)).replace("(?P<", "(?<")
    compiled = compile_schema(json.dumps({"pattern": written}).encode())
    if not isinstance(compiled, CompiledSchema) or compiled.validator is None:
        return None
    return written


def whole(pattern: str) -> str | None:
    """A pattern for the whole text, as a part of a path is matched."""
    written = portable_pattern(pattern)
    return None if written is None else f"^(?:{written})$"


def with_constraints(schema: Json, validators: Iterable[Callable[..., Any]]) -> Json:  # Any: whatever a validator is
    """The schema with all that its field's validators say and a schema can say."""
    found: Json = {}
    for validator in validators:
        if isinstance(validator, BaseValidator):
            _take(found, *_limit(schema, validator))
        elif isinstance(validator, RegexValidator) and not isinstance(validator, URLValidator):
            found |= _pattern(schema, validator)
    return {**schema, **found}


def _limit(schema: Json, validator: BaseValidator) -> tuple[str, int | float | None]:
    types = schema.get("type")
    for kind in [types] if isinstance(types, str) else types or []:
        for validated, keyword in _SIZES.get(kind, {}).items():
            if type(validator) is validated:
                return keyword, _number(validator.limit_value)
    return "", None


def _take(found: Json, keyword: str, limit: int | float | None) -> None:
    """Of two limits the narrower one holds."""
    if limit is None:
        return
    narrower = max if keyword.startswith("min") else min
    found[keyword] = narrower(found.get(keyword, limit), limit)


def _number(limit: object) -> int | float | None:
    value = limit() if callable(limit) else limit
    if isinstance(value, decimal.Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) >= _FARTHEST:
        return None
    return value


def _pattern(schema: Json, validator: RegexValidator) -> Json:
    if schema.get("type") != "string" or validator.inverse_match:
        return {}
    regex: Any = validator.regex  # Any: text until it is first used, compiled from then on
    written = portable_pattern(regex.pattern, regex.flags)
    return {} if written is None else {"pattern": written}
