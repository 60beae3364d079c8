"""What a client keeps for us and gives back: a server's name and that server's own words, in one opaque text. Pure.

A checksum shows what was changed or cut on the way. It is no signature: whoever forges one can say nothing that the
server would not take from him at its own address, and every server guards its own cursors, states and task ids. Without
a key the text outlives a restart and serves several gateways.
"""

import base64
import binascii
from hashlib import sha256
from typing import Final, TypeVar

import msgspec

_T = TypeVar("_T")
_MARK: Final = "hf1."  # the first version of this form
_CHECK: Final = 9  # bytes of checksum; a multiple of three, so that the text behind it can be read by a person


class Tampered(Exception):
    """Not a text that was given out, or not for this purpose."""


def wrap(purpose: str, content: object) -> str:
    """One text that gives the content back for the same purpose only."""
    payload = msgspec.json.encode((purpose, content))
    return _MARK + base64.urlsafe_b64encode(_check(payload) + payload).rstrip(b"=").decode()


def unwrap(purpose: str, text: str, content: type[_T]) -> _T:
    """Raises: Tampered."""
    payload = _payload(text)
    try:
        found, value = msgspec.json.decode(payload, type=tuple[str, content])  # type: ignore[valid-type]  # made at runtime
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Tampered from None
    if found != purpose:
        raise Tampered
    return value


def _payload(text: str) -> bytes:
    encoded = text.removeprefix(_MARK)
    if encoded == text or not encoded.isascii():
        raise Tampered
    try:
        sealed = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise Tampered from None
    payload = sealed[_CHECK:]
    # Some characters carry bits that decoding drops, so the text is compared as well.
    if sealed[:_CHECK] != _check(payload) or base64.urlsafe_b64encode(sealed).rstrip(b"=").decode() != encoded:
        raise Tampered
    return payload


def _check(payload: bytes) -> bytes:
    return sha256(b"handfast " + payload).digest()[:_CHECK]
