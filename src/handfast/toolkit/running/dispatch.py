"""One call of a toolkit tool, from its arguments to its answer, on the path of every call."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace
from pydantic import BaseModel

from handfast.core.answers.codes import CodeBook
from handfast.core.answers.envelopes import Envelope, render, success_payload
from handfast.core.answers.errors import ErrorCode, ToolError
from handfast.core.answers.outcome import Failed, Outcome, Succeeded, code_of_rule, make_failure, outcome_of_error
from handfast.core.call.arguments import check_unknown
from handfast.core.call.caller import Caller
from handfast.core.call.contract import CompiledContract
from handfast.core.call.exchange import RAN_UNRECORDED, Exchange, RecordingFailed
from handfast.core.call.guardrails import GUARDRAIL_PROPERTIES, check_guardrails
from handfast.core.call.policy import (
    Blocked,
    Formats,
    InputPolicy,
    Mode,
    OutputPolicy,
    Posture,
    ToolPolicy,
    UnknownArguments,
    Violation,
)
from handfast.core.call.protocol_arguments import ProtocolArguments
from handfast.core.call.result import ResultView, ambiguous_violation, blocked_text
from handfast.core.call.strict_json import Ambiguity
from handfast.core.call.undeclared import NameTree, Undeclared, check_inside, find_undeclared, ignored_notice
from handfast.core.events import MCP_ADMIN_OP_EXECUTED, MCP_SERVER_INVOKE_FAILED
from handfast.crashes import where_it_happened
from handfast.tool_call import CallPath, UnusableResult
from handfast.toolkit.running.arguments_model import Misshapen, parse_arguments
from handfast.toolkit.running.deadlines import Deadline, start_deadline
from handfast.toolkit.running.json_text import read_own, write_json
from handfast.toolkit.running.large_results import LargeResults, ResultOrigin
from handfast.toolkit.running.outcome_counts import OutcomeCounts, count_as, count_of_record
from handfast.toolkit.running.questions import CallQuestions, QuestionPending, run_with_answers
from handfast.toolkit.running.returned import Returned, read_returned
from handfast.toolkit.writing.actor import is_known, label_of
from handfast.toolkit.writing.call import Call, Report, report_nothing
from handfast.toolkit.writing.reply import Notice
from handfast.toolkit.writing.spec import Kind, ToolSpec

if TYPE_CHECKING:
    from handfast.toolkit.running.piece_form import PieceForm

_log = logging.getLogger("handfast.toolkit")
_encode_strictly = json.JSONEncoder(allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode

_MAY_STAND = "What it did until then may stand."
_LONGEST_FAILURE = 100_000  # bytes; the tail of a log fits, and an agent does not read more

# The default for toolkit tools: arguments and results must keep the contract. Formats hold for arguments alone, because
# pydantic publishes `time`, `duration` and `uri` for right values that JSON Schema refuses: 09:30:00, PT0.5S and /a|b.
STRICT = ToolPolicy(
    InputPolicy(mode=Mode.STRICT, unknown_arguments=UnknownArguments.REJECT_ALL, formats=Formats.ASSERT),
    OutputPolicy(mode=Mode.STRICT, missing_structured_content=Posture.BLOCK),
)


@dataclass(frozen=True)
class RegisteredTool:
    """A tool with everything that is prepared once for it."""

    spec: ToolSpec
    contract: CompiledContract
    wraps: bool  # the plain form puts its data under `result`
    pieces: "PieceForm | None" = None  # set if large results come in pieces
    tree: NameTree | None = None  # set if undeclared arguments may pass: the names declared at every depth
    listed: "RegisteredTool | None" = None  # runs instead for a body that is a list

    @property
    def answering(self) -> CompiledContract:
        """The published contract, which every answer keeps, pieces of a result too."""
        return self.contract if self.pieces is None else self.pieces.continuing.contract

    @property
    def published(self) -> object:
        """The input schema, decoded: texts about arguments take names and kinds from it."""
        schema = self.contract.input
        return None if schema is None else schema.content

    @cached_property
    def is_model_enough(self) -> bool:
        """Whether the model refuses all that the published schema does: a set takes equal items for one."""
        return b"uniqueItems" not in (self.contract.contract.input_schema or b"")


class Answer(msgspec.Struct, frozen=True):
    """A call's answer: `payload` is the structured content, `text` the same as JSON, or the text of a plain failure."""

    outcome: Outcome
    payload: dict[str, Any] | None  # Any: JSON
    text: str
    blocks: Sequence[BaseModel] = ()
    meta: Mapping[str, object] | None = None
    question: dict[str, Any] | None = None  # Any: JSON; the whole result that asks it, in place of everything else

    @property
    def is_error(self) -> bool:
        return isinstance(self.outcome, Failed)

    @property
    def is_refused(self) -> bool:
        """Whether the arguments were refused before the tool ran, for which the protocol has an error of its own."""
        return isinstance(self.outcome, Failed) and (
            self.outcome.code == ErrorCode.INVALID_INPUT and self.outcome.details.get("kind") == "shape"
        )

    @property
    def is_text(self) -> bool:
        """Whether there is only text: the plain form's failure, without structured content."""
        return self.payload is None and self.is_error


class ToolCaller(msgspec.Struct, frozen=True, kw_only=True):
    """The caller of a tool, how to report progress to it, and which tools it sees."""

    actor: Any = None  # Any: an Actor, or another object with an id or a name
    report: Report | None = None
    context: Any = None  # Any: the SDK's request context
    sees: Callable[[str], bool] | None = None  # whether the caller sees a tool; None: all tools
    questions: CallQuestions | None = None  # how the user is asked; None: there is nobody to ask
    inside: str = ""  # the argument of a dispatcher that holds those of the tool, which texts name


@dataclass(frozen=True, slots=True)
class Wanted:
    """The protocol arguments of a call, or their violation, with all arguments as sent."""

    wishes: ProtocolArguments | Violation
    sent: Mapping[str, object]


_NO_WISHES = ProtocolArguments()


class _Asked:
    """The terms of one call: guardrails, then the tool's own model, whose instance is kept for the handler."""

    __slots__ = ("arguments", "caller", "ignored", "is_admin", "model", "policy", "spec", "tool", "wishes")

    def __init__(self, tool: "RegisteredTool", caller: ToolCaller, wanted: Wanted | None, policy: ToolPolicy) -> None:
        self.spec = tool.spec
        self.is_admin = tool.spec.kind is Kind.ADMIN
        self.tool = tool
        self.caller = caller
        self.wishes = _NO_WISHES if wanted is None else wanted.wishes
        self.model: BaseModel | None = None
        self.arguments: dict[str, Any] = {}  # Any: JSON; this call's own copy
        self.policy = policy.input
        self.ignored: list[Undeclared] = []

    def gate(self, arguments: dict[str, object]) -> Violation | None:
        self.arguments = arguments
        refusal = None
        if self.is_admin:
            refusal = check_guardrails(arguments, has_actor=is_known(self.caller.actor), inside=self.caller.inside)
        if refusal is None and isinstance(self.wishes, Violation):
            return self.wishes  # before the other arguments are judged
        if refusal is None and self.tool.tree is not None:
            refusal = self._look_inside(arguments, self.tool.tree)
        return refusal

    def _look_inside(self, arguments: dict[str, object], tree: NameTree) -> Violation | None:
        """The violation below the root; undeclared arguments at the root are refused later, with the other rules."""
        self.ignored = list(find_undeclared(arguments, tree))
        if not self.ignored or check_unknown(arguments, tree.declared, self.policy) is not None:
            return None
        return check_inside(self.ignored, self.policy)

    def shape(self, text: bytes, arguments: dict[str, object]) -> tuple[str, ...] | None:
        if self.spec.args_model is None:
            return None
        if self.is_admin:
            own = {key: value for key, value in arguments.items() if key not in GUARDRAIL_PROPERTIES}
            text = write_json(own)
        try:
            self.model = parse_arguments(text, self.spec.args_model, self.tool.published)
        except Misshapen as problem:
            return problem.words
        return () if self.tool.is_model_enough else None

    @property
    def has_model(self) -> bool:
        return self.spec.args_model is not None

    @property
    def admin_reason(self) -> str | None:
        return str(self.arguments.get("reason", "")) if self.is_admin else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatcher:
    """The parts that all calls of one server share."""

    server: str
    path: CallPath
    codes: CodeBook
    envelope: Envelope
    counts: OutcomeCounts
    timeout_s: float | None  # None: no limit
    large: LargeResults
    policy: ToolPolicy = STRICT
    app: Any = None  # Any: the application state that tools get

    def opened(self, tool: RegisteredTool, caller: ToolCaller) -> Exchange:
        """Begins a call of the tool."""
        return self.path.open(
            server=self.server,
            tool=tool.spec.name,
            policy=self.policy,
            contract=tool.contract,
            caller=Caller(actor=label_of(caller.actor)),
        )

    async def dispatch(
        self,
        tool: RegisteredTool,
        arguments: object,
        caller: ToolCaller,
        *,
        wanted: Wanted | None = None,
        called_as: str = "",
    ) -> Answer:
        """Runs one call: guardrails, arguments, handler, result, envelope. Raises: RecordingFailed, CancelledError."""
        call = self.opened(tool, caller)
        if called_as:
            call.details["called_as"] = called_as
        try:
            answer = await self._answer(call, tool, arguments, caller, wanted)
        except asyncio.CancelledError:
            self.counts.add(tool.spec.name, count_of_record(call))
            raise
        except RecordingFailed:
            if not call.has_run:
                self.counts.add(tool.spec.name, "failed")
                raise
            told = make_failure(ErrorCode.INTERNAL_ERROR, RAN_UNRECORDED, self.codes)
            answer = self.rendered(tool, _with_request_id(told, call))
        self.counts.add(tool.spec.name, count_as(answer.outcome))
        if isinstance(answer.outcome, Failed):
            note_failure(call, answer.outcome)
        return answer

    async def _answer(
        self, call: Exchange, tool: RegisteredTool, arguments: object, caller: ToolCaller, wanted: Wanted | None
    ) -> Answer:
        asked = _Asked(tool, caller, wanted, self.policy)

        questions = caller.questions or CallQuestions()

        async def run() -> Answer:
            try:
                returned = await run_with_answers(questions, lambda: self._run(call, asked, caller, questions))
            except QuestionPending as pending:
                return Answer(Succeeded(None), None, "", question=questions.wire_form(pending.question))
            if tool.pieces is not None:
                returned = await self._cut(call, tool, returned, asked, arguments if wanted is None else wanted.sent)
            return self._written(call, tool, returned)

        try:
            answer = await self.path.carry_out(call, text_of(arguments), run, view=_view, terms=asked)
        finally:
            if call.is_admin_done:
                _note_admin(call)  # the operation was done, even if the caller left or the record is not yet on disk
        if not isinstance(answer, Blocked):
            return _with_ignored(answer, asked.ignored)
        if not call.has_run:
            return self.rendered(tool, self.refused(answer))
        text = blocked_text(tool.spec.name, answer.reason)
        return self.rendered(tool, make_failure(ErrorCode.OUTPUT_VIOLATION, text, self.codes))

    def refused(self, decision: Blocked) -> Failed:
        code = code_of_rule(decision.rule)
        if code is ErrorCode.INVALID_INPUT:
            return make_failure(code, decision.reason, self.codes, kind="shape")
        return make_failure(code, decision.reason, self.codes, violation=decision.rule.removeprefix("access."))

    async def _run(self, call: Exchange, asked: _Asked, caller: ToolCaller, questions: CallQuestions) -> Returned:
        """Runs the handler within its deadline. Raises: UnusableResult, QuestionPending."""
        spec = asked.spec
        told = Call(
            tool=spec.name,
            request_id=call.request_id,
            app=self.app,
            actor=caller.actor,
            reason=asked.admin_reason or "",
            report=caller.report or report_nothing,
            context=caller.context,
            asker=questions,
        )
        seconds = self.timeout_s if spec.timeout_s is None else spec.timeout_s
        assert spec.run is not None  # the registry makes one
        deadline: Deadline | None = None
        is_overdue = False
        try:
            if seconds is not None:
                deadline = start_deadline(seconds)
            try:
                value = await spec.run(asked.model, asked.arguments, told)
            finally:
                if deadline is not None:
                    is_overdue = deadline.end()
            return read_returned(value, spec, self.codes)
        except (KeyboardInterrupt, QuestionPending):
            raise
        except UnusableResult as problem:
            _log_crash(problem, call)
            raise
        except asyncio.CancelledError as error:
            if not is_overdue and _is_cancelled():
                raise
            # The tool is late, or something that it awaited was cancelled; the caller still waits.
            return Returned(self._late(seconds) if is_overdue else self._failure(error, call))
        except BaseException as error:  # noqa: BLE001 - the outermost edge: whatever it is, sys.exit() too, has a code
            is_late = deadline is not None and deadline.has_passed and isinstance(error, TimeoutError)
            return Returned(self._late(seconds) if is_late else self._failure(error, call))

    def _late(self, seconds: float | None) -> Failed:
        text = f"The tool was not done within {seconds:g} s and was stopped. {_MAY_STAND} Check before you call again."
        return make_failure(ErrorCode.TIMEOUT, text, self.codes)

    def _failure(self, error: BaseException, call: Exchange) -> Failed:
        if isinstance(error, ToolError) and error.code in self.codes:
            return outcome_of_error(error, self.codes)
        _log_crash(error, call)
        call.details["exception"] = type(error).__name__
        call.details["raised_at"] = where_it_happened(error)
        text = (
            f"The tool failed unexpectedly. {_MAY_STAND} Report the request id to the operator, "
            "who finds the cause with `handfast activity show`."
        )
        return make_failure(ErrorCode.INTERNAL_ERROR, text, self.codes)

    async def _cut(
        self, call: Exchange, tool: RegisteredTool, returned: Returned, asked: _Asked, sent: object
    ) -> Returned:
        """Judges the whole of a result that is too large, and returns its first piece. Raises: UnusableResult."""
        whole, form, wishes = returned.outcome, tool.pieces, asked.wishes
        assert form is not None
        assert isinstance(wishes, ProtocolArguments)  # else the call was refused
        if not isinstance(whole, Succeeded) or not self.large.is_to_cut(whole, form, wishes):
            return returned
        try:
            text = self.rendered(tool, whole).text.encode()
        except UnicodeEncodeError:
            raise UnusableResult(ambiguous_violation(Ambiguity.NOT_UNICODE)) from None
        decision = await self.path.judge(call, ResultView(text, size=len(text)))
        if isinstance(decision, Blocked):
            raise UnusableResult(Violation(decision.rule, decision.reason))
        origin = ResultOrigin(owner=call.caller.actor, tool=call.tool, arguments=sent if isinstance(sent, dict) else {})
        try:
            # Without a timeout no event loop is needed, because a tool may also run in a thread without one.
            async with nullcontext() if self.timeout_s is None else asyncio.timeout(self.timeout_s):
                first, notices = await self.large.first(whole, form, wishes, origin)
        except Exception as error:  # noqa: BLE001 - as in `_run`: results may be kept by a store of the author's own
            return Returned(self._failure(error, call))
        call.contract = tool.answering
        return Returned(first, (*notices, *returned.blocks))

    def _written(self, call: Exchange, tool: RegisteredTool, returned: Returned) -> Answer:
        """Renders what the handler returned. Raises: UnusableResult."""
        outcome = returned.outcome
        if isinstance(outcome, Failed) and outcome.code == ErrorCode.INTERNAL_ERROR:
            outcome = _with_request_id(outcome, call)
        try:
            answer = self.rendered(tool, outcome, returned.blocks)
        except UnicodeEncodeError:
            raise UnusableResult(ambiguous_violation(Ambiguity.NOT_UNICODE)) from None
        if isinstance(answer.outcome, Failed):
            call.details["code"] = answer.outcome.code
        return answer

    def rendered(self, tool: RegisteredTool, outcome: Outcome, blocks: Sequence[BaseModel] = ()) -> Answer:
        if isinstance(outcome, Succeeded):
            payload = success_payload(self.envelope, outcome, wraps=tool.wraps)
            return Answer(outcome, payload, write_json(payload).decode(), blocks)
        told = _writable(outcome)
        rendered = render(self.envelope, told, tool=tool.spec.name, codes=self.codes, wraps=tool.wraps)
        text = rendered.text if rendered.payload is None else write_json(rendered.payload).decode()
        return Answer(told, rendered.payload, text, (), rendered.meta)


def _with_request_id(failed: Failed, call: Exchange) -> Failed:
    """With the id by which the operator finds what happened, on record and in the log."""
    told = failed.message.rstrip()
    end = "" if told.endswith((".", "!", "?", "…")) else "."
    text = f"{told}{end} The request id is {call.request_id}."
    details = {**failed.details, "request_id": call.request_id}
    return Failed(failed.code, text, failed.is_recoverable, details)


def _view(answer: Answer) -> ResultView:
    if answer.question is not None:
        return ResultView(None, is_final=False)
    text = answer.text.encode()
    if isinstance(answer.outcome, Succeeded):
        return ResultView(text, size=len(text), value=read_own(text))
    return ResultView(None if answer.is_text else text, is_error=True, size=len(text))


def _writable(outcome: Failed) -> Failed:
    """The failure, made encodable: details that JSON cannot hold, or that are too large, are left out."""
    try:
        text = _encode_strictly([outcome.message, dict(outcome.details)]).encode()
        if len(text) <= _LONGEST_FAILURE:
            return outcome
    except (TypeError, ValueError, RecursionError):
        pass
    message = outcome.message.encode(errors="replace").decode()
    if len(message) > _LONGEST_FAILURE // 4:
        message = f"{message[: _LONGEST_FAILURE // 4]}…"
    return Failed(outcome.code, message, outcome.is_recoverable)


def _with_ignored(answer: Answer, ignored: list[Undeclared]) -> Answer:
    """The answer with a notice that names the arguments that were ignored."""
    if not ignored:
        return answer
    notice = ignored_notice(ignored)
    if answer.is_text:
        return replace(answer, text=f"{answer.text}\n{notice}")
    return replace(answer, blocks=(*answer.blocks, Notice(text=notice)))


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def text_of(arguments: object) -> bytes:
    """The arguments as the JSON that is judged; arguments that JSON cannot hold become text that every rule refuses.

    Bytes are JSON text already, as it came.
    """
    if isinstance(arguments, bytes):
        return arguments
    if type(arguments) is not dict and isinstance(arguments, Mapping | None):
        arguments = dict(arguments or {})
    try:
        return write_json(arguments)
    except UnicodeEncodeError:
        return b"\xff"
    except (TypeError, ValueError, RecursionError):
        return b"?"


def note_failure(call: Exchange, outcome: Failed) -> None:
    told = {
        "event": MCP_SERVER_INVOKE_FAILED,
        "tool_name": call.tool,
        "error_code": outcome.code,
        "request_id": call.request_id,
    }
    _log.warning("%s: %s failed with %s (request %s)", *told.values(), extra=told)


def _note_admin(call: Exchange) -> None:
    told = {
        "event": MCP_ADMIN_OP_EXECUTED,
        "tool_name": call.tool,
        "actor": call.caller.actor,
        "request_id": call.request_id,
    }
    _log.info("%s: %s by %s (request %s)", *told.values(), extra=told)


def _log_crash(error: BaseException, call: Exchange) -> None:
    _log.error(
        "%s raised %s at %s (request %s)",
        call.tool,
        type(error).__name__,
        where_it_happened(error),
        call.request_id,
        extra={"event": "toolkit.handler.crashed", "tool_name": call.tool, "error_type": type(error).__name__},
    )
