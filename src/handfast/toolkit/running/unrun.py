"""Calls that are answered without running a tool: explained or refused, and on record like every other."""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Final

from handfast.core.answers.outcome import Failed, Outcome
from handfast.core.call.exchange import Detail, Exchange, RecordingFailed, Status
from handfast.core.call.policy import Mode, Violation
from handfast.toolkit.running.dispatch import Answer, Caller, Dispatcher, RegisteredTool, note_failure, text_of
from handfast.toolkit.running.outcome_counts import count_as
from handfast.toolkit.writing.actor import label_of

_NOTHING: Final[Mapping[str, Detail]] = {}


async def explain(
    dispatcher: Dispatcher,
    tool: RegisteredTool,
    arguments: object,
    caller: Caller,
    *,
    told: Outcome,
    rule: str,
    details: Mapping[str, Detail] = _NOTHING,
) -> Answer:
    """Help was asked for. Raises: RecordingFailed."""
    call = _opened(dispatcher, tool, caller, details)
    reason = "The caller asked for help."
    given = text_of(arguments)
    await _recorded(dispatcher, call, dispatcher.path.answer(call, given, Status.SUCCESS, rule=rule, reason=reason))
    dispatcher.counts.add(tool.spec.name, "explained")
    return dispatcher.rendered(tool, told)


async def refuse(
    dispatcher: Dispatcher,
    tool: RegisteredTool,
    arguments: object,
    caller: Caller,
    *,
    told: Failed,
    rule: str,
    details: Mapping[str, Detail] = _NOTHING,
) -> Answer:
    """Nothing can be run for it. Raises: RecordingFailed."""
    call = _opened(dispatcher, tool, caller, details)
    violation = Violation(rule, told.message)
    await _recorded(dispatcher, call, dispatcher.path.refuse(call, text_of(arguments), violation))
    dispatcher.counts.add(tool.spec.name, count_as(told))
    note_failure(call, told)
    return dispatcher.rendered(tool, told)


def _opened(dispatcher: Dispatcher, tool: RegisteredTool, caller: Caller, details: Mapping[str, Detail]) -> Exchange:
    call = dispatcher.path.open(
        server=dispatcher.server,
        tool=tool.spec.name,
        policy=dispatcher.policy,
        contract=tool.contract,
        actor=label_of(caller.actor),
    )
    call.details.update(details)
    return call


async def _recorded(dispatcher: Dispatcher, call: Exchange, recording: Awaitable[None]) -> None:
    try:
        await recording
    except asyncio.CancelledError:
        dispatcher.path.conclude(call, Status.CANCELLED, reason="The caller gave up.", mode=Mode.STRICT)
        raise
    except RecordingFailed:
        dispatcher.path.conclude(call, Status.ERROR, reason="Records could not be written.", mode=Mode.STRICT)
        raise
