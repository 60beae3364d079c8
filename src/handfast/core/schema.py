"""Compile a JSON Schema within bounds; judge values by it, in place where that is safe."""

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from re import DOTALL
from re import compile as compile_pattern
from sys import float_info
from typing import Any

import jsonschema_rs

from handfast.core.declared import Declared, read_declared
from handfast.core.redaction import scrub_names
from handfast.core.schema_costs import COMPILE_BUDGET_MS, compile_ms
from handfast.core.schema_references import References, UnresolvedReference, read_references
from handfast.core.schema_weight import OVER, weigh
from handfast.core.schema_words import declared_names, describe_errors, words_cost_ms
from handfast.core.wording import Wording

# An evaluation takes about 10 ns and a location at least two bytes, so weight times bytes up to this is about 1 ms.
IN_PLACE_WORK = 200_000

# Making errors costs a hundred times what judging does; see docs/decisions/0004. Above this the slow lane words them.
IN_PLACE_WORDS_MS = 1.0

# An error about `not` or a compound option carries that part of the schema along, at some 20 ns a byte.
MOST_QUOTED = 500


@dataclass(frozen=True, slots=True)
class SchemaBounds:
    """What a schema may be at most. The largest of 640 real schemas stays far below each."""

    bytes: int = 262_144  # four times the largest real one; parsing this much takes some 10 ms
    depth: int = 64  # the same as the depth of results; every recursive reader is safe below it
    subschemas: int = 10_000  # compiling this many takes 50 ms
    regex_bytes: int = 65_536  # a compiled pattern in place: under 1 ms to build
    slow_regex_bytes: int = 1_048_576  # in the slow lane, for `^.{1,255}$` and its like; larger is uncompilable
    weight: int = 1_000  # the heaviest real schema weighs a twentieth of it, the known bombs a thousand times it


DEFAULT_BOUNDS = SchemaBounds()


@dataclass(frozen=True, slots=True)
class UncompilableSchema:
    """A schema nothing can be judged by, and why, in one line for the operator."""

    reason: str
    digest: str


@dataclass(frozen=True)
class CompiledSchema:
    """A schema that is known to be within bounds; without a validator only the slow lane may run it."""

    text: bytes
    digest: str
    weight: int
    validator: jsonschema_rs.Validator | None
    content: object  # the decoded schema; treat as read-only
    judges_names: bool = False
    quotes_itself: bool = False

    @cached_property
    def declared(self) -> Declared:
        """What the schema declares at its root."""
        return read_declared(self.content)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every property name the schema itself mentions: these may be shown."""
        return declared_names(self.content)

    def fits_in_place(self, size: int) -> bool:
        """Whether judging that many bytes of JSON is predicted to take under a millisecond."""
        return self.validator is not None and self.weight * size <= IN_PLACE_WORK

    def words_fit_in_place(self, value: object) -> bool:
        """Whether describing what is wrong with this value is predicted to take a few milliseconds at most."""
        if self.validator is None or (self.quotes_itself and len(self.text) > MOST_QUOTED):
            return False
        cost = words_cost_ms(value, self.weight, IN_PLACE_WORDS_MS, copies_per_name=self.judges_names)
        return cost <= IN_PLACE_WORDS_MS

    def is_valid(self, value: object) -> bool:
        """Judge a decoded value, which the caller knows to be of bounded depth."""
        try:
            return self._in_place().is_valid(value)
        except UnicodeEncodeError:
            return False  # a lone surrogate is not text, so it is not a JSON string either

    def describe(self, value: object, *, show_names: bool = False) -> tuple[str, ...]:
        """At most five violations in words, such as `items/0/id: must be an integer, not a string`."""
        return tuple(str(wording) for wording in self.describe_parts(value, show_names=show_names))

    def describe_parts(self, value: object, *, show_names: bool = False) -> tuple[Wording, ...]:
        """The same, as path and text; names the schema does not mention are counted unless the caller shows them."""
        try:
            errors = self._in_place().iter_errors(value)
        except UnicodeEncodeError:
            return (Wording("", "contains text that is not valid Unicode"),)
        return describe_errors(errors, value, names=self.names, show_names=show_names)

    def _in_place(self) -> jsonschema_rs.Validator:
        if self.validator is None:
            message = "This schema is too heavy to run in place; send it to the slow lane."
            raise RuntimeError(message)
        return self.validator


def compile_schema(text: bytes, bounds: SchemaBounds = DEFAULT_BOUNDS) -> CompiledSchema | UncompilableSchema:
    """Compile the exact text of a schema, or say why it cannot be. Takes some 70 ms at worst."""
    digest = sha256(text).hexdigest()
    try:
        content = read_schema(text, bounds)
        references = read_references(content, limit=bounds.subschemas)
        weight = _weigh(content, references, bounds)
        validator = None
        if weight <= bounds.weight and compile_ms(references, weight) <= COMPILE_BUDGET_MS:
            validator = _build_in_place(content, bounds)
    except SchemaRefused as refused:
        return UncompilableSchema(str(refused), digest)
    return CompiledSchema(text, digest, weight, validator, content, references.judges_names, references.quotes_itself)


class SchemaRefused(ValueError):
    """Why a schema cannot be compiled, in one line."""


class _PatternRefused(SchemaRefused):
    """A pattern the engine refuses: too large, or beyond what it can match in linear time."""

    def __init__(self, reason: str, pattern: str) -> None:
        super().__init__(reason)
        self.pattern = pattern


def read_schema(text: bytes, bounds: SchemaBounds = DEFAULT_BOUNDS) -> Any:  # Any: an object or a boolean
    """Decode a schema so that no reader after this one can be hurt by it. Raises: SchemaRefused."""
    if len(text) > bounds.bytes:
        raise SchemaRefused(f"The schema is larger than {bounds.bytes} bytes.")
    if _depth(text) > bounds.depth:
        raise SchemaRefused(f"The schema is nested more than {bounds.depth} levels deep.")
    may_be_huge = _HUGE_NUMBER.search(text) is not None  # looking at each number takes three times as long
    try:
        content = json.loads(
            text,
            object_pairs_hook=_without_duplicates,
            parse_constant=_refuse_constant,
            parse_float=finite_float if may_be_huge else None,
            parse_int=finite_int if may_be_huge else None,
        )
    except SchemaRefused:
        raise
    except (ValueError, RecursionError) as problem:
        raise SchemaRefused("The schema is not valid JSON.") from problem
    if not isinstance(content, dict | bool):
        raise SchemaRefused("The schema is neither an object nor a boolean.")
    return content


# Fewer digits and a smaller exponent than these together stay within a double's range.
_HUGE_NUMBER = compile_pattern(rb"[0-9]{100}|[eE]\+?[0-9]{3}")
_STRING = compile_pattern(rb'"[^"\\]*(?:\\.[^"\\]*)*"', DOTALL)
_NOT_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}


def _depth(text: bytes) -> int:
    """How deep brackets nest outside strings, found without recursion."""
    brackets = _STRING.sub(b"", text).translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # Any: JSON values
    content = dict(pairs)
    if len(content) != len(pairs):
        raise SchemaRefused("The schema has the same key twice in one object, so readers may disagree about it.")
    return content


def _refuse_constant(_: str) -> object:
    raise SchemaRefused("The schema contains NaN or Infinity, which JSON does not have.")


def finite_float(digits: str) -> float:
    """Beyond a double's range, the largest finite double of that sign: the library takes infinity for no number."""
    return max(-float_info.max, min(float_info.max, float(digits)))


def finite_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= float_info.max_10_exp else finite_float(digits)


def _weigh(content: object, references: References, bounds: SchemaBounds) -> int:
    draft_class(content)
    if references.objects > bounds.subschemas:
        raise SchemaRefused(f"The schema has more than {bounds.subschemas} subschemas.")
    try:
        return weigh(content, references, bound=bounds.weight)
    except UnresolvedReference as problem:
        raise SchemaRefused("The schema refers to something outside itself; references are never fetched.") from problem


_DRAFTS: dict[str, type[jsonschema_rs.Validator]] = {
    "json-schema.org/draft-04/schema": jsonschema_rs.Draft4Validator,
    "json-schema.org/draft-06/schema": jsonschema_rs.Draft6Validator,
    "json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
    "json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
    "json-schema.org/draft/2020-12/schema": jsonschema_rs.Draft202012Validator,
}


def draft_class(content: object) -> type[jsonschema_rs.Validator]:
    """The validator for the draft that `$schema` names; 2020-12 when it names none. Raises: SchemaRefused."""
    if not isinstance(content, dict) or "$schema" not in content:
        return jsonschema_rs.Draft202012Validator
    name = content["$schema"]
    if isinstance(name, str):
        address = name.removesuffix("#").removeprefix("http://").removeprefix("https://")
        if address in _DRAFTS:
            return _DRAFTS[address]
    raise SchemaRefused("The schema's $schema names no draft known here; use draft-07 or 2020-12.")


def build_validator(content: Any, *, regex_bytes: int) -> jsonschema_rs.Validator:  # Any: what read_schema returned
    """Hand a schema to the library: nothing is fetched, patterns match in linear time, `format` only annotates.

    Raises: SchemaRefused.
    """
    options = jsonschema_rs.RegexOptions(size_limit=regex_bytes)
    try:
        return draft_class(content)(content, offline=True, pattern_options=options, validate_formats=False)
    except jsonschema_rs.ValidationError as problem:
        raise _refusal(problem) from problem
    except (ValueError, jsonschema_rs.ReferencingError) as problem:
        raise SchemaRefused("The schema cannot be compiled.") from problem


def _refusal(problem: jsonschema_rs.ValidationError) -> SchemaRefused:
    where = "/".join(["#", *scrub_names(str(part) for part in problem.instance_path[:8])])
    if isinstance(problem.kind, jsonschema_rs.ValidationErrorKind.Referencing):
        return SchemaRefused("The schema refers to something that is not in it; references are never fetched.")
    if isinstance(problem.kind, jsonschema_rs.ValidationErrorKind.Format):
        reason = f"The pattern at {where} is too large or uses lookaround or backreferences."
        return _PatternRefused(reason, str(problem.instance))
    return SchemaRefused(f"The schema is not valid at {where}.")


_BEYOND_LINEAR = compile_pattern(r"\(\?<?[=!]|\\[1-9]|\\k<")


def _build_in_place(content: object, bounds: SchemaBounds) -> jsonschema_rs.Validator | None:
    try:
        return build_validator(content, regex_bytes=bounds.regex_bytes)
    except _PatternRefused as refused:
        if _BEYOND_LINEAR.search(refused.pattern):
            raise
        # Probably too large for here but not for the slow lane, which says so if it is not.
        return None


__all__ = [
    "DEFAULT_BOUNDS",
    "OVER",
    "CompiledSchema",
    "SchemaBounds",
    "SchemaRefused",
    "UncompilableSchema",
    "Wording",
    "build_validator",
    "compile_schema",
    "read_schema",
]
