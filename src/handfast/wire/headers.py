"""The HTTP headers of 2026-07-28 that repeat what the body says, checked where the server cannot see them itself."""

import base64
import binascii
from typing import Final

import msgspec

from handfast.wire.codes import HEADER_MISMATCH
from handfast.wire.eras import META_VERSION
from handfast.wire.message import AmbiguousKeys, Message
from handfast.wire.replies import error_reply
from handfast.wire.scan import NotJson

# Where Mcp-Name finds its value in the body.
_NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def check_modern_headers(headers: list[tuple[bytes, bytes]], message: Message) -> bytes | None:
    """The error to answer with HTTP 400 when a header is missing or says something else than the body."""
    given = dict(headers)
    try:
        expected = {b"mcp-protocol-version": _text(message.meta().get(META_VERSION)), b"mcp-method": message.method}
        if message.method in _NAMED:
            expected[b"mcp-name"] = _text(message.params().get(_NAMED[message.method]))
    except (AmbiguousKeys, NotJson):
        return None  # the conversation refuses it with a better word
    for name, value in expected.items():
        if value is not None and decode_header(given.get(name, b"")) != value:
            text = f"The header {name.decode()} is missing or differs from the body. Send both with the same value."
            return error_reply(message.id, HEADER_MISMATCH, text)
    return None


def decode_header(value: bytes) -> str:
    """A header's value; what is not plain ASCII travels as =?base64?…?=."""
    if value.startswith(b"=?base64?") and value.endswith(b"?="):
        try:
            return base64.b64decode(value[9:-2], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return value.decode("latin-1").strip()


def _text(value: msgspec.Raw | None) -> str | None:
    if value is None:
        return None
    try:
        return msgspec.json.decode(value, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
