"""A request under a number of ours in place of the client's id, and what the server says about it put back."""

import msgspec

from handfast.wire.eras import META_SUBSCRIPTION
from handfast.wire.members import level_of, member
from handfast.wire.message import AmbiguousKeys, Message, RequestId
from handfast.wire.scan import NotJson
from handfast.wire.splice import replace_id, replace_plain, replace_values, swap_id

_TOKEN = ("params", "_meta", "progressToken")


class Alias:
    """The number is also the request's progress token, where it has one: clients use 0, 1, 2 for both."""

    __slots__ = ("_id_text", "_number_text", "_raw", "_token_text", "client_id", "method", "number")

    def __init__(self, number: int, message: Message, token: msgspec.Raw | None = None) -> None:
        """`token` is the request's progress token, where that is to be replaced too. Raises: NotJson."""
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
        """The request as the server gets it, every other byte the client's: once, as a held call must not keep it."""
        raw, self._raw = self._raw, b""
        return raw

    def is_answered_by(self, message: Message) -> bool:
        """Whether this is the request's answer: `1.0` is `1`, and `"1"` is not."""
        return message.method is None and message.id == self.number

    def restore_answer(self, message: Message) -> None:
        """Give an answer the client's id, to the byte."""
        message.raw = replace_id(message.raw, self._number_text, self._id_text)
        message.id = self.client_id
        if self.method == "subscriptions/listen" and _names_subscription(message):
            message.raw = replace_values(message.raw, {("result", "_meta", META_SUBSCRIPTION): self._id_text})
            message.reread()

    def restore_progress(self, message: Message) -> bool:
        """Give progress the client's token; False where the client named none."""
        if self._token_text is None:
            return False
        message.raw = replace_values(message.raw, {("params", "progressToken"): self._token_text})
        message.reread()
        return True

    def restore_subscription(self, message: Message) -> None:
        """Give a notification of a subscription the client's id of it."""
        message.raw = replace_values(message.raw, {("params", "_meta", META_SUBSCRIPTION): self._id_text})
        message.reread()


def token_of(message: Message) -> msgspec.Raw | None:
    """The progress token of a request. Raises: AmbiguousKeys, NotJson."""
    return message.meta().get("progressToken") if message.may_mention("progressToken") else None


def read_number(text: msgspec.Raw | None) -> int | None:
    """A number of ours as a server repeats it; None for what cannot be one, unread: Python refuses many digits."""
    found = bytes(text) if text is not None else b""
    return int(found) if found.isdigit() and len(found) < 19 else None


def _names_subscription(answer: Message) -> bool:
    try:
        return META_SUBSCRIPTION in level_of(member(answer.result(), "_meta"))
    except (AmbiguousKeys, NotJson):
        return False
