"""Opaque texts that a client keeps and gives back: sealed content such as a server's name and task id. Pure.

A keyed mark in the text makes sure that only texts that handfast gave out are accepted, and only for their purpose: the
mark covers the kind, what else the text is bound to, and the content. The key belongs to the state folder, so a text
outlives a restart and is good at every gateway on that folder.
"""

import base64
import binascii
import hmac
from typing import Final, TypeVar

import msgspec

_T = TypeVar("_T")
_FORM: Final = "hf2."  # the second version of this form
# Bytes of the mark: too many to guess, and a multiple of three, so that the base64 text behind it can be read.
_MARK: Final = 18


class Tampered(Exception):
    """The text was not given out by handfast, or not for this purpose."""


class Seal:
    def __init__(self, key: bytes) -> None:
        self._mac = hmac.new(key, digestmod="sha256")

    def wrap(self, bound: tuple[str, ...], content: object) -> str:
        """Seals the content. `unwrap` returns it only for the same `bound`: the kind of the text, and its purpose."""
        payload = msgspec.json.encode(content)
        return _FORM + base64.urlsafe_b64encode(self._mark(bound, payload) + payload).rstrip(b"=").decode()

    def unwrap(self, bound: tuple[str, ...], text: str | None, content: type[_T]) -> _T:
        """Returns the content; a `text` of None stands for a value that was not a string. Raises: Tampered."""
        sealed = _sealed(text or "")
        payload = sealed[_MARK:]
        if not hmac.compare_digest(sealed[:_MARK], self._mark(bound, payload)):
            raise Tampered
        try:
            return msgspec.json.decode(payload, type=content)
        except msgspec.DecodeError:  # given out for the same purpose by another version
            raise Tampered from None

    def _mark(self, bound: tuple[str, ...], payload: bytes) -> bytes:
        # A JSON array marks its own end, so no byte can move between `bound` and the payload.
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
