"""Requests of our own to one server on a client's behalf, with the client's `_meta`, and their results."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from handfast.core.words.redaction import scrub_text
from handfast.gateway.translate.backend import Backend, Requester
from handfast.wire.codes import INTERNAL_ERROR
from handfast.wire.eras import MODERN_META
from handfast.wire.members import member, text_member
from handfast.wire.message import AmbiguousKeys, Members, Message, read_level, read_message
from handfast.wire.replies import request
from handfast.wire.scan import NotJson
from handfast.wire.splice import drop

_LONGEST_REASON: Final = 300
_numbers: Final = itertools.count(1)


class Unavailable(Exception):
    """A server gave no answer that can be used."""

    def __init__(self, reason: str, code: int = INTERNAL_ERROR) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


def own_request(message: Message, method: str, params: Mapping[str, Any] | None = None) -> Message:  # Any: JSON
    """A request of our own for the client that sent the message, without its id or its progress token.

    Raises: AmbiguousKeys, NotJson.
    """
    meta = member(message.params(), "_meta")
    own: object = MODERN_META if meta is None else msgspec.Raw(drop(meta, [("progressToken",)]))
    return read_message(request(f"handfast-{next(_numbers)}", method, {**(params or {}), "_meta": own}))


async def ask_server(backend: Backend, asked: Message, origin: Requester) -> Members:
    """The members of the result. Headers of the client's own request are not sent along. Raises: Unavailable."""
    try:
        answer = await backend.request(asked, replace(origin, params=None))
        result = answer.result()
    except (AmbiguousKeys, NotJson):
        raise Unavailable("It sent an answer that cannot be read.") from None
    except OSError:  # also ConnectionError and TimeoutError
        raise Unavailable("It cannot be reached.") from None
    if answer.has_error:
        raise Unavailable(
            f"It answered with an error: {scrub_text(error_text(answer))}", answer.error_code() or INTERNAL_ERROR
        )
    if result is None:
        raise Unavailable("It sent an answer without a result.")
    return result


def error_text(answer: Message) -> str:
    try:
        error = member(read_level(answer.raw), "error")
        text = None if error is None else text_member(read_level(error), "message")
    except (AmbiguousKeys, NotJson):
        text = None
    return (text or "It gave no reason.")[:_LONGEST_REASON]


def whole_number(members: Members, name: str) -> int:
    """A member that is a whole number from 0; 0 where it is anything else."""
    try:
        return max(0, msgspec.json.decode(member(members, name) or b"0", type=int))
    except msgspec.DecodeError:
        return 0
