"""READ FIRST: the life of one call.

    find the tool → decide → check arguments → forward → check result → record → reply

`carry_out` is that path for a runtime that forwards a call and gets its answer in one place: the toolkit and its
adapters. The gateway may get the answer elsewhere (on another connection, on a resumed stream, in a later poll), so it
uses the two halves: `admit` before forwarding, `settle` where the answer appears. A call ends once: `conclude` records
its first end and ignores later ones. The rules are in `core`, and `judgement` applies them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from handfast.clock import Clock
from handfast.core.call import rules
from handfast.core.call.caller import ANYONE, Caller
from handfast.core.call.contract import CompiledContract
from handfast.core.call.exchange import (
    CallEnd,
    Detail,
    Exchange,
    Record,
    Recorder,
    RecordingFailed,
    RecordType,
    Status,
)
from handfast.core.call.policy import ALLOWED, Blocked, Decision, ToolPolicy, Violation, Warned
from handfast.core.call.result import ResultView
from handfast.core.call.unjudged import Direction
from handfast.core.schema.compiled import UncompilableSchema
from handfast.core.words.redaction import scrub_sentence, scrub_text
from handfast.judgement import Judgement, Lane, Terms
from handfast.turns import LARGE_BYTES, take_turn

_MAX_REASON = 2000
Result = TypeVar("Result")


class UnusableResult(Exception):
    """The tool ran, and its result cannot be used as an answer."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.message)
        self.violation = violation


class CallPath:
    """The path of every call, with the recorder, slow lane and clock of a runtime."""

    def __init__(
        self,
        *,
        recorder: Recorder,
        lane: Lane,
        clock: Clock,
        actor: str = "",
        keeps_bodies: bool = False,
        waits_for_all: bool = False,
        waits_for_decisions: bool = True,
        on_uncompilable: Callable[[Exchange, UncompilableSchema, Direction], None] | None = None,
    ) -> None:
        """`actor` stands in the records of calls whose caller is not authenticated."""
        self._recorder = recorder
        self._clock = clock
        self._actor = actor
        self._waits_for_all = waits_for_all
        self._waits_for_decisions = waits_for_decisions
        self._judgement = Judgement(lane=lane, keeps_bodies=keeps_bodies, on_uncompilable=on_uncompilable)
        self.judge = self._judgement.judge_result  # the decision on a result, without a record
        self.open_calls = 0  # calls begun and not yet recorded

    def open(
        self,
        *,
        server: str,
        tool: str,
        policy: ToolPolicy,
        contract: CompiledContract | None = None,
        caller: Caller = ANYONE,
    ) -> Exchange:
        """Begins a call, which will be recorded however it ends."""
        self.open_calls += 1
        return Exchange(
            request_id=self._clock.new_id(),
            server=server,
            tool=tool,
            policy=policy,
            contract=contract,
            started=self._clock.monotonic(),
            caller=caller,
        )

    def resume(
        self,
        *,
        request_id: str,
        server: str,
        tool: str,
        policy: ToolPolicy,
        contract: CompiledContract | None,
        caller: Caller,
        seconds_ago: float,
    ) -> Exchange:
        """Reopens a recorded call that was answered with a task; its result gets a record with the same request id."""
        return Exchange(
            request_id=request_id,
            server=server,
            tool=tool,
            policy=policy,
            contract=contract,
            started=self._clock.monotonic() - seconds_ago,
            caller=caller,
            is_counted=False,
        )

    # --- the whole path --------------------------------------------------------------------------------------------

    async def carry_out(
        self,
        call: Exchange,
        arguments: bytes | None,
        forward: Callable[[], Awaitable[Result]],
        *,
        view: Callable[[Result], ResultView],
        terms: Terms | None = None,
    ) -> Result | Blocked:
        """Runs the whole path from the arguments (raw JSON text) to a result within the contract, or to Blocked.

        `call.has_run` shows whether the arguments or the result were blocked. Raises: RecordingFailed, and what
        `forward` raises except UnusableResult.
        """
        with self.recorded(call):
            decision = await self.admit(call, arguments, terms)
            if isinstance(decision, Blocked):
                return decision
            call.has_run = True
            try:
                result = await forward()
                decision = await self.settle(call, view(result), admin_reason=terms.admin_reason if terms else None)
            except UnusableResult as problem:
                return await self.reject(call, problem.violation)
            return decision if isinstance(decision, Blocked) else result

    @contextmanager
    def recorded(self, call: Exchange) -> Iterator[None]:
        """Records the end of the call however the block ends."""
        mode = call.policy.input.mode
        try:
            yield
        except asyncio.CancelledError:
            with suppress(RecordingFailed):  # no client waits for an answer, so the cancellation goes on
                self.conclude(call, Status.CANCELLED, reason="The client cancelled the call.", mode=mode)
            raise
        except RecordingFailed as problem:
            self.conclude(call, Status.ERROR, rule=rules.RECORDING_FAILED, reason=str(problem), mode=mode)
            raise
        except Exception:
            self.conclude(call, Status.ERROR, reason="The server answered with an error of its own.", mode=mode)
            raise
        except BaseException:  # such as KeyboardInterrupt, by which the operator ends the server
            self.conclude(call, Status.ERROR, reason="The server was stopped.", mode=mode)
            raise
        if call.end is None:
            raise RuntimeError("a call was left without an end")

    # --- before forwarding -------------------------------------------------------------------------------------

    async def admit(self, call: Exchange, text: bytes | None, terms: Terms | None = None) -> Decision:
        """Checks the arguments (raw JSON text). A blocked call is durably recorded, and must not be forwarded."""
        await self._recorder.room()
        is_large = text is not None and len(text) >= LARGE_BYTES
        if is_large:
            await take_turn()
        self._take(call, text)
        if is_large:
            await take_turn()  # computing the digest took a turn of its own
        decision = await self._judgement.judge_arguments(call, text, terms)
        if isinstance(decision, Blocked):
            await self.block(call, decision)
        elif isinstance(decision, Warned):
            self._record_decision(call, decision, Status.WARNING, mode=call.policy.input.mode, direction="arguments")
        return decision

    async def refuse(self, call: Exchange, text: bytes | None, violation: Violation) -> None:
        """Refuses a call in every mode. On return it is durably recorded."""
        await self._recorder.room()
        self._take(call, text)
        await self.block(call, Blocked(violation.rule, violation.message))

    async def answer(self, call: Exchange, text: bytes | None, status: Status, *, rule: str, reason: str) -> None:
        """Records a call that handfast answers itself, like any other call."""
        await self._recorder.room()
        self._take(call, text)
        self.conclude(call, status, rule=rule, reason=reason, mode=call.policy.input.mode)
        await self.durable(call)

    def _take(self, call: Exchange, text: bytes | None) -> None:
        call.details["argument_bytes"] = len(text) if text is not None else 0
        if text is not None:
            call.details["argument_digest"] = self._recorder.digest(text)

    async def block(self, call: Exchange, decision: Blocked) -> None:
        """Ends a call that is blocked before it is forwarded; its arguments are in its details already."""
        mode = call.policy.input.mode
        if call.end is not None:  # cancelled while it was being judged
            self._record_decision(call, decision, Status.BLOCKED, mode=mode, direction="arguments")
            return await self.durable(call)
        refusal = self._decided(call, decision, Status.BLOCKED, mode=mode, direction="arguments")
        self.conclude(call, Status.BLOCKED, rule=decision.rule, reason=decision.reason, mode=mode, refusal=(refusal,))
        return await self.durable(call)

    # --- wherever the answer appears ---------------------------------------------------------------------------

    async def settle(self, call: Exchange, result: ResultView, *, admin_reason: str | None = None) -> Decision:
        """Checks a result. Returns once the required records are durable; if Blocked, the reply is to be replaced.

        `admin_reason` is the caller's reason for running an admin tool of the toolkit; recorded if the tool succeeded.
        """
        if result.structured is None and not result.is_final:
            # This request is answered; what follows has a request and a record of its own.
            call.details["input_required"] = True
            self.conclude(call, Status.SUCCESS, mode=call.policy.output.mode)
            await self.durable(call)
            return ALLOWED
        decision = await self.judge(call, result)
        if call.end is None:
            self.note(call, result, decision)
            if admin_reason is not None and not result.is_error and not isinstance(decision, Blocked):
                self._record_admin(call, admin_reason)
            if call.ticket is not None:
                await self.durable(call)
        return decision

    def note(self, call: Exchange, result: ResultView, decision: Decision) -> None:
        """Records the end of a call that got a result; synchronous, like `conclude`."""
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

    async def reject(self, call: Exchange, violation: Violation) -> Blocked:
        """Blocks a result in every mode, because it cannot be read reliably."""
        decision = Blocked(violation.rule, violation.message)
        mode = call.policy.output.mode
        if call.end is None:
            self._record_decision(call, decision, Status.BLOCKED, mode=mode, direction="result")
            self.conclude(call, Status.BLOCKED, rule=decision.rule, reason=decision.reason, mode=mode)
        await self.durable(call)
        return decision

    # --- what both halves use ----------------------------------------------------------------------------------

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
        """Records the end of a call, once; synchronous, so that a cancellation cannot interrupt it.

        `refusal` is set for a call that is refused: the records before its end. Repeated refusals are only counted.
        """
        if call.end is not None:
            return
        self.open_calls -= call.is_counted
        if call.release is not None:
            call.release()
        if call.contract is None and not rule and call.policy.judges:
            # There was no contract to judge by, and the record says so.
            rule, status = rules.CONTRACT_UNKNOWN, Status.WARNING if status is Status.SUCCESS else status
            reason = reason or "The tool's contract was not known, so the call was forwarded unjudged."
        call.end = CallEnd(status, rule)
        entry = self._entry(
            call, RecordType.TOOL_CALL, status, rule=rule, reason=reason, mode=mode, details=call.details
        )
        if refusal is not None:
            counted = self._recorder.record_refusal(call.caller.label, *refusal, entry)
            if self._waits_for_decisions:
                call.ticket = counted
            return
        ticket = self._recorder.record(entry)
        if self._waits_for_all:
            call.ticket = ticket

    async def durable(self, call: Exchange) -> None:
        """Returns once every decision about this call is on disk; only then may a reply leave."""
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
            actor=call.caller.actor or self._actor,
            details=details,
        )
