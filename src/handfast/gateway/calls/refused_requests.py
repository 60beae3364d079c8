"""Requests that are wrong in themselves and reach no server: a call among them is on record all the same."""

from collections.abc import Callable

import msgspec

from handfast.core.call import rules
from handfast.wire.message import Message


class _Error(msgspec.Struct):
    message: str


class _Reply(msgspec.Struct):
    error: _Error


def note_refused(diagnose: Callable[[str, str], None], message: Message, reply: bytes) -> bytes:
    """Put a call that is answered with this error on record. `diagnose` takes a rule and a reason.

    Only calls: a client that looks for the revision that is spoken here is refused as well.
    """
    if message.method == "tools/call":
        text = msgspec.json.decode(reply, type=_Reply).error.message
        diagnose(rules.REQUEST_REFUSED, f"A request was refused: {text}")
    return reply
