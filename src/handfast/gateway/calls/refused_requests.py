"""Requests that are invalid and reach no server: calls among them are put on record."""

from collections.abc import Callable

import msgspec

from handfast.core.call import rules
from handfast.wire.message import Message


class _Error(msgspec.Struct):
    message: str


class _Reply(msgspec.Struct):
    error: _Error


def note_refused(diagnose: Callable[[str, str], None], message: Message, reply: bytes) -> bytes:
    """Records a call that is answered with this error. `diagnose` takes a rule and a reason.

    Only calls: a client that looks for the revision that is spoken here is refused as well.
    """
    if message.method == "tools/call":
        text = msgspec.json.decode(reply, type=_Reply).error.message
        diagnose(rules.REQUEST_REFUSED, f"A request was refused: {text}")
    return reply
