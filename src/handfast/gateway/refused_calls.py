"""Records of the combined endpoint and of a stopping gateway: requests that reach no server, and templated URIs."""

from contextlib import suppress

import msgspec

from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.exchange import RecordingFailed, RecordType, Status
from handfast.core.call.policy import Violation
from handfast.core.words.redaction import scrub_name
from handfast.gateway.calls.judged_calls import LEFT
from handfast.gateway.runtime import Runtime
from handfast.gateway.translate.backend import Requester
from handfast.wire.message import Message


def record_refused(
    runtime: Runtime, message: Message, caller: Caller, *, server: str = "", rule: str, reason: str
) -> None:
    """Records a refused call. Ignores requests that are not tools/call."""
    if message.method != "tools/call":
        return
    tool = message.called_tool()
    if tool is None:
        runtime.journal.diagnose(server, rule, f"A request was refused: {reason}")
        return
    policy = runtime.settings.policy(server, tool)
    call = runtime.path.open(server=server, tool=scrub_name(tool), policy=policy, caller=caller)
    runtime.path.conclude(call, Status.ERROR, rule=rule, reason=reason, refusal=())


def record_refused_call(
    runtime: Runtime, server: str, message: Message, caller: Caller, rule: str, reason: str
) -> None:
    """Records a call that its front refused."""
    record_refused(runtime, message, caller, server=server, rule=rule, reason=reason)


def record_left(runtime: Runtime, message: Message, caller: Caller) -> None:
    """Records a call whose client left before its server was known."""
    tool = message.called_tool()
    if tool is not None:
        policy = runtime.settings.policy("", tool)
        call = runtime.path.open(server="", tool=scrub_name(tool), policy=policy, caller=caller)
        runtime.path.conclude(call, Status.CANCELLED, rule=rules.CLIENT_LEFT, reason=LEFT)


async def record_unrouted(runtime: Runtime, message: Message, origin: Requester, rule: str, reason: str) -> None:
    """Records a request that reached no server of the combined endpoint; a rule means that it was blocked."""
    if not rule:
        record_refused(runtime, message, origin.caller, rule=rules.COMBINED_REFUSED, reason=reason)
        return
    await record_blocked(runtime, message, origin.caller, rule=rule, reason=reason)


async def record_blocked(
    runtime: Runtime,
    message: Message,
    caller: Caller,
    *,
    server: str = "",
    tool: str | None = None,
    rule: str,
    reason: str,
) -> None:
    """Records a request that was blocked before it reached a server. `tool` is the server's own name for the tool."""
    tool = tool or message.called_tool()
    if tool is None:
        runtime.journal.note(
            RecordType.DIAGNOSTIC,
            Status.BLOCKED,
            server=server,
            rule=rule,
            reason=reason,
            details={"method": message.method},
            caller=caller,
            is_refusal=True,
        )
        return
    policy = runtime.settings.policy(server, tool)
    call = runtime.path.open(server=server, tool=scrub_name(tool), policy=policy, caller=caller)
    given = message.params().get("arguments")
    with suppress(RecordingFailed), runtime.path.recorded(call):  # the call is refused even so
        await runtime.path.refuse(call, None if given is None else bytes(given), Violation(rule, reason))


def record_templated(runtime: Runtime, message: Message, caller: Caller, server: str, uri: str) -> None:
    """Records a URI that was routed to a server by its template; the keyed digest identifies the URI afterwards."""
    digest = runtime.recorder.digest(msgspec.json.encode(uri))
    runtime.journal.note(
        RecordType.DIAGNOSTIC,
        Status.SUCCESS,
        server=server,
        rule=rules.COMBINED_TEMPLATED,
        reason="No server lists or links the URI, and of this one alone a template fits it.",
        caller=caller,
        details={"method": message.method, "uri_digest": digest},
    )
