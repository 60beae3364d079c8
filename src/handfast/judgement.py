"""The judgement of one call: whether its arguments and its result keep the tool's contract.

The rules are in `core`; values that take too long to judge in place go to the slow lane. Nothing is recorded here.
"""

from collections.abc import Callable
from typing import Protocol, Unpack

import msgspec

from handfast.core.bounds import MOST_MEMBERS
from handfast.core.call import arguments as argument_rules
from handfast.core.call import result as result_rules
from handfast.core.call import rules
from handfast.core.call.exchange import Exchange
from handfast.core.call.policy import ALLOWED, Blocked, Decision, Formats, Mode, UnknownArguments, Violation, Warned
from handfast.core.call.result import ResultView
from handfast.core.call.strict_json import UNREAD, Ambiguous, decode_arguments, decode_judged
from handfast.core.call.unjudged import Direction, unjudged_arguments, unjudged_result
from handfast.core.schema.compiled import ANYTHING, CompiledSchema, UncompilableSchema
from handfast.core.words.redaction import redact_value, scrub_names
from handfast.slow_lane.client import LaneVerdict, LaneWishes

_ASSERT = Formats.ASSERT  # members of an enum would be looked up with every call
_ANNOTATE = Formats.ANNOTATE
_MAX_BODY = 4096  # bytes of a redacted body kept with a record


class Lane(Protocol):
    """The slow lane: judges values that are too heavy to judge in place."""

    async def verdict(self, schema: CompiledSchema, value_text: bytes, **wishes: Unpack[LaneWishes]) -> LaneVerdict: ...


class Terms(Protocol):
    """What a toolkit tool requires beyond its schema: who may call it, and how its model reads the arguments."""

    def gate(self, arguments: dict[str, object]) -> Violation | None:
        """The violation if this caller may not call the tool. Checked before the arguments are judged."""

    def shape(self, text: bytes, arguments: dict[str, object]) -> tuple[str, ...] | None:
        """The model's violations; None if the declared schema judges: there is no model, or it found none and may take
        what the schema refuses."""

    @property
    def has_model(self) -> bool:
        """Whether a model reads the arguments. It reads formats too, some of them more widely than JSON Schema."""

    @property
    def admin_reason(self) -> str | None:
        """The caller's reason for running an admin tool; None for other tools."""


class Judgement:
    """Judges arguments and results, with the slow lane and the hooks of a runtime."""

    def __init__(
        self,
        *,
        lane: Lane,
        keeps_bodies: bool,
        on_uncompilable: Callable[[Exchange, UncompilableSchema, Direction], None] | None,
    ) -> None:
        self._lane = lane
        self._keeps_bodies = keeps_bodies
        self._on_uncompilable = on_uncompilable

    # --- arguments ------------------------------------------------------------------------------------------------

    async def judge_arguments(self, call: Exchange, text: bytes | None, terms: Terms | None) -> Decision:
        """The decision on the arguments, raw JSON text."""
        policy = call.policy.input
        if not policy.judges:
            return ALLOWED
        try:
            value = {} if text is None or text == b"null" else decode_arguments(text)
        except Ambiguous as problem:
            # Always refused: the tool might read them differently from handfast.
            unreadable = argument_rules.unreadable_violation(problem)
            return Blocked(unreadable.rule, unreadable.message)
        if not isinstance(value, dict):
            return Blocked(rules.ARGUMENTS_SCHEMA, "The arguments must be a JSON object. Send one and call again.")
        if len(value) > MOST_MEMBERS:
            return Blocked(argument_rules.TOO_MANY.rule, argument_rules.TOO_MANY.message)
        call.details["argument_keys"] = scrub_names(value)
        if self._keeps_bodies:
            call.details["arguments"] = _body(value)
        refusal = terms.gate(value) if terms is not None else None
        if refusal is not None:
            return Blocked(refusal.rule, refusal.message)
        said = b"{}" if text is None or text == b"null" else text
        violation, is_firm = await self._argument_violation(call, said, value, terms)
        if violation is None:
            return ALLOWED
        return _decide(violation, is_firm=is_firm or policy.mode is Mode.STRICT)

    async def _argument_violation(
        self, call: Exchange, text: bytes, value: dict[str, object], terms: Terms | None
    ) -> tuple[Violation | None, bool]:
        """The first broken rule, and whether it blocks in every mode."""
        policy = call.policy.input
        formats = _ANNOTATE if terms is not None and terms.has_model else policy.formats
        schema = _held_to(call.contract.input if call.contract else None, formats)
        if schema is None:
            return None, False
        if policy.unknown_arguments is not UnknownArguments.SCHEMA:
            unknown = argument_rules.check_unknown(value, schema.declared, policy)
            if unknown is not None:
                if terms is not None:
                    terms.shape(text, value)  # logs the model's objections as usual
                # Before the schema is judged: a wrapped payload lacks every field, and a text about that would mislead.
                return unknown, True
        words = terms.shape(text, value) if terms is not None else None
        if words is None:
            return await self._unmet_by_arguments(call, schema, text, value), False
        if not words:
            return None, False
        return argument_rules.schema_violation(words, declared=schema.declared, mode=policy.mode), False

    async def _unmet_by_arguments(
        self, call: Exchange, schema: CompiledSchema | UncompilableSchema, text: bytes, value: dict[str, object]
    ) -> Violation | None:
        policy = call.policy.input
        if isinstance(schema, UncompilableSchema):
            return self._unjudged_arguments(call, schema)
        if schema.fits_in_place(len(text)) and schema.is_valid(value):
            return None  # the usual case; the rest finds out why not
        met = await self._look_closer(schema, text, value=value, show_names=True, lenient=policy.lenient_scalars)
        if met.conforms:
            return None
        if met.problem == "uncompilable":
            return self._unjudged_arguments(call, schema.refused(met.reason))
        words = met.words or (("checking them took too long and was stopped",) if met.problem else ())
        return argument_rules.schema_violation(words, declared=schema.declared, mode=policy.mode, facts=met.facts)

    def _unjudged_arguments(self, call: Exchange, schema: UncompilableSchema) -> Violation | None:
        self._mark_unjudged(call, schema, "arguments")
        return unjudged_arguments(schema.reason) if call.policy.input.objects_to_unjudged else None

    # --- results --------------------------------------------------------------------------------------------------

    async def judge_result(self, call: Exchange, result: ResultView) -> Decision:
        """The decision on a result; records nothing."""
        policy = call.policy.output
        if result.is_error or not policy.judges:
            return ALLOWED
        violation = await self._result_violation(call, result)
        return ALLOWED if violation is None else _decide(violation, is_firm=policy.mode is Mode.STRICT)

    async def _result_violation(self, call: Exchange, result: ResultView) -> Violation | None:
        policy = call.policy.output
        declared = _held_to(call.contract.output if call.contract else None, policy.formats)
        if declared is None:
            if policy.guards_without_schema and result.structured is not None:
                return result_rules.check_guards(result.structured, policy)
            return None
        if result.structured is None:
            # Not a violation in warn: many real tools declare a schema and send only text.
            return result_rules.check_presence(policy) if policy.mode is Mode.STRICT else None
        if isinstance(declared, UncompilableSchema):
            return await self._unjudged_result(declared, result.structured, result.value, call)
        return await self._structured_violation(declared, result.structured, result.value, call)

    async def _unjudged_result(
        self, schema: UncompilableSchema, text: bytes, value: object, call: Exchange
    ) -> Violation | None:
        self._mark_unjudged(call, schema, "result")
        # The checks that need no schema still apply.
        violation = await self._structured_violation(ANYTHING, text, value, call)
        if violation is None and call.policy.output.objects_to_unjudged:
            return unjudged_result(schema.reason)
        return violation

    async def _structured_violation(
        self, schema: CompiledSchema, text: bytes, value: object, call: Exchange
    ) -> Violation | None:
        policy = call.policy.output
        is_small = schema.fits_in_place(len(text))
        # The depth of a large value takes as long to find as judging it, so the slow lane does that.
        guard = result_rules.check_guards(text, policy) if is_small else result_rules.check_size(text, policy)
        if guard is not None:
            return guard
        if is_small:
            try:
                value = decode_judged(text) if value is UNREAD else value
            except Ambiguous as problem:
                return result_rules.ambiguous_violation(str(problem))
            if self._keeps_bodies:
                call.details["structured_content"] = _body(value)
            if schema.is_valid(value):
                return None  # the usual case; the rest finds out why not
        met = await self._look_closer(schema, text, value=value, max_depth=policy.max_depth)
        if met.conforms:
            return None
        if met.problem == "too deep":
            return result_rules.depth_violation(policy.max_depth)
        if met.problem == "ambiguous":
            return result_rules.ambiguous_violation("; ".join(met.words))
        if met.problem == "uncompilable" and schema is not ANYTHING:
            return await self._unjudged_result(schema.refused(met.reason), text, value, call)
        return result_rules.TOO_SLOW if met.problem else result_rules.schema_violation(met.words)

    # --- both -----------------------------------------------------------------------------------------------------

    def _mark_unjudged(self, call: Exchange, schema: UncompilableSchema, direction: Direction) -> None:
        """Marks in the call's record what could not be judged and why; the hook informs the operator once."""
        marks = call.details.get("unjudged")
        earlier = marks if isinstance(marks, list) else []
        call.details["unjudged"] = [*earlier, f"{direction}: {schema.reason}"]
        if self._on_uncompilable is not None:
            self._on_uncompilable(call, schema, direction)

    async def _look_closer(
        self,
        schema: CompiledSchema,
        text: bytes,
        *,
        value: object,
        show_names: bool = False,
        lenient: bool = False,
        max_depth: int | None = None,
    ) -> LaneVerdict:
        """The verdict on a value that was not judged in place, or does not conform."""
        if not schema.fits_in_place(len(text)):
            return await self._lane.verdict(
                schema, text, wording=True, show_names=show_names, lenient=lenient, max_depth=max_depth
            )
        if not schema.words_fit_in_place(value):
            verdict = await self._lane.verdict(schema, text, wording=True, show_names=show_names, lenient=lenient)
            # Without leniency the verdict is known already, and the lane was only needed for its wording.
            return LaneVerdict(lenient and verdict.conforms is True, verdict.words, facts=verdict.facts)
        if lenient and schema.is_valid_if_coerced(value):
            return LaneVerdict(conforms=True)
        parts = schema.describe_parts(value, show_names=show_names)
        facts = tuple(fact for part in parts for fact in part.facts)
        return LaneVerdict(conforms=False, words=tuple(map(str, parts)), facts=facts)


def _held_to(
    schema: CompiledSchema | UncompilableSchema | None, formats: Formats
) -> CompiledSchema | UncompilableSchema | None:
    """The schema as it judges under a policy."""
    return schema.asserting if formats is _ASSERT and isinstance(schema, CompiledSchema) else schema


def _decide(violation: Violation, *, is_firm: bool) -> Decision:
    if is_firm:
        return Blocked(violation.rule, violation.message, violation.facts)
    return Warned(violation.rule, violation.message)


def _body(value: object) -> str:
    return msgspec.json.encode(redact_value(value))[:_MAX_BODY].decode(errors="replace")
