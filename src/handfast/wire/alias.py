"""A request forwarded under a number of handfast's own, and the client's id restored in what the server sends back."""

import msgspec

from handfast.wire.eras import META_SUBSCRIPTION
from handfast.wire.members import level_of, member
from handfast.wire.message import AmbiguousKeys, Message, RequestId
from handfast.wire.scan import NotJson
from handfast.wire.splice import replace_id, replace_plain, replace_values, swap_id

_TOKEN = ("params", "_meta", "progressToken")


class Alias:
    """A request's own number. It also replaces a progress token, as clients count both ids and tokens from 0."""

    __slots__ = ("_id_text", "_number_text", "_raw", "_token_text", "client_id", "method", "number")

    def __init__(self, number: int, message: Message, token: msgspec.Raw | None = None) -> None:
        """`token` is the request's progress token, if that is to be replaced too. Raises: NotJson."""
        assert message.id is not None
        self.number = number
        self.client_id: RequestId = message.id
        self.method = message.method
        self._token_text = None if token is None else bytes(token)
        self._number_text = text = b"%d" % number
        raw, self._id_text = swap_id(message.raw, text)
        if token is not None:
            meta = bytes(message.params()["_meta"])
            raw = replace_plain(raw, meta, b'"progressToken"', text) or replace_values(raw, {_TOKEN: text})
        self._raw = raw

    def take_raw(self) -> bytes:
        """Hands out the request for the server, other bytes unchanged; once, so that a held call does not keep it."""
        raw, self._raw = self._raw, b""
        return raw

    def is_answered_by(self, message: Message) -> bool:
        """Whether the message answers this request: `1.0` equals `1`, and `"1"` does not."""
        return message.method is None and message.id == self.number

    def restore_answer(self, message: Message) -> None:
        """Restores the client's id in an answer, byte for byte."""
        message.raw = replace_id(message.raw, self._number_text, self._id_text)
        message.id = self.client_id
        if self.method == "subscriptions/listen" and _names_subscription(message):
            message.raw = replace_values(message.raw, {("result", "_meta", META_SUBSCRIPTION): self._id_text})
            message.reread()

    def restore_progress(self, message: Message) -> bool:
        """Restores the client's token in a progress notification; False if the client sent no token."""
        if self._token_text is None:
            return False
        message.raw = replace_values(message.raw, {("params", "progressToken"): self._token_text})
        message.reread()
        return True

    def restore_subscription(self, message: Message) -> None:
        """Restores the client's id of the subscription in a notification."""
        message.raw = replace_values(message.raw, {("params", "_meta", META_SUBSCRIPTION): self._id_text})
        message.reread()


def token_of(message: Message) -> msgspec.Raw | None:
    """The progress token of a request, or None. Raises: AmbiguousKeys, NotJson."""
    return message.meta().get("progressToken") if message.may_mention("progressToken") else None


def read_number(text: msgspec.Raw | None) -> int | None:
    """One of our numbers as a server repeats it, else None. Long texts are not converted: `int` refuses many digits."""
    found = bytes(text) if text is not None else b""
    return int(found) if found.isdigit() and len(found) < 19 else None


def _names_subscription(answer: Message) -> bool:
    try:
        return META_SUBSCRIPTION in level_of(member(answer.result(), "_meta"))
    except (AmbiguousKeys, NotJson):
        return False
