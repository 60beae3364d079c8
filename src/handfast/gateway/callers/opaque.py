"""What a client keeps for us and gives back: a server's name and that server's own words, in one opaque text. Pure.

The text carries a keyed mark, so that only what was given out is taken back, and only for what it was given out for:
the mark covers the kind, what else it is bound to, the server's name and the server's words. The key is the state
folder's, so a text outlives a restart and is good at every gateway on that folder.
"""

import base64
import binascii
import hmac
from typing import Final, TypeVar

import msgspec

_T = TypeVar("_T")
_FORM: Final = "hf2."  # the second version of this form
# Bytes of the mark: more than can be guessed, and a multiple of three, so that the text behind it can be read.
_MARK: Final = 18


class Tampered(Exception):
    """Not a text that was given out, or not for this purpose."""


class Seal:
    def __init__(self, key: bytes) -> None:
        self._mac = hmac.new(key, digestmod="sha256")

    def wrap(self, bound: tuple[str, ...], content: object) -> str:
        """One text that gives the content back where the same `bound` is said again: its kind, and what it is for."""
        payload = msgspec.json.encode(content)
        return _FORM + base64.urlsafe_b64encode(self._mark(bound, payload) + payload).rstrip(b"=").decode()

    def unwrap(self, bound: tuple[str, ...], text: str | None, content: type[_T]) -> _T:
        """The content; a text of None is one that is no string. Raises: Tampered."""
        sealed = _sealed(text or "")
        payload = sealed[_MARK:]
        if not hmac.compare_digest(sealed[:_MARK], self._mark(bound, payload)):
            raise Tampered
        try:
            return msgspec.json.decode(payload, type=content)
        except msgspec.DecodeError:  # given out for the same by another version
            raise Tampered from None

    def _mark(self, bound: tuple[str, ...], payload: bytes) -> bytes:
        # An encoded array ends where it ends, so nothing can move from one part to the other.
        mac = self._mac.copy()
        mac.update(msgspec.json.encode(bound) + payload)
        return mac.digest()[:_MARK]


def _sealed(text: str) -> bytes:
    encoded = text.removeprefix(_FORM)
    if encoded == text or not encoded.isascii():
        raise Tampered
    try:
        sealed = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise Tampered from None
    # Some characters carry bits that decoding drops, so the text is compared as well.
    if base64.urlsafe_b64encode(sealed).rstrip(b"=").decode() != encoded:
        raise Tampered
    return sealed
