"""HttpRefusal: a request that is turned away before its message is read."""

from collections.abc import Mapping

from handfast.wire.codes import INVALID_REQUEST


class HttpRefusal(Exception):
    """Answered with a status and an error that says what to do; nobody's id is known yet."""

    def __init__(
        self, status: int, text: str, *, code: int = INVALID_REQUEST, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.code = code
        self.headers: Mapping[str, str] = headers or {}
