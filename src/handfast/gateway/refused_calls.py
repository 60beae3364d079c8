"""Calls that go no further than the gateway, whatever their server: each is a call all the same, and on record."""

import msgspec

from handfast.core.exchange import Status
from handfast.core.redaction import scrub_name
from handfast.gateway.runtime import Runtime
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.scan import NotJson


def record_refused(
    runtime: Runtime, message: Message, *, server: str = "", actor: str = "", rule: str, reason: str
) -> None:
    """Nothing happens for what is no call, or says of no tool that it is called."""
    if message.method != "tools/call":
        return
    try:
        tool = msgspec.json.decode(message.params()["name"], type=str)
    except (AmbiguousKeys, NotJson, KeyError, msgspec.DecodeError, UnicodeDecodeError):
        return
    policy = runtime.settings.policy(server, tool)
    call = runtime.path.open(server=server, tool=scrub_name(tool), policy=policy, contract=None, actor=actor)
    runtime.path.conclude(call, Status.ERROR, rule=rule, reason=reason)
