"""READ FIRST: the life of one call.

    find the tool → decide → check arguments → forward → check result → record → reply

`admit` is the half before forwarding, `settle` the half wherever the answer appears: in the same connection, on a
resumed stream, in a later poll. Whatever happens in between, `conclude` records the call exactly once. Forwarding is
the runtime's business; the rules are in `core`; this file joins them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from handfast.clock import Clock
from handfast.core.bounds import MOST_MEMBERS
from handfast.core.call import arguments as argument_rules
from handfast.core.call import result as result_rules
from handfast.core.call.contract import CompiledContract
from handfast.core.call.exchange import Detail, Exchange, Record, Recorder, RecordType, Status
from handfast.core.call.policy import (
    ALLOWED,
    Blocked,
    Decision,
    Mode,
    ToolPolicy,
    UnknownArguments,
    Violation,
    Warned,
)
from handfast.core.call.result import ResultView
from handfast.core.call.strict_json import UNREAD, Ambiguous, decode_arguments, decode_judged
from handfast.core.call.unjudged import Direction, unjudged_arguments, unjudged_result
from handfast.core.schema.compiled import ANYTHING, CompiledSchema, UncompilableSchema
from handfast.core.words.redaction import redact_value, scrub_names, scrub_sentence, scrub_text
from handfast.turns import LARGE_BYTES, take_turn

_MAX_BODY = 4096  # characters of a redacted body kept with a record
_MAX_REASON = 2000


class LaneVerdict(Protocol):
    """What the slow lane found out."""

    @property
    def conforms(self) -> bool | None: ...
    @property
    def words(self) -> tuple[str, ...]: ...
    @property
    def problem(self) -> str: ...
    @property
    def reason(self) -> str: ...


class SlowLane(Protocol):
    """Judges what is too heavy to judge in place."""

    async def verdict(
        self,
        schema: CompiledSchema,
        value_text: bytes,
        *,
        wording: bool,
        lenient: bool = False,
        max_depth: int | None = None,
    ) -> LaneVerdict: ...


class Terms(Protocol):
    """What a tool of our own asks of a call beyond what it declares: who may, and how its model reads the arguments."""

    def gate(self, arguments: dict[str, object]) -> Violation | None:
        """Whether this caller may. Comes before anything is said about the arguments."""

    def shape(self, text: bytes, arguments: dict[str, object]) -> tuple[str, ...] | None:
        """What its model objects to; None where it has no model, and the declared schema judges."""


@dataclass(frozen=True, slots=True)
class _Met:
    """Whether a value met a schema: the violations' words, or why it could not be told."""

    conforms: bool
    words: tuple[str, ...] = ()
    problem: str = ""
    reason: str = ""  # of a schema that the slow lane could not compile


class CallPath:
    """The one path, with what a runtime hands in."""

    def __init__(
        self,
        *,
        recorder: Recorder,
        lane: SlowLane,
        clock: Clock,
        keeps_bodies: bool = False,
        waits_for_all: bool = False,
        waits_for_decisions: bool = True,
        on_uncompilable: Callable[[Exchange, UncompilableSchema, Direction], None] | None = None,
    ) -> None:
        self._recorder = recorder
        self._lane = lane
        self._clock = clock
        self._keeps_bodies = keeps_bodies
        self._waits_for_all = waits_for_all
        self._waits_for_decisions = waits_for_decisions
        self._on_uncompilable = on_uncompilable
        self.open_calls = 0  # begun and not yet recorded

    def open(
        self, *, server: str, tool: str, policy: ToolPolicy, contract: CompiledContract | None, actor: str = ""
    ) -> Exchange:
        """Begin a call: from here on it will be recorded, however it ends."""
        self.open_calls += 1
        return Exchange(
            request_id=self._clock.new_id(),
            server=server,
            tool=tool,
            policy=policy,
            contract=contract,
            started=self._clock.monotonic(),
            actor=actor,
        )

    def resume(
        self,
        *,
        request_id: str,
        server: str,
        tool: str,
        policy: ToolPolicy,
        contract: CompiledContract | None,
        actor: str,
        seconds_ago: float,
    ) -> Exchange:
        """A call that was answered with a task and is on record as such: its result gets a record under the same id."""
        return Exchange(
            request_id=request_id,
            server=server,
            tool=tool,
            policy=policy,
            contract=contract,
            started=self._clock.monotonic() - seconds_ago,
            actor=actor,
            is_counted=False,
        )

    # --- before forwarding -------------------------------------------------------------------------------------

    async def admit(self, call: Exchange, text: bytes | None, terms: Terms | None = None) -> Decision:
        """Check the arguments (raw JSON text). Blocked: it is recorded, durable, and must not be forwarded."""
        await self._recorder.room()
        is_large = text is not None and len(text) >= LARGE_BYTES
        if is_large:
            await take_turn()
        self._take(call, text)
        if is_large:
            await take_turn()  # the digest was a piece of work of its own
        decision = await self._judge_arguments(call, text, terms)
        if isinstance(decision, Blocked):
            await self.block(call, decision)
        elif isinstance(decision, Warned):
            self._record_decision(call, decision, Status.WARNING, mode=call.policy.input.mode, direction="arguments")
        return decision

    async def refuse(self, call: Exchange, text: bytes | None, violation: Violation) -> None:
        """A call that cannot be forwarded, whatever the mode. On return it is recorded, and durable."""
        await self._recorder.room()
        self._take(call, text)
        await self.block(call, Blocked(violation.rule, violation.message))

    async def answer(self, call: Exchange, text: bytes | None, status: Status, *, rule: str, reason: str) -> None:
        """A call that handfast answers itself: recorded as every other."""
        await self._recorder.room()
        self._take(call, text)
        self.conclude(call, status, rule=rule, reason=reason, mode=call.policy.input.mode)
        await self.durable(call)

    def _take(self, call: Exchange, text: bytes | None) -> None:
        call.details["argument_bytes"] = len(text) if text is not None else 0
        if text is not None:
            call.details["argument_digest"] = self._recorder.digest(text)

    async def block(self, call: Exchange, decision: Blocked) -> None:
        """A call that goes no further, its arguments being on record."""
        mode = call.policy.input.mode
        if call.is_recorded:  # cancelled while it was being judged
            self._record_decision(call, decision, Status.BLOCKED, mode=mode, direction="arguments")
            return await self.durable(call)
        refusal = self._decided(call, decision, Status.BLOCKED, mode=mode, direction="arguments")
        self.conclude(call, Status.BLOCKED, rule=decision.rule, reason=decision.reason, mode=mode, refusal=(refusal,))
        return await self.durable(call)

    async def _judge_arguments(self, call: Exchange, text: bytes | None, terms: Terms | None) -> Decision:
        policy = call.policy.input
        if not policy.judges:
            return ALLOWED
        try:
            value = {} if text is None or text == b"null" else decode_arguments(text)
        except Ambiguous as problem:
            # Always refused: the tool might read it differently from us.
            unreadable = argument_rules.unreadable_violation(problem)
            return Blocked(unreadable.rule, unreadable.message)
        if not isinstance(value, dict):
            return Blocked("arguments.schema", "The arguments must be a JSON object. Send one and call again.")
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
        if is_firm or policy.mode is Mode.STRICT:
            return Blocked(violation.rule, violation.message)
        return Warned(violation.rule, violation.message)

    async def _argument_violation(
        self, call: Exchange, text: bytes, value: dict[str, object], terms: Terms | None
    ) -> tuple[Violation | None, bool]:
        """The first broken rule, and whether it blocks whatever the mode."""
        policy = call.policy.input
        schema = call.contract.input if call.contract else None
        if schema is None:
            return None, False
        if policy.unknown_arguments is not UnknownArguments.SCHEMA:
            unknown = argument_rules.check_unknown(value, schema.declared, policy)
            if unknown is not None:
                if terms is not None:
                    terms.shape(text, value)  # what the model objects to is logged at its boundary, as always
                # Also when the schema was broken: a wrapped payload misses every field, and that text would mislead.
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
            return None  # nearly always; what follows is for saying why not
        met = await self._look_closer(schema, text, value=value, lenient=policy.lenient_scalars)
        if met.conforms:
            return None
        if met.problem == "uncompilable":
            return self._unjudged_arguments(call, schema.refused(met.reason))
        words = met.words or (("checking them took too long and was stopped",) if met.problem else ())
        return argument_rules.schema_violation(words, declared=schema.declared, mode=policy.mode)

    def _unjudged_arguments(self, call: Exchange, schema: UncompilableSchema) -> Violation | None:
        self._mark_unjudged(call, schema, "arguments")
        return unjudged_arguments(schema.reason) if call.policy.input.objects_to_unjudged else None

    # --- wherever the answer appears ---------------------------------------------------------------------------

    async def settle(self, call: Exchange, result: ResultView, *, admin_reason: str | None = None) -> Decision:
        """Check a result. Returns once what must be on record is; Blocked: the reply is to be replaced.

        `admin_reason` is why an admin tool of our own was run, as its caller put it: on record if it succeeded.
        """
        if result.structured is None and not result.is_final:
            # This request is answered; what follows comes with a request of its own, and a record of its own.
            call.details["input_required"] = True
            self.conclude(call, Status.SUCCESS, mode=call.policy.output.mode)
            await self.durable(call)
            return ALLOWED
        decision = await self.judge(call, result)
        if not call.is_recorded:
            self.note(call, result, decision)
            if admin_reason is not None and not result.is_error and not isinstance(decision, Blocked):
                self._record_admin(call, admin_reason)
            if call.ticket is not None:
                await self.durable(call)
        return decision

    async def judge(self, call: Exchange, result: ResultView) -> Decision:
        """The verdict on a result, and nothing else."""
        policy = call.policy.output
        if result.is_error or not policy.judges:
            return ALLOWED
        violation = await self._result_violation(call, result)
        if violation is None:
            return ALLOWED
        if policy.mode is Mode.STRICT:
            return Blocked(violation.rule, violation.message)
        return Warned(violation.rule, violation.message)

    def note(self, call: Exchange, result: ResultView, decision: Decision) -> None:
        """Record how a call ended that got a result: synchronous, as `conclude` is."""
        mode = call.policy.output.mode
        call.details["result_bytes"] = result.size
        if isinstance(decision, Blocked):
            self._record_decision(call, decision, Status.BLOCKED, mode=mode, direction="result")
            self.conclude(call, Status.BLOCKED, rule=decision.rule, reason=decision.reason, mode=mode)
        elif isinstance(decision, Warned):
            self._record_decision(call, decision, Status.WARNING, mode=mode, direction="result")
            self.conclude(call, Status.SUCCESS, mode=mode)
        else:
            self.conclude(call, Status.ERROR if result.is_error else Status.SUCCESS, mode=mode)

    async def _result_violation(self, call: Exchange, result: ResultView) -> Violation | None:
        policy = call.policy.output
        declared = call.contract.output if call.contract else None
        if declared is None:
            if policy.guards_without_schema and result.structured is not None:
                return result_rules.check_guards(result.structured, policy)
            return None
        if result.structured is None:
            # Never a failure in warn: many real tools declare a schema and send only text.
            return result_rules.check_presence(policy) if policy.mode is Mode.STRICT else None
        if isinstance(declared, UncompilableSchema):
            return await self._unjudged_result(declared, result.structured, result.value, call)
        return await self._structured_violation(declared, result.structured, result.value, call)

    async def _unjudged_result(
        self, schema: UncompilableSchema, text: bytes, value: object, call: Exchange
    ) -> Violation | None:
        self._mark_unjudged(call, schema, "result")
        # What needs no schema is judged all the same.
        violation = await self._structured_violation(ANYTHING, text, value, call)
        if violation is None and call.policy.output.objects_to_unjudged:
            return unjudged_result(schema.reason)
        return violation

    async def _structured_violation(
        self, schema: CompiledSchema, text: bytes, value: object, call: Exchange
    ) -> Violation | None:
        policy = call.policy.output
        is_small = schema.fits_in_place(len(text))
        # How deep a large value goes takes as long to find as it takes to judge it.
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
                return None  # nearly always; what follows is for saying why not
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

    async def reject(self, call: Exchange, violation: Violation) -> Blocked:
        """A result that goes no further whatever the mode, because nobody can tell what it says."""
        decision = Blocked(violation.rule, violation.message)
        mode = call.policy.output.mode
        if not call.is_recorded:
            self._record_decision(call, decision, Status.BLOCKED, mode=mode, direction="result")
            self.conclude(call, Status.BLOCKED, rule=decision.rule, reason=decision.reason, mode=mode)
        await self.durable(call)
        return decision

    # --- what both halves use ----------------------------------------------------------------------------------

    def _mark_unjudged(self, call: Exchange, schema: UncompilableSchema, direction: Direction) -> None:
        """The call's own record says what could not be judged and why; the operator is told once."""
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
        lenient: bool = False,
        max_depth: int | None = None,
    ) -> _Met:
        """A value that was not judged in place, or does not conform there."""
        if not schema.fits_in_place(len(text)):
            verdict = await self._lane.verdict(schema, text, wording=True, lenient=lenient, max_depth=max_depth)
            return _Met(bool(verdict.conforms), verdict.words, verdict.problem, verdict.reason)
        if not schema.words_fit_in_place(value):
            verdict = await self._lane.verdict(schema, text, wording=True, lenient=lenient)
            # Without leniency the verdict is known, and only its wording was asked for.
            return _Met(lenient and verdict.conforms is True, verdict.words)
        if lenient and schema.is_valid_if_coerced(value):
            return _Met(conforms=True)
        return _Met(conforms=False, words=schema.describe(value))

    def conclude(
        self,
        call: Exchange,
        status: Status,
        *,
        rule: str = "",
        reason: str = "",
        mode: str = "",
        refusal: tuple[Record, ...] | None = None,
    ) -> None:
        """Record the end of a call, once: synchronous, so that no cancellation can come between.

        `refusal` is given for a call that goes no further, with what is recorded before its end: many are counted.
        """
        if call.is_recorded:
            return
        call.is_recorded = True
        self.open_calls -= call.is_counted
        if call.release is not None:
            call.release()
        if call.contract is None and not rule and call.policy.judges:
            # Nothing was known to judge it by; that is on record as such.
            rule, status = "contract.unknown", Status.WARNING if status is Status.SUCCESS else status
            reason = reason or "The tool's contract was not known, so the call was forwarded unjudged."
        call.status, call.rule = status, rule
        entry = self._entry(
            call, RecordType.TOOL_CALL, status, rule=rule, reason=reason, mode=mode, details=call.details
        )
        if refusal is not None:
            counted = self._recorder.record_refusal(str(call.caller or call.actor), *refusal, entry)
            if self._waits_for_decisions:
                call.ticket = counted
            return
        ticket = self._recorder.record(entry)
        if self._waits_for_all:
            call.ticket = ticket

    async def durable(self, call: Exchange) -> None:
        """Return once every decision about this call is on disk: only then may a reply leave."""
        if call.ticket is not None:
            await self._recorder.committed(call.ticket)

    def _record_admin(self, call: Exchange, reason: str) -> None:
        call.is_admin_done = True
        details: dict[str, Detail] = {"stated_reason": scrub_text(reason)}
        call.ticket = self._recorder.record(
            self._entry(call, RecordType.ADMIN_OPERATION, Status.SUCCESS, rule="", reason="", mode="", details=details)
        )

    def _record_decision(
        self, call: Exchange, decision: Blocked | Warned, status: Status, *, mode: str, direction: str
    ) -> None:
        ticket = self._recorder.record(self._decided(call, decision, status, mode=mode, direction=direction))
        if self._waits_for_decisions:
            call.ticket = ticket

    def _decided(
        self, call: Exchange, decision: Blocked | Warned, status: Status, *, mode: str, direction: str
    ) -> Record:
        details: dict[str, Detail] = {"direction": direction}
        if call.contract is not None:
            details["contract"] = call.contract.fingerprint
        return self._entry(
            call,
            RecordType.POLICY_DECISION,
            status,
            rule=decision.rule,
            reason=decision.reason,
            mode=mode,
            details=details,
        )

    def _entry(
        self,
        call: Exchange,
        kind: RecordType,
        status: Status,
        *,
        rule: str,
        reason: str,
        mode: str,
        details: dict[str, Detail],
    ) -> Record:
        return Record(
            id=self._clock.new_id(),
            time=self._clock.now(),
            type=kind,
            status=status,
            server=call.server,
            tool=call.tool,
            mode=mode,
            rule=rule,
            reason=scrub_sentence(reason)[:_MAX_REASON] if reason else "",
            request_id=call.request_id,
            duration_ms=round((self._clock.monotonic() - call.started) * 1_000_000) / 1000,
            actor=call.actor,
            details=details,
        )


def _body(value: object) -> str:
    return msgspec.json.encode(redact_value(value))[:_MAX_BODY].decode(errors="replace")
