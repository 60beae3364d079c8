"""Judges values by compiled schemas of any weight, because a test has more time than a call."""

import json
from functools import lru_cache
from typing import Any

import jsonschema_rs

from handfast.core.schema.compiled import DEFAULT_BOUNDS, CompiledSchema, build_slow_validator, draft_class
from handfast.core.schema.patterns import backtracking_engine

Kind = jsonschema_rs.ValidationErrorKind

# JSON Schema is stricter here than Python's types: they allow a time without an offset and a negative duration.
_LOOSE = {name: lambda _text: True for name in ("time", "duration")}


def is_valid(schema: CompiledSchema, value: object) -> bool:
    if schema.validator is not None:
        return schema.is_valid(value)
    try:
        return _heavy(schema.text).is_valid(value)
    except UnicodeEncodeError:
        return False


def broken_formats(schema: CompiledSchema, value: object) -> list[str]:
    """The strings that break the format which the schema names, such as `when: is no date-time`.

    At run time a result's formats are only annotations, but an agent relies on them.
    """
    found: dict[str, None] = {}
    for error in _with_formats(schema.text).iter_errors(value):
        found.update(dict.fromkeys(_formats_in(error)))
    return list(found)


def _formats_in(error: jsonschema_rs.ValidationError) -> list[str]:
    kind = error.kind
    if isinstance(kind, Kind.Format):
        where = "/".join(map(str, error.instance_path))
        return [f"{where}: is no {kind.format}"]
    branches: list[Any] = kind.context if isinstance(kind, Kind.AnyOf | Kind.OneOfNotValid) else []  # Any: errors
    return [words for branch in branches for inner in branch for words in _formats_in(inner)]


@lru_cache(maxsize=256)
def _heavy(text: bytes) -> jsonschema_rs.Validator:
    return build_slow_validator(json.loads(text)).validator


@lru_cache(maxsize=256)
def _with_formats(text: bytes) -> jsonschema_rs.Validator:
    content = json.loads(text)
    options = backtracking_engine(DEFAULT_BOUNDS.slow_regex_bytes)
    return draft_class(content)(content, offline=True, pattern_options=options, validate_formats=True, formats=_LOOSE)
