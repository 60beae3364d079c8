"""Decodes the text of a JSON Schema within bounds that make it safe for all later readers."""

import json
from dataclasses import dataclass
from itertools import accumulate
from re import DOTALL
from re import compile as compile_pattern
from sys import float_info
from typing import Any, Final, NamedTuple

# The drafts' meta-data vocabulary and `$comment`. `format` and `content…` stay, because some drafts assert them and
# they are short. Unknown keywords stay, because a reference may point into them.
ANNOTATIONS: Final = frozenset(
    {"$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)

# Keywords that hold subschemas: one, a list, or a map by name. Names in a map are the author's own, so a property may
# be called `description`.
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
# Up to this length neither size nor number of subschemas can exceed its bound, so annotations may stay.
_SHORT_TEXT = 16_384
# Names are read from schemas nested too deeply to be compiled, up to the depth at which the decoder is safe.
_READABLE_DEPTH = 500
# A number with fewer digits and a shorter exponent than these is within a double's range.
_HUGE_NUMBER = compile_pattern(rb"[0-9]{100}|[eE]\+?[0-9]{3}")
_STRING = compile_pattern(rb'"[^"\\]*(?:\\.[^"\\]*)*"', DOTALL)
_NOT_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def without_annotations(schema: Any) -> Any:  # Any: a schema of bounded depth, as its author wrote it
    """A copy that shares unchanged parts. Values of `enum` and `const` are data and stay as they are."""
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
    """The bounds for a schema. The largest of 640 real schemas stays far below each."""

    bytes: int = 262_144  # without annotations: four times the largest real schema; parsing takes some 20 ms at worst
    depth: int = 64  # the same as for results; every recursive reader is safe up to it
    subschemas: int = 10_000  # compiling this many takes 50 ms
    regex_bytes: int = 65_536  # of a compiled pattern in place, which is built in under 1 ms
    slow_regex_bytes: int = 1_048_576  # in the slow lane, for `^.{1,255}$` and its like; larger is uncompilable
    weight: int = 1_000  # the heaviest real schema has a twentieth of this, the known bombs a thousand times as much

    @property
    def text_bytes(self) -> int:
        """The bound with annotations, which are known only after decoding (0.2 s at worst). It leaves room for as much
        prose as a model can be expected to read."""
        return 4 * self.bytes


DEFAULT_BOUNDS = SchemaBounds()


class SchemaRefused(ValueError):
    """A schema that cannot be compiled; the message says why in one line."""


def read_schema(text: bytes, bounds: SchemaBounds = DEFAULT_BOUNDS) -> Any:  # Any: an object or a boolean
    """Decodes a schema within bounds that make it safe for later readers. Raises: SchemaRefused."""
    content, fault = decode_schema(text, bounds)
    if fault:
        raise SchemaRefused(fault)
    return content


class DecodedSchema(NamedTuple):
    content: Any  # Any: an object or a boolean
    fault: str  # why values cannot be judged by it although names can be read; else empty


def decode_schema(text: bytes, bounds: SchemaBounds) -> DecodedSchema:
    """Decodes a schema, faulty ones for their names too. Raises: SchemaRefused, if not even names can be read."""
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
    """Decodes the text of a compiled schema, which was checked against the bounds before."""
    return _load(text)


def _load(text: bytes, **hooks: Any) -> Any:  # Any: what json.loads takes, and JSON
    may_be_huge = _HUGE_NUMBER.search(text) is not None  # converting each number in Python takes three times as long
    return json.loads(
        text,
        parse_float=finite_float if may_be_huge else None,
        parse_int=finite_int if may_be_huge else None,
        **hooks,
    )


class _TolerantDecoder:
    """Decodes duplicate keys and NaN so that every name is kept, and notes the fault."""

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
    """The schema without annotations, which count towards no bound, and its text. Raises: SchemaRefused."""
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
    """The nesting depth of brackets outside strings, found without recursion."""
    brackets = _STRING.sub(b"", text).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def finite_float(digits: str) -> float:
    """The number, clamped to a double's range, because the library does not accept infinity as a number."""
    return max(-float_info.max, min(float_info.max, float(digits)))


def finite_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= float_info.max_10_exp else finite_float(digits)
