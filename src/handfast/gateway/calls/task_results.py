"""Results that come later: a call answered with a task is remembered, and its result judged wherever it appears.

2025-11-25: a tools/call with `params.task` is answered `{"task": {"taskId": …}}`, and tasks/result has the result.
2026-07-28: the answer is a task by its `resultType`, and the result stands in tasks/get and in notifications/tasks.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from handfast.catalog.contracts import ServerContracts
from handfast.catalog.tasks import KeptTask, KeptTasks, task_key
from handfast.clock import Clock
from handfast.core.access.permissions import Denied, deny_call, may_call
from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.contract import CompiledContract
from handfast.core.call.exchange import Exchange, RecordingFailed, Status, Ticket
from handfast.core.call.policy import ALLOWED, Blocked, Decision, ToolPolicy, Warned
from handfast.core.call.result import ResultView, ambiguous_violation, blocked_text
from handfast.core.words.redaction import scrub_name
from handfast.gateway.calls.journal import Journal
from handfast.gateway.calls.result_view import results_in_task, view_result
from handfast.tool_call import CallPath
from handfast.wire.codes import RECORDING_FAILED, UPSTREAM_FAILED
from handfast.wire.members import text_member
from handfast.wire.message import AmbiguousKeys, Members, Message, read_level
from handfast.wire.replies import error_reply, error_result, tool_error
from handfast.wire.scan import NotJson, scan_array
from handfast.wire.splice import drop, put

_DAY = 86_400.0
# A server may keep a task for longer than it said. A result that comes after its task was forgotten is not judged, so a
# short `ttl` is raised to this.
_LEAST_SECONDS = 7 * _DAY
_MOST_SECONDS = 30 * _DAY  # also where none is stated
_AT_HAND = 1_000  # tasks in memory; the others are on disk

_UNKNOWN: Final = "it is not known which tool the task is of, so its result cannot be judged"
_ENDED: Final = {b'"failed"': Status.ERROR, b'"cancelled"': Status.CANCELLED}


@dataclass(slots=True)
class _Task:
    """A task in memory: what is kept of it on disk, and what was last recorded of its result."""

    kept: KeptTask
    contract: CompiledContract | None
    outcome: str
    ticket: Ticket | None = None  # of the records of that outcome, which every reply waits for


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What one message says about a task: results, or how it ended without one, or neither."""

    results: tuple[ResultView, ...] = ()  # more than one only where the server puts them at several levels
    ambiguity: str = ""  # why the result can be read in more than one way
    ended: Status | None = None


class TaskResults:
    """The tasks of one server.

    An id only selects the contract that judges the server's answer; handfast serves no results itself. Each process of
    a server may count, so an id means the caller's own task. If the caller has none, it means the only one that was
    ever given out, as after a restart: guessing an id opens nothing that the server does not open itself.
    """

    def __init__(
        self,
        server: str,
        *,
        path: CallPath,
        journal: Journal,
        contracts: ServerContracts,
        policy_of: Callable[[str], ToolPolicy],
        kept: KeptTasks,
        clock: Clock,
    ) -> None:
        self._server = server
        self._path = path
        self._journal = journal
        self._contracts = contracts
        self._policy_of = policy_of
        self._kept = kept
        self._clock = clock
        # None: a task that is not ours, and for which the diagnostic was recorded.
        self._at_hand: OrderedDict[str, _Task | None] = OrderedDict()

    # --- a call becomes a task -----------------------------------------------------------------------------------

    async def begin(self, call: Exchange, tool: str, tasks: Sequence[Members], report: TaskReport) -> Decision:
        """Ends a call whose result comes later as a task. Returns once a restart would not lose the task.

        Some clients read the result in this answer, others ask for that of the task: both are judged.
        """
        call.details["task"] = "created"
        if call.policy.output.judges and any("taskId" in task and read_task_id(task) is None for task in tasks):
            # A task with such an id could not be asked for, and its result would belong to no call.
            return await self._path.reject(
                call, ambiguous_violation("the id of its task is neither text nor a whole number")
            )
        decision: Decision = ALLOWED
        if report.results:
            decision = await self._judge(call, report)
            if call.end is None:
                self._path.note(call, report.results[0], decision)
        else:
            self._path.conclude(call, Status.SUCCESS, mode=call.policy.output.mode)
        for task in tasks:
            await self._remember(call, tool, task)
        await self._path.durable(call)
        return decision

    async def _remember(self, call: Exchange, tool: str, task: Members) -> None:
        task_id = read_task_id(task)
        if task_id is None:
            return
        contract = call.contract or self._contracts.find(tool)
        now = self._clock.wall()
        kept = KeptTask(
            key=task_key(task_id, call.caller.name),
            named=task_key(task_id),
            holder=task_key(call.caller.address)[:16],
            tool=tool if contract is not None else call.tool,  # an unlisted name is the caller's: kept scrubbed
            request_id=call.request_id,
            actor=call.caller.actor,
            contract=None if contract is None else contract.contract,
            created=now,
            expires=now + _seconds_to_keep(task),
        )
        self._hold(kept.key, _Task(kept, contract, outcome=""))
        await self._kept.keep(kept)

    def _hold(self, key: str, task: _Task | None) -> None:
        self._at_hand[key] = task
        self._at_hand.move_to_end(key)
        if len(self._at_hand) > _AT_HAND:
            self._at_hand.popitem(last=False)

    async def deny(self, task_id: str, caller: Caller) -> Denied | None:
        """Why a caller may not ask about a task: its token does not allow the tool that the task is of."""
        identity = caller.identity
        task = None if identity is None else await self._find(task_key(task_id, caller.name), "")
        if task is None:
            return None
        tool, contract = task.kept.tool, self._contracts.find(task.kept.tool)
        kind = "admin" if contract is None else contract.kind
        return None if may_call(identity, self._server, tool, kind) else deny_call(self._server, tool, kind)

    # --- its result appears --------------------------------------------------------------------------------------

    async def settle_answer(
        self, message: Message, task_id: str, method: str, caller: Caller, *, is_modern: bool
    ) -> bytes:
        """What the client gets for the server's answer to a request about a task."""
        assert message.id is not None
        if method == "tasks/list":
            return await self._settle_list(message, caller)
        is_whole = method == "tasks/result"
        try:
            report = _read_whole(message) if is_whole else read_task(message.result() or {}, len(message.raw))
            task, decision = await self._settle(task_id, report, caller)
        except (AmbiguousKeys, NotJson) as problem:
            self._refuse(problem)
            return error_reply(message.id, UPSTREAM_FAILED, f"The server's answer could not be used: {problem}.")
        except RecordingFailed as problem:
            return error_reply(message.id, RECORDING_FAILED, str(problem))
        if not isinstance(decision, Blocked):
            return message.raw
        text = _blocked_text(task, decision)
        if is_whole:
            return tool_error(message.id, text, is_modern=is_modern, task_id=task_id)
        return _with_result(message.raw, "result", message.result() or {}, error_result(text, is_modern=is_modern))

    async def _settle_list(self, message: Message, caller: Caller) -> bytes:
        """Judges results that stand in a list of tasks, as in an answer about one task."""
        assert message.id is not None
        try:
            tasks = bytes((message.result() or {}).get("tasks", b""))
            for text in scan_array(tasks) if tasks.startswith(b"[") else []:
                task = read_level(text) if text.startswith(b"{") else {}
                _, decision = await self._settle(read_task_id(task) or "", read_task(task, len(text)), caller)
                if isinstance(decision, Blocked):
                    return error_reply(
                        message.id, UPSTREAM_FAILED, f"A task in the list was blocked: {decision.reason}"
                    )
        except (AmbiguousKeys, NotJson) as problem:
            self._refuse(problem)
            return error_reply(message.id, UPSTREAM_FAILED, f"The server's answer could not be used: {problem}.")
        except RecordingFailed as problem:
            return error_reply(message.id, RECORDING_FAILED, str(problem))
        return message.raw

    async def settle_notification(self, message: Message, caller: Caller) -> bytes | None:
        """What the client gets of a notification about a task; None when nothing."""
        try:
            params = message.params()
            report = read_task(params, len(message.raw))
            task, decision = await self._settle(read_task_id(params) or "", report, caller)
        except (AmbiguousKeys, NotJson) as problem:
            self._refuse(problem)
            return None
        except RecordingFailed:
            return None  # what cannot be put on record is not passed on either
        if not isinstance(decision, Blocked):
            return message.raw
        result = error_result(_blocked_text(task, decision), is_modern=message.method == "notifications/tasks")
        return _with_result(message.raw, "params", params, result)

    async def _settle(self, task_id: str, report: TaskReport, caller: Caller) -> tuple[_Task | None, Decision]:
        """Judges what a message says each time, and records it once. Raises: RecordingFailed."""
        if not report.results and report.ended is None:
            return None, ALLOWED  # still at work, as in the answer to nearly every poll
        key = task_key(task_id, caller.name)
        # An end without a result is not taken as that of another caller's task.
        task = await self._find(key, task_key(task_id) if report.results else "")
        if task is None:
            return None, self._decide_unknown(key, report)
        call = self._resume(task)
        decision = await self._judge(call, report)
        self._note(task, call, report, decision)
        await self._path.durable(call)
        return task, decision

    async def _judge(self, call: Exchange, report: TaskReport) -> Decision:
        if report.ambiguity:
            violation = ambiguous_violation(report.ambiguity)
            return Blocked(violation.rule, violation.message)
        decisions = [await self._path.judge(call, result) for result in report.results]
        return min(decisions, key=_by_weight, default=ALLOWED)

    def _note(self, task: _Task, call: Exchange, report: TaskReport, decision: Decision) -> None:
        """Records what this message says unless it is on record: synchronous, so that only one of two polls does it."""
        outcome = _outcome(report, decision)
        # A result with another outcome than before is recorded again. An end without a result adds nothing to one.
        if outcome == task.outcome or (not report.results and task.outcome):
            call.ticket = task.ticket
            return
        task.outcome = outcome
        self._kept.note_outcome(task.kept.key, outcome)
        if report.results:
            self._path.note(call, report.results[0], decision)
        elif report.ended is not None:
            how = "failed" if report.ended is Status.ERROR else "was cancelled"
            self._path.conclude(call, report.ended, reason=f"The task {how}.", mode=call.policy.output.mode)
        task.ticket = call.ticket

    # --- whose it is ---------------------------------------------------------------------------------------------

    async def _find(self, key: str, named: str) -> _Task | None:
        if key in self._at_hand:
            self._at_hand.move_to_end(key)
            return self._at_hand[key]
        kept = await self._kept.find(key, named)
        if kept is not None and key not in self._at_hand:  # two polls at once share one task
            self._hold(key, _Task(kept, contract=None, outcome=kept.outcome))
        return self._at_hand.get(key)

    def _resume(self, task: _Task) -> Exchange:
        """The call that the task was made for, under the policy that holds now."""
        kept = task.kept
        if task.contract is None and kept.contract is not None:
            task.contract = self._contracts.compiled(kept.contract)
        call = self._path.resume(
            request_id=kept.request_id,
            server=self._server,
            tool=scrub_name(kept.tool),
            policy=self._policy_of(kept.tool),
            contract=task.contract or self._contracts.find(kept.tool),
            caller=Caller(actor=kept.actor),
            seconds_ago=max(0.0, self._clock.wall() - kept.created),
        )
        call.details["task"] = "result"
        return call

    def _decide_unknown(self, key: str, report: TaskReport) -> Decision:
        """Decides about a task that handfast did not see begin: it has no contract to judge the result by."""
        if report.results and self._policy_of("").blocks_unknown_tools:
            self._journal.diagnose(self._server, rules.RESULT_UNKNOWN_TASK, f"It was blocked: {_UNKNOWN}.")
            return Blocked(rules.RESULT_UNKNOWN_TASK, _UNKNOWN)
        if report.ambiguity:
            self._journal.diagnose(self._server, rules.RESULT_AMBIGUOUS, f"The result of a task: {report.ambiguity}.")
            return Blocked(rules.RESULT_AMBIGUOUS, report.ambiguity)
        if report.results and key not in self._at_hand:
            self._hold(key, None)
            reason = "The result of a task was passed on unjudged: it is not known which tool it is from."
            self._journal.diagnose(self._server, rules.CONTRACT_UNKNOWN, reason)
        return ALLOWED

    def _refuse(self, problem: Exception) -> None:
        reason = f"What the server said about a task was refused: {problem}."
        self._journal.diagnose(self._server, rules.MESSAGE_AMBIGUOUS, reason)


def read_task_id(members: Members) -> str | None:
    """Returns the id as text. A number becomes its digits: some servers count, and their tasks are judged as well."""
    try:
        return str(msgspec.json.decode(members["taskId"], type=str | int))
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def created_tasks(result: Members, *, is_modern: bool) -> list[Members]:
    """Returns what may name a task in an answer to a call: itself, and its `task`. Raises: AmbiguousKeys, NotJson."""
    inner = bytes(result.get("task", b""))
    nested = [read_level(inner)] if inner.startswith(b"{") else []
    return [result, *nested] if is_modern and text_member(result, "resultType") == "task" else nested


def _seconds_to_keep(task: Members) -> float:
    try:
        stated = msgspec.json.decode(task.get("ttlMs", task.get("ttl", msgspec.Raw(b"null"))), type=float | None)
    except msgspec.DecodeError:
        stated = None
    return _MOST_SECONDS if stated is None else min(max(stated / 1000, _LEAST_SECONDS), _MOST_SECONDS)


def _read_whole(message: Message) -> TaskReport:
    """Reads the answer to tasks/result: the tool's own result, or an error of the tool or about a lost task."""
    if message.has_error:
        return TaskReport(ended=Status.ERROR)
    size = len(message.raw)
    try:
        result = message.result() or {}
        below = tuple(found for found in results_in_task(result, size) if found.structured is not None)
        return TaskReport(below if "structuredContent" in result else (view_result(result, size), *below))
    except (AmbiguousKeys, NotJson) as problem:
        return TaskReport((ResultView(None, size=size),), ambiguity=str(problem))


def read_task(task: Members, size: int) -> TaskReport:
    """Reads a task as it stands. A result in it counts whatever its status."""
    try:
        results = results_in_task(task, size)
    except (AmbiguousKeys, NotJson) as problem:
        return TaskReport((ResultView(None, size=size),), ambiguity=str(problem))
    return TaskReport(results, ended=None if results else _ENDED.get(bytes(task.get("status", b""))))


def _by_weight(decision: Decision) -> int:
    return 0 if isinstance(decision, Blocked) else 1 if isinstance(decision, Warned) else 2


def _with_result(raw: bytes, place: str, task: Members, result: bytes) -> bytes:
    """Replaces every result of the task, at whatever level, with this one."""
    others = [(place, name) for name in ("structuredContent", "task") if name in task]
    return put(drop(raw, others) if others else raw, {(place, "result"): result})


def _outcome(report: TaskReport, decision: Decision) -> str:
    if isinstance(decision, Blocked | Warned):
        return f"{type(decision).__name__.lower()} {decision.rule}"
    if not report.results:
        return str(report.ended)
    return str(Status.ERROR if report.results[0].is_error else Status.SUCCESS)


def _blocked_text(task: _Task | None, decision: Blocked) -> str:
    return blocked_text("a task" if task is None else scrub_name(task.kept.tool), decision.reason)
