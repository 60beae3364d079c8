"""Calls and requests that are answered without running a tool, and recorded like every other."""

from collections.abc import Mapping
from typing import Final

from handfast.clock import Clock
from handfast.core.answers.outcome import Failed, Outcome
from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.exchange import Detail, Record, Recorder, RecordType, Status
from handfast.core.call.policy import ToolPolicy, Violation
from handfast.core.words.redaction import scrub_name, scrub_sentence
from handfast.tool_call import CallPath
from handfast.toolkit.running.dispatch import Answer, Dispatcher, RegisteredTool, ToolCaller, note_failure, text_of
from handfast.toolkit.running.outcome_counts import count_as

_NOTHING: Final[Mapping[str, Detail]] = {}


async def answer_with_help(
    dispatcher: Dispatcher,
    tool: RegisteredTool,
    arguments: object,
    caller: ToolCaller,
    *,
    told: Outcome,
    rule: str,
    details: Mapping[str, Detail] = _NOTHING,
) -> Answer:
    """Answers a call that asks for help. Raises: RecordingFailed."""
    call = dispatcher.opened(tool, caller)
    call.details.update(details)
    reason = "The caller asked for help."
    with dispatcher.path.recorded(call):
        await dispatcher.path.answer(call, text_of(arguments), Status.SUCCESS, rule=rule, reason=reason)
    dispatcher.counts.add(tool.spec.name, "explained")
    return dispatcher.rendered(tool, told)


async def refuse_call(
    dispatcher: Dispatcher,
    tool: RegisteredTool,
    arguments: object,
    caller: ToolCaller,
    *,
    told: Failed,
    rule: str,
    details: Mapping[str, Detail] = _NOTHING,
) -> Answer:
    """Refuses a call that no tool can run. Raises: RecordingFailed."""
    call = dispatcher.opened(tool, caller)
    call.details.update(details)
    with dispatcher.path.recorded(call):
        await dispatcher.path.refuse(call, text_of(arguments), Violation(rule, told.message))
    dispatcher.counts.add(tool.spec.name, count_as(told))
    note_failure(call, told)
    return dispatcher.rendered(tool, told)


async def record_unlisted(
    path: CallPath, *, server: str, tool: str, arguments: bytes | None, caller: Caller, policy: ToolPolicy, text: str
) -> None:
    """Puts a call of a tool that does not exist on record as refused. Raises: RecordingFailed."""
    call = path.open(server=server, tool=scrub_name(tool), policy=policy, caller=caller)
    with path.recorded(call):
        await path.refuse(call, arguments, Violation(rules.CONTRACT_UNLISTED, text))


def record_refused_request(recorder: Recorder, *, server: str, caller: Caller, rule: str, text: str) -> None:
    """Puts a request on record that is wrong in itself, so that no call was read from it. Raises: RecordingFailed."""
    clock = Clock()
    record = Record(
        id=clock.new_id(),
        time=clock.now(),
        type=RecordType.DIAGNOSTIC,
        status=Status.BLOCKED,
        server=server,
        rule=rule,
        reason=scrub_sentence(f"A request was refused: {text}"),
        actor=caller.actor,
    )
    recorder.record_refusal(caller.label, record)
