"""The answer of a view as plain JSON values, or an error that says why a tool cannot pass it on."""

from contextlib import suppress
from typing import Any, Final

import msgspec
from django.http.response import HttpResponse, HttpResponseBase

from handfast.core.answers.errors import ErrorCode, ToolError

_NO_CONTENT: Final = (204, 205)
_decode: Final = msgspec.json.Decoder().decode


def read_answer(response: HttpResponseBase) -> Any:  # Any: JSON
    """The data of a successful answer. Raises: ToolError."""
    status = response.status_code
    if status in _NO_CONTENT:
        return None
    if status < 200 or status >= 300:
        raise _unusable(status, "a redirect")
    if response.streaming or not isinstance(response, HttpResponse):
        close_quietly(response)
        raise _unusable(status, "a file or a stream")
    if not response.content:
        return None
    if not is_json(response):
        raise _unusable(status, "something that is not JSON")
    return _decoded(response.content)


def is_json(response: HttpResponseBase) -> bool:
    """Whether the answer's Content-Type is `application/json` or ends in `+json`."""
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


def _decoded(content: bytes) -> Any:  # Any: JSON
    try:
        return _decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ToolError(
            ErrorCode.OUTPUT_VIOLATION,
            "The view answered with something that is not JSON, such as NaN or half a character."
            " Check whether it did what was asked, and tell the operator.",
        ) from None


def _unusable(status: int, what: str) -> ToolError:
    """An answer that may or may not mean success: a redirect may lead to a sign-in, or to what was made."""
    return ToolError(
        ErrorCode.NOT_SUPPORTED,
        f"The view answered with {what}, which a tool cannot hand on."
        " Check whether it did what was asked, and get the rest over HTTP.",
        {"status": status},
    )


def close_quietly(response: HttpResponseBase) -> None:
    """Closes the files of an answer. Not by `close()`, which also signals to Django that the outer request is over."""
    for closer in response._resource_closers:  # type: ignore[attr-defined]  # not in the stubs
        with suppress(Exception):
            closer()
