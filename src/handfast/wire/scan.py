"""Positions of an object's members, within bounds, also in JSON that the fast decoder refuses (lone surrogates).

Everything here runs at the decoder's speed except for one step per member or item, and their number is bounded.
"""

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Final, TypeVar

import msgspec

from handfast.core.bounds import MOST_ITEMS, MOST_LEVELS, MOST_MEMBERS

COUNTED_FROM: Final = MOST_MEMBERS * len(b'"":0,')  # a shorter text has no room for more members
_LEAST_ITEM = len(b"0,")

_WS = rb"[ \t\n\r]*"
# Used after the decoder has checked the grammar. No group repeats, as the engine keeps state for each repetition.
_NEXT_KEY = re.compile(rb'[{,\s]*("[^"\\]*")' + _WS + rb":" + _WS)
_ESCAPED_KEY = re.compile(_NEXT_KEY.pattern.replace(rb'[^"\\]', rb'[^"]'))
_TO_FIRST_ITEM = re.compile(_WS + rb"\[" + _WS)
_TO_ITEM = re.compile(_WS + rb"," + _WS)
_NON_ASCII = bytes(range(128, 256))
# Lone surrogates are \u escapes that begin with D; with A they are valid. Neither literals nor escape letters have a D.
_TO_WHOLE = bytes.maketrans(_NON_ASCII + b"dD", b"_" * len(_NON_ASCII) + b"aA")
_DECODERS_POSITION = re.compile(r"\(byte (\d+)\)")
# Masks for literals that JSON does not have: as long, valid where a value may stand, invalid anywhere else.
_CONSTANTS = ((b"-Infinity", b"[1000000]"), (b"Infinity", b"[100000]"), (b"NaN", b"[0]"))

Decoded = TypeVar("Decoded")


class NotJson(Exception):
    """The text breaks the grammar at or near this byte."""

    def __init__(self, position: int) -> None:
        super().__init__(f"The text is not JSON at byte {position}. Send one valid JSON object.")
        self.position = position


class OverBound(NotJson):
    """The text exceeds a bound; whether it is JSON was not decided."""

    def __init__(self, reason: str) -> None:
        Exception.__init__(self, reason)
        self.position = 0


TOO_MANY_MEMBERS: Final = f"An object has more than {MOST_MEMBERS} members. Send fewer."
TOO_MANY_ITEMS: Final = f"A list has more than {MOST_ITEMS} items. Send fewer at a time."
TOO_DEEP: Final = f"The text is nested more than {MOST_LEVELS} levels deep. Send it flatter."


class Member(msgspec.Struct, frozen=True):
    """The position of one member of an object; the key is decoded, lone surrogates included."""

    key: str
    key_start: int
    value_start: int
    value_end: int


class PairKey:
    """A key that is equal only to itself, so that a dict keeps every pair in order, duplicates too."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def read_key(_: type, text: str) -> PairKey:
    """A dec_hook for msgspec that makes every key a PairKey."""
    return PairKey(text)


class _CountedKeys:
    """A dec_hook like `read_key` for long texts: raises OverBound at the first member over the bound."""

    def __init__(self) -> None:
        self._left = MOST_MEMBERS

    def read(self, _: type, text: str) -> PairKey:
        self._left -= 1
        if self._left < 0:
            raise OverBound(TOO_MANY_MEMBERS)
        return PairKey(text)


ordered_pairs = msgspec.json.Decoder(dict[PairKey, msgspec.Raw], dec_hook=read_key)


def decode_counted(text: bytes | memoryview, kind: type[Decoded]) -> Decoded:
    """Decodes as a decoder with `read_key` does, but counts keys; for texts of `COUNTED_FROM` bytes or more.

    Raises: OverBound, msgspec.DecodeError, UnicodeDecodeError.
    """
    try:
        return msgspec.json.Decoder(kind, dec_hook=_CountedKeys().read).decode(text)
    except RecursionError:
        raise OverBound(TOO_DEEP) from None


def read_pairs(text: bytes | memoryview) -> dict[PairKey, msgspec.Raw]:
    """Every pair of an object in order. Raises: OverBound, msgspec.DecodeError, UnicodeDecodeError."""
    if len(text) >= COUNTED_FROM:
        return decode_counted(text, dict[PairKey, msgspec.Raw])
    try:
        return ordered_pairs.decode(text)
    except RecursionError:
        raise OverBound(TOO_DEEP) from None


def scan_object(
    text: bytes, start: int = 0, end: int | None = None, *, strict_utf8: bool = False, allows_constants: bool = False
) -> list[Member]:
    """The members, in order, of the object in text[start:end]; everything below them is checked.

    With `allows_constants` the literals NaN and Infinity, which JSON does not have, count as numbers, so that a message
    that holds them can be paired by its id and refused by the judge. Raises: NotJson, OverBound.
    """
    end = len(text) if end is None else end
    if strict_utf8:
        _require_utf8(text[start:end], start)
    try:
        # The usual case: plain JSON, read without a copy.
        return locate_members(text, start, values=read_pairs(memoryview(text)[start:end]).values())
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        position = _position_of(error, start, end)
    masked = text[start:end]
    if masked.find(b"\\") >= 0 or not masked.isascii():
        masked = _mask_surrogates(masked)
        try:
            return locate_members(text, start, values=read_pairs(masked).values())
        except msgspec.MsgspecError as error:
            position = _position_of(error, start, end)
    if not allows_constants or (masked.find(b"NaN") < 0 and masked.find(b"Infinity") < 0):
        raise NotJson(position)
    try:
        return locate_members(text, start, values=read_pairs(_mask_constants(masked)).values())
    except msgspec.MsgspecError:
        raise NotJson(position) from None


def _position_of(error: Exception, start: int, end: int) -> int:
    found = _DECODERS_POSITION.search(str(error))
    return start + int(found[1]) if found else end


def scan_array(text: bytes) -> list[bytes]:
    """The items of an array, also if strings hold lone surrogates. Raises: NotJson, OverBound."""
    items, are_all = scan_items(text)
    if not are_all:
        raise OverBound(TOO_MANY_ITEMS)
    return items


def scan_items(text: bytes, most: int = MOST_ITEMS) -> tuple[list[bytes], bool]:
    """The first items of an array, and whether they are all; the rest is checked and skipped. Raises: NotJson."""
    try:
        return _split_items(text, most)
    except msgspec.MsgspecError:
        pass  # lone surrogates, or not JSON
    masked = _mask_surrogates(text)
    try:
        items, are_all = _split_items(masked, most)
    except msgspec.MsgspecError:
        raise NotJson(0) from None
    found: list[bytes] = []
    position = 0
    for item in items:
        before = (_TO_ITEM if found else _TO_FIRST_ITEM).match(masked, position)
        assert before is not None, "the decoder found an item here"
        position = before.end() + len(item)
        found.append(text[before.end() : position])
    return found, are_all


def _split_items(text: bytes, most: int) -> tuple[list[bytes], bool]:
    try:
        if len(text) <= most * _LEAST_ITEM:
            return [bytes(item) for item in msgspec.json.decode(text, type=list[msgspec.Raw])], True
        first = msgspec.structs.astuple(_first_items(most + 1).decode(text))
    except RecursionError:
        raise OverBound(TOO_DEEP) from None
    items = [bytes(item) for item in first if item is not _NO_ITEM]
    return items[:most], len(items) <= most


_NO_ITEM: Final = msgspec.Raw(b"null")


@cache
def _first_items(count: int) -> "msgspec.json.Decoder[msgspec.Struct]":
    """A decoder that keeps this many items of an array and skips the others without building objects."""
    fields = [(f"item_{number}", msgspec.Raw, _NO_ITEM) for number in range(count)]
    return msgspec.json.Decoder(msgspec.defstruct("FirstItems", fields, array_like=True))


def locate_members(text: bytes, start: int, *, values: Iterable[msgspec.Raw]) -> list[Member]:
    """The positions of the members of the object at `start`; `values` are all its raw values in order."""
    # A Raw knows its length but not its offset. Each value begins where its key ends.
    members: list[Member] = []
    position = start
    masked = b""
    for raw in values:
        key = _NEXT_KEY.match(text, position)
        if key is None:  # the key has escapes
            masked = masked or _mask_quotes(text)
            key = _ESCAPED_KEY.match(masked, position)
            assert key is not None, "the decoder found a pair here"
        position = key.end() + len(raw)
        members.append(Member(_decode_key(text[key.start(1) : key.end(1)]), key.start(1), key.end(), position))
    return members


def _mask_surrogates(text: bytes) -> bytes:
    """The same text with characters in place of lone surrogates, no byte moved; what else was wrong stays wrong."""
    return text.translate(_TO_WHOLE)


def _mask_constants(text: bytes) -> bytes:
    """As above, for literals that JSON does not have. A mask cannot become part of a number or of an escape."""
    for literal, mask in _CONSTANTS:
        text = text.replace(literal, mask)
    return text


def _mask_quotes(text: bytes) -> bytes:
    """The same text, known to be JSON, with every escaped quote and backslash replaced, no byte moved."""
    return text.replace(b"\\\\", b"__").replace(b'\\"', b"__")


def _decode_key(quoted: bytes) -> str:
    # Bytes that are not UTF-8 become lone surrogates: such a key differs from every valid one.
    key = quoted.decode(errors="surrogateescape")
    return str(json.loads(key)) if "\\" in key else key[1:-1]


def _require_utf8(part: bytes, start: int) -> None:
    try:
        part.decode()
    except UnicodeDecodeError as error:
        raise NotJson(start + error.start) from None
