"""Decode the text of a JSON Schema within bounds, so that no reader after this one can be hurt by it."""

import json
from dataclasses import dataclass
from itertools import accumulate
from re import DOTALL
from re import compile as compile_pattern
from sys import float_info
from typing import Any, Final, NamedTuple

# The drafts' meta-data vocabulary and `$comment`. `format` and `content…` stay: some drafts assert them, and they are
# short. An unknown keyword stays too: a reference may lead into it.
ANNOTATIONS: Final = frozenset(
    {"$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)

# Where a schema holds schemas: under a keyword, in a list under one, or by name. The names are the author's own, so a
# property may be called `description`.
ONE_SCHEMA: Final = frozenset(
    {
        "items",
        "additionalItems",
        "contains",
        "unevaluatedItems",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "not",
        "if",
        "then",
        "else",
        "contentSchema",
    }
)
SCHEMA_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
SCHEMA_MAPS: Final = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
)
# Below this neither the size nor the number of subschemas can be over its bound, so annotations may stay.
_SHORT_TEXT = 16_384
# Names are read from schemas that are nested too deeply to be compiled, as long as the decoder is safe.
_READABLE_DEPTH = 500
# Fewer digits and a smaller exponent than these together stay within a double's range.
_HUGE_NUMBER = compile_pattern(rb"[0-9]{100}|[eE]\+?[0-9]{3}")
_STRING = compile_pattern(rb'"[^"\\]*(?:\\.[^"\\]*)*"', DOTALL)
_NOT_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def without_annotations(schema: Any) -> Any:  # Any: a schema of bounded depth, as its author wrote it
    """A copy that shares what it can. The values of `enum` and `const` are data, so nothing is taken out of them."""
    if not isinstance(schema, dict):
        return schema
    return {keyword: _part(keyword, value) for keyword, value in schema.items() if keyword not in ANNOTATIONS}


def _part(keyword: str, value: Any) -> Any:  # Any: what stands under a keyword
    if isinstance(value, dict):
        if keyword in SCHEMA_MAPS:
            return {name: without_annotations(part) for name, part in value.items()}
        return without_annotations(value) if keyword in ONE_SCHEMA else value
    if isinstance(value, list) and keyword in SCHEMA_LISTS:
        return [without_annotations(part) for part in value]
    return value


@dataclass(frozen=True, slots=True)
class SchemaBounds:
    """What a schema may be at most. The largest of 640 real schemas stays far below each."""

    bytes: int = 262_144  # without annotations: four times the largest real one; parsing it takes some 20 ms at worst
    depth: int = 64  # the same as the depth of results; every recursive reader is safe below it
    subschemas: int = 10_000  # compiling this many takes 50 ms
    regex_bytes: int = 65_536  # a compiled pattern in place: under 1 ms to build
    slow_regex_bytes: int = 1_048_576  # in the slow lane, for `^.{1,255}$` and its like; larger is uncompilable
    weight: int = 1_000  # the heaviest real schema weighs a twentieth of it, the known bombs a thousand times it

    @property
    def text_bytes(self) -> int:
        """With annotations, which are known only once the text is decoded: that takes 0.2 s at worst, and room for
        as much prose as a model can be expected to read is left."""
        return 4 * self.bytes


DEFAULT_BOUNDS = SchemaBounds()


class SchemaRefused(ValueError):
    """Why a schema cannot be compiled, in one line."""


def read_schema(text: bytes, bounds: SchemaBounds = DEFAULT_BOUNDS) -> Any:  # Any: an object or a boolean
    """Decode a schema so that no reader after this one can be hurt by it. Raises: SchemaRefused."""
    content, fault = decode_schema(text, bounds)
    if fault:
        raise SchemaRefused(fault)
    return content


class DecodedSchema(NamedTuple):
    content: Any  # Any: an object or a boolean
    fault: str  # why nothing may be judged by it, although names can be read from it


def decode_schema(text: bytes, bounds: SchemaBounds) -> DecodedSchema:
    """Raises: SchemaRefused, where not even names can be read."""
    if len(text) > bounds.text_bytes:
        raise SchemaRefused(f"The schema's text is larger than {bounds.text_bytes} bytes.")
    depth = _depth(text)
    faults = [f"The schema is nested more than {bounds.depth} levels deep."] if depth > bounds.depth else []
    if depth > _READABLE_DEPTH:
        raise SchemaRefused(*faults)
    reader = _TolerantDecoder(faults)
    try:
        content = _load(text, object_pairs_hook=reader.read_object, parse_constant=reader.read_constant)
    except (ValueError, RecursionError) as problem:
        raise SchemaRefused("The schema is not valid JSON.") from problem
    if not isinstance(content, dict | bool):
        raise SchemaRefused("The schema is neither an object nor a boolean.")
    return DecodedSchema(content, faults[0] if faults else "")


def decode_checked(text: bytes) -> Any:  # Any: an object or a boolean
    """Decode the text of a compiled schema, which was read within bounds before."""
    return _load(text)


def _load(text: bytes, **hooks: Any) -> Any:  # Any: what json.loads takes, and JSON
    may_be_huge = _HUGE_NUMBER.search(text) is not None  # looking at each number takes three times as long
    return json.loads(
        text,
        parse_float=finite_float if may_be_huge else None,
        parse_int=finite_int if may_be_huge else None,
        **hooks,
    )


class _TolerantDecoder:
    """Decodes what readers may disagree about so that every name is kept, and notes the fault."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults

    def read_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # Any: JSON values
        content = dict(pairs)
        if len(content) == len(pairs):
            return content
        self.faults.append("The schema has the same key twice in one object, so readers may disagree about it.")
        merged: dict[str, Any] = {}  # Any: as above
        for key, value in pairs:
            earlier = merged.get(key)
            merged[key] = {**earlier, **value} if isinstance(earlier, dict) and isinstance(value, dict) else value
        return merged

    def read_constant(self, _: str) -> object:
        self.faults.append("The schema contains NaN or Infinity, which JSON does not have.")
        return None


def strip_ballast(content: object, text: bytes, bounds: SchemaBounds) -> tuple[object, bytes]:
    """What a schema is judged by, and its text: annotations count towards no bound. Raises: SchemaRefused."""
    if len(text) <= min(_SHORT_TEXT, bounds.bytes):
        return content, text
    judged = without_annotations(content)
    try:
        text = json.dumps(judged, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise SchemaRefused("The schema contains text that is not valid Unicode.") from None
    if len(text) > bounds.bytes:
        raise SchemaRefused(f"The schema is larger than {bounds.bytes} bytes, not counting its annotations.")
    return judged, text


def _depth(text: bytes) -> int:
    """How deep brackets nest outside strings, found without recursion."""
    brackets = _STRING.sub(b"", text).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def finite_float(digits: str) -> float:
    """Beyond a double's range, the largest finite double of that sign: the library takes infinity for no number."""
    return max(-float_info.max, min(float_info.max, float(digits)))


def finite_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= float_info.max_10_exp else finite_float(digits)
