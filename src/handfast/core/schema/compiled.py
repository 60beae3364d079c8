"""Compiles a JSON Schema within bounds and judges values by it, in place if that is safe."""

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from typing import Any, NamedTuple

import jsonschema_rs
import msgspec

from handfast.core.schema.costs import COMPILE_BUDGET_MS, compile_ms
from handfast.core.schema.declared import Declared, read_declared
from handfast.core.schema.patterns import Engine, backtracking_engine, linear_engine, pattern_fault
from handfast.core.schema.references import References, UnresolvedReference, read_references
from handfast.core.schema.text import (
    DEFAULT_BOUNDS,
    SchemaBounds,
    SchemaRefused,
    decode_checked,
    decode_schema,
    read_schema,
    strip_ballast,
)
from handfast.core.schema.violation_texts import declared_names, describe_errors, words_cost_ms
from handfast.core.schema.weight import OVER, weigh
from handfast.core.words.redaction import scrub_names
from handfast.core.words.wording import Wording

_MOST_PLACES = 50  # scalars that are coerced at most; a call with more of them has another fault
# An evaluation takes about 10 ns and a location at least two bytes, so weight times bytes up to this is about 1 ms.
IN_PLACE_WORK = 200_000
# Making errors costs a hundred times as much as judging; see docs/decisions/0004. Above this the slow lane words them.
IN_PLACE_WORDS_MS = 1.0
# An error about `not` or a compound option carries a copy of that part of the schema, at some 20 ns a byte.
MOST_QUOTED = 500
_DRAFTS: dict[str, type[jsonschema_rs.Validator]] = {
    "json-schema.org/draft-04/schema": jsonschema_rs.Draft4Validator,
    "json-schema.org/draft-06/schema": jsonschema_rs.Draft6Validator,
    "json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
    "json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
    "json-schema.org/draft/2020-12/schema": jsonschema_rs.Draft202012Validator,
}


def is_valid_if_coerced(validator: jsonschema_rs.Validator, value: object) -> bool:
    """Whether the arguments meet the schema once numbers and booleans sent as text are converted.

    The conversion is for judging only: the arguments are forwarded as they were sent.
    """
    copy = deepcopy(value)
    for count, error in enumerate(validator.iter_errors(value)):
        if count == _MOST_PLACES or not _coerce_at(copy, list(error.instance_path)):
            return False
    return validator.is_valid(copy)


def _coerce_at(root: Any, path: list[str | int]) -> bool:  # Any: decoded JSON
    """Replaces the text at the path with the scalar that it spells; False if it spells none."""
    if not path:
        return False
    holder = root
    for step in path[:-1]:
        holder = holder[step]
    text = holder[path[-1]]
    if not isinstance(text, str):
        return not isinstance(text, dict | list)  # already replaced through another error at the same place
    try:
        scalar = msgspec.json.decode(text.strip().lower())
    except (msgspec.DecodeError, RecursionError):  # `[[[[…` is not a scalar either
        return False
    if not isinstance(scalar, int | float | bool):
        return False
    holder[path[-1]] = scalar
    return True


@dataclass(frozen=True)
class _Schema:
    """The facts of a schema that are known even if values cannot be judged by it."""

    digest: str
    content: object  # the decoded schema, None if it cannot be decoded; treat as read-only

    @cached_property
    def declared(self) -> Declared:
        """What the schema declares at its root; open if that cannot be known."""
        return read_declared(self.content)


@dataclass(frozen=True)
class UncompilableSchema(_Schema):
    """A schema by which values cannot be judged; `reason` is one line for the operator."""

    reason: str


@dataclass(frozen=True)
class CompiledSchema(_Schema):
    """A schema within bounds; if it has no validator, only the slow lane may run it."""

    text: bytes  # as it is compiled: without annotations if it is long
    weight: int
    validator: jsonschema_rs.Validator | None
    judges_names: bool = False
    quotes_itself: bool = False
    asserts_formats: bool = False

    @cached_property
    def asserting(self) -> "CompiledSchema":
        """The same schema, where `format` is a rule and not only a note."""
        if self.asserts_formats or not _mentions_format(self.text):
            return self
        validator = self.validator
        if validator is not None:
            engine = linear_engine(DEFAULT_BOUNDS.regex_bytes)
            validator = build_validator(decode_checked(self.text), engine, asserts_formats=True)
        return replace(self, digest=f"{self.digest}+formats", validator=validator, asserts_formats=True)

    def refused(self, reason: str) -> UncompilableSchema:
        """The same schema after the slow lane found that it cannot be compiled."""
        return UncompilableSchema(self.digest, self.content, reason)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every property name that the schema mentions; texts may show these."""
        return declared_names(self.content)

    def fits_in_place(self, size: int) -> bool:
        """Whether judging `size` bytes of JSON is predicted to take under a millisecond."""
        return self.validator is not None and self.weight * size <= IN_PLACE_WORK

    def words_fit_in_place(self, value: object) -> bool:
        """Whether wording this value's violations is predicted to take a few milliseconds at most."""
        if self.validator is None or (self.quotes_itself and len(self.text) > MOST_QUOTED):
            return False
        cost = words_cost_ms(value, self.weight, IN_PLACE_WORDS_MS, copies_per_name=self.judges_names)
        return cost <= IN_PLACE_WORDS_MS

    def is_valid(self, value: object) -> bool:
        """Judges a decoded value, whose depth the caller has bounded."""
        try:
            return self._in_place().is_valid(value)
        except UnicodeEncodeError:
            return False  # a lone surrogate is not text, so it is not a JSON string either

    def is_valid_if_coerced(self, value: object) -> bool:
        """The same after converting numbers and booleans that were sent as text."""
        return is_valid_if_coerced(self._in_place(), value)

    def describe(self, value: object, *, show_names: bool = False) -> tuple[str, ...]:
        """At most five violations in words, such as `items/0/id: must be an integer, not a string`."""
        return tuple(str(wording) for wording in self.describe_parts(value, show_names=show_names))

    def describe_parts(self, value: object, *, show_names: bool = False) -> tuple[Wording, ...]:
        """The same as path and text; names that the schema does not mention are only counted unless `show_names`."""
        try:
            errors = self._in_place().iter_errors(value)
        except UnicodeEncodeError:
            return (Wording("", "contains text that is not valid Unicode"),)
        return describe_errors(errors, value, schema=self.content, names=self.names, show_names=show_names)

    def _in_place(self) -> jsonschema_rs.Validator:
        if self.validator is None:
            raise RuntimeError("This schema is too heavy to run in place; send it to the slow lane.")
        return self.validator


def _mentions_format(text: bytes) -> bool:
    return b"format" in text or b"\\u" in text  # a key may be spelt with escapes


def compile_schema(text: bytes, bounds: SchemaBounds = DEFAULT_BOUNDS) -> CompiledSchema | UncompilableSchema:
    """Compiles the exact text of a schema, or says why that is not possible. Takes some 0.2 s at worst."""
    digest = sha256(text).hexdigest()
    content: object = None
    try:
        content, fault = decode_schema(text, bounds)
        if fault:
            raise SchemaRefused(fault)
        judged, judged_text = strip_ballast(content, text, bounds)
        references = read_references(judged, limit=bounds.subschemas)
        weight = _weigh(judged, references, bounds)
        validator = None
        if weight <= bounds.weight and compile_ms(references, weight) <= COMPILE_BUDGET_MS:
            validator = _build_in_place(judged, bounds)
    except SchemaRefused as refused:
        return UncompilableSchema(digest, content, str(refused))
    traits = (references.judges_names, references.quotes_itself)
    return CompiledSchema(digest, content, judged_text, weight, validator, *traits)


# Accepts any value; used for the checks that need no schema, such as whether a value is unambiguous.
ANYTHING = CompiledSchema("", True, b"true", 1, jsonschema_rs.Draft202012Validator(True))


class _PatternRefused(SchemaRefused):
    """A pattern that the engine does not accept."""

    def __init__(self, place: str, pattern: str) -> None:
        super().__init__(f"The pattern at {place} is too large.")
        self.place = place
        self.pattern = pattern


def _weigh(content: object, references: References, bounds: SchemaBounds) -> int:
    draft_class(content)
    if references.objects > bounds.subschemas:
        raise SchemaRefused(f"The schema has more than {bounds.subschemas} subschemas.")
    try:
        return weigh(content, references, bound=bounds.weight)
    except UnresolvedReference as problem:
        raise _unresolved(references) from problem


def _unresolved(references: References) -> SchemaRefused:
    if references.leads_outside:
        return SchemaRefused("The schema refers to something outside itself; references are never fetched.")
    return SchemaRefused("The schema refers to something that is not in it.")


def draft_class(content: object) -> type[jsonschema_rs.Validator]:
    """The validator class for the draft that `$schema` names; 2020-12 if there is none. Raises: SchemaRefused."""
    if not isinstance(content, dict) or "$schema" not in content:
        return jsonschema_rs.Draft202012Validator
    name = content["$schema"]
    if isinstance(name, str):
        address = name.removesuffix("#").removeprefix("http://").removeprefix("https://")
        if address in _DRAFTS:
            return _DRAFTS[address]
    raise SchemaRefused("The schema's $schema names no draft known here; use draft-07 or 2020-12.")


def build_validator(
    content: Any,  # Any: what read_schema returned
    engine: Engine,
    *,
    asserts_formats: bool = False,
) -> jsonschema_rs.Validator:
    """Builds the library's validator: nothing is fetched, `engine` matches patterns.

    Raises: SchemaRefused.
    """
    try:
        return draft_class(content)(content, offline=True, pattern_options=engine, validate_formats=asserts_formats)
    except jsonschema_rs.ValidationError as problem:
        raise _refusal(problem, content) from problem
    except (ValueError, jsonschema_rs.ReferencingError) as problem:
        raise SchemaRefused("The schema cannot be compiled.") from problem


class SlowValidator(NamedTuple):
    validator: jsonschema_rs.Validator
    backtracks: bool  # may give up on a value, at its backtrack limit


def build_slow_validator(
    content: Any,  # Any: as above
    bounds: SchemaBounds = DEFAULT_BOUNDS,
    *,
    asserts_formats: bool = False,
) -> SlowValidator:
    """The same with larger patterns and, if one needs it, a backtracking engine; only for a process that can be killed.

    Raises: SchemaRefused.
    """
    build = partial(build_validator, content, asserts_formats=asserts_formats)
    try:
        return SlowValidator(build(engine=linear_engine(bounds.slow_regex_bytes)), backtracks=False)
    except _PatternRefused:
        pass
    try:
        return SlowValidator(build(engine=backtracking_engine(bounds.slow_regex_bytes)), backtracks=True)
    except _PatternRefused as refused:
        _require_faultless(refused, bounds)
        raise


def _build_in_place(content: object, bounds: SchemaBounds) -> jsonschema_rs.Validator | None:
    """The validator, or None if a pattern has to be left to the slow lane. Raises: SchemaRefused."""
    try:
        return build_validator(content, linear_engine(bounds.regex_bytes))
    except _PatternRefused as refused:
        _require_faultless(refused, bounds)
    try:
        # Not run here; it finds a faulty pattern behind one that only needs the other engine.
        build_validator(content, backtracking_engine(bounds.regex_bytes))
    except _PatternRefused as refused:
        _require_faultless(refused, bounds)
    return None


def _require_faultless(refused: _PatternRefused, bounds: SchemaBounds) -> None:
    """Checks a refused pattern. Raises: SchemaRefused, unless only its size or the choice of engine was the problem."""
    fault = pattern_fault(refused.pattern, bounds.slow_regex_bytes)
    if fault:
        raise SchemaRefused(f"The pattern at {refused.place} {fault}.")


def _refusal(problem: jsonschema_rs.ValidationError, content: object) -> SchemaRefused:
    where = "/".join(["#", *scrub_names(str(part) for part in problem.instance_path[:8])])
    if isinstance(problem.kind, jsonschema_rs.ValidationErrorKind.Referencing):
        return _unresolved(read_references(content))
    if isinstance(problem.kind, jsonschema_rs.ValidationErrorKind.Format):
        return _PatternRefused(where, str(problem.instance))
    return SchemaRefused(f"The schema is not valid at {where}.")


__all__ = ["DEFAULT_BOUNDS", "OVER", "SchemaBounds", "SchemaRefused", "Wording", "decode_checked", "read_schema"]
