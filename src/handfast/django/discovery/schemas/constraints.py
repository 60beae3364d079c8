"""The constraints of validators, as keywords of JSON Schema."""

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

MOST_CHARACTERS: Final = 300  # of a pattern: a longer one does not help an agent, and the serializer applies it anyway

# Flags change the meaning of a pattern and cannot be written into a schema; without ASCII these classes match other
# letters than in other engines; the rest exists in Python alone, or in engines that may search without end.
_FLAGS: Final = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE
_BY_ALPHABET: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[wWsSbB]")
_BEYOND: Final = re.compile(r"\(\?(?!P<|:)|(?<!\\)(?:\\\\)*\\(?:[1-9]|[kgGN])|\(\?P=|[*+?}]\+")
_ENDINGS: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\[zZ]")
_STARTS: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\A")
# Comparing with a number beyond this takes as long as judging a whole object; the serializer checks the range anyway.
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
    """The pattern as a schema's `pattern`; None where it is too long, too slow, or not portable."""
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
    """The pattern anchored at both ends, as a part of a path is matched."""
    written = portable_pattern(pattern)
    return None if written is None else f"^(?:{written})$"


def with_constraints(schema: Json, validators: Iterable[Callable[..., Any]]) -> Json:  # Any: whatever a validator is
    """The schema with the constraints of its field's validators, as far as a schema can express them."""
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
    """Adds a limit; of two limits the narrower one holds."""
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
