"""Values as the JSON text that is judged and sent, in which values unknown to JSON stay visible to the rules."""

import json
from typing import Any, Final

import msgspec
from pydantic_core import PydanticSerializationError, to_json

from handfast.core.call.strict_json import UNREAD

# The slower encoder allows deeper nesting than the fast one, and raises a precise exception for other values.
_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def write_json(value: Any) -> bytes:  # Any: JSON values
    """Encodes a value; NaN and Infinity are written as such, so that the rules find them.

    Raises: UnicodeEncodeError (a lone surrogate), TypeError, ValueError, RecursionError.
    """
    try:
        return to_json(value, inf_nan_mode="constants")
    except PydanticSerializationError:
        return _encode(value).encode()


def is_plain(text: bytes) -> bool:
    """Whether every parser reads text written here alike."""
    return b"NaN" not in text and b"Infinity" not in text


def read_own(text: bytes) -> object:
    """Decodes text that was written here from Python values, which cannot have duplicate keys.

    UNREAD if the text has to be read by the strict rules.
    """
    if not is_plain(text):
        return UNREAD
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return UNREAD
