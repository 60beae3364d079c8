"""Values as the JSON text that is judged and sent: nothing that JSON does not have is lost on the way there."""

import json
from typing import Any, Final

import msgspec
from pydantic_core import PydanticSerializationError, to_json

from handfast.core.call.strict_json import UNREAD

# The slower encoder goes deeper than the fast one, and says in its own exception what cannot be written.
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def write_json(value: Any) -> bytes:  # Any: JSON values
    """NaN and Infinity are spelt out, for the rules to find them.

    Raises: UnicodeEncodeError (half a character), TypeError, ValueError, RecursionError.
    """
    try:
        return to_json(value, inf_nan_mode="constants")
    except PydanticSerializationError:
        return _encode(value).encode()


def is_plain(text: bytes) -> bool:
    """Whether a text that was written here says what its value is, to every reader."""
    return b"NaN" not in text and b"Infinity" not in text


def read_own(text: bytes) -> object:
    """What a text says that was written here from a value in which no key can be there twice.

    UNREAD where only the rules for any text can tell.
    """
    if not is_plain(text):
        return UNREAD
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return UNREAD
