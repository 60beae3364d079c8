"""Replace values inside a message by position, every other byte as it was sent."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from handfast.wire.scan import COUNTED_FROM, ordered_pairs, read_pairs, scan_object

Path = tuple[str, ...]
Place = tuple[str, int, int]  # a key, start and end of its value
Span = tuple[int, int]  # start and end of a value
Edit = tuple[int, int, bytes]  # start and end of a value, what it becomes

# From where the last value ended over a key without escapes; the decoder has already checked the grammar.
_TO_VALUE = re.compile(rb'[{,\s]*"[^"\\]*"\s*:\s*')

# Where official clients and servers put the id: first, or last. The decoder has refused a second one, so this is it.
_COMPACT = b'{"jsonrpc":"2.0","id":'
_SPACED = b'{"jsonrpc": "2.0", "id": '
_DIGITS = 20
_ID = rb'"id"\s*:\s*(-?[0-9]{1,20}|"[^"\\]{0,256}")'
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\s*[,}]")
_ID_LAST = re.compile(rb"[{,]\s*" + _ID + rb"\s*\}\s*\Z")
_PLAIN_VALUE = re.compile(rb'\s*:\s*(-?[0-9]{1,20}|"[^"]{0,256}")\s*[,}]')
_TAIL = 300  # bytes that hold the longest id the pattern takes


def swap_id(text: bytes, value: bytes) -> tuple[bytes, bytes]:
    """A message that was read, with this for its id, and the id as it was spelled.

    Raises: LookupError where it has none.
    """
    # As most write it, at a fraction of what a pattern costs: every call passes here.
    opening = _COMPACT if text.startswith(_COMPACT) else _SPACED
    start = len(opening)
    end = text.find(b",", start, start + _DIGITS)
    old = text[start:end]
    if old.isdigit() and text.startswith(opening):
        if len(text) < COUNTED_FROM:
            return opening + value + text[end:], old
        return b"".join((opening, value, memoryview(text)[end:])), old  # one copy
    start, end = _find_id(text)
    return b"".join((text[:start], value, memoryview(text)[end:])), text[start:end]


def replace_id(text: bytes, old: bytes, new: bytes) -> bytes:
    """A message that was read and has this number for its id, with another. Raises: LookupError where it has none."""
    end = 22 + len(old)
    if text.startswith(old, 22) and text.startswith(_COMPACT) and text.startswith(b",", end):
        return _COMPACT + new + text[end:]
    return swap_id(text, new)[0]


def _find_id(text: bytes) -> Span:
    """However it is written. Raises: LookupError."""
    found = _ID_FIRST.match(text) or _ID_LAST.search(text, max(0, len(text) - _TAIL))
    return found.span(1) if found is not None else _find_member(text, "id")


def replace_plain(text: bytes, outer: bytes, key: bytes, value: bytes) -> bytes | None:
    """The text with another value for a key of `outer`, an object inside it that has the key; None where both are not
    plain to see: the object's bytes once in the text, and in them the key once and without escapes.
    """
    start = text.find(outer)
    if text.find(outer, start + 1) >= 0 or outer.find(b"\\") >= 0 or outer.count(key) != 1:
        return None
    found = _PLAIN_VALUE.match(outer, outer.find(key) + len(key))
    if found is None:
        return None
    return b"%b%b%b" % (text[: start + found.start(1)], value, text[start + found.end(1) :])


def _find_member(text: bytes, key: str) -> tuple[int, int]:
    for name, start, end in _places(text, 0, len(text)):
        if name == key:
            return start, end
    raise LookupError("The object has no such member. Name members that exist.")


def replace_values(text: bytes, replacements: Mapping[Path, bytes]) -> bytes:
    """The object with the values at these paths replaced by raw JSON; no path may lead through another.

    Raises: LookupError where a path leads nowhere, NotJson where the text is no object or has too many members.
    """
    return apply_edits(text, _edits(text, 0, len(text), replacements=replacements))


def apply_edits(text: bytes, edits: Iterable[Edit]) -> bytes:
    """The text with each of these spans, given in order, become something else: one copy, however many there are."""
    pieces: list[bytes | memoryview] = []
    position = 0
    whole = text if len(text) < COUNTED_FROM else memoryview(text)
    for start, end, value in edits:
        pieces += (whole[position:start], value)
        position = end
    if not pieces:
        return text
    pieces.append(whole[position:])
    return b"".join(pieces)


def _edits(text: bytes, start: int, end: int, *, replacements: Mapping[Path, bytes]) -> list[Edit]:
    edits: list[Edit] = []
    wanted = {path[0] for path in replacements}
    found = set()
    for key, value_start, value_end in _places(text, start, end):
        if key not in wanted:
            continue
        found.add(key)
        value = replacements.get((key,))
        if value is not None:
            edits.append((value_start, value_end, value))
            continue
        if not text.startswith(b"{", value_start):
            raise LookupError("A path leads through a value that is no object. Name members that exist.")
        below = {path[1:]: value for path, value in replacements.items() if path[0] == key}
        edits += _edits(text, value_start, value_end, replacements=below)
    if found != wanted:
        raise LookupError("A path names a member the object does not have. Name members that exist.")
    return edits


def _places(text: bytes, start: int, end: int) -> list[Place]:
    try:
        # A Raw knows its length but not its offset; in order, each begins where its key ends.
        if len(text) < COUNTED_FROM:
            pairs = ordered_pairs.decode(text if end - start == len(text) else text[start:end])
        else:
            pairs = read_pairs(memoryview(text)[start:end])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return _scanned_places(text, start, end)
    places: list[Place] = []
    position = start
    for key, raw in pairs.items():
        to_value = _TO_VALUE.match(text, position)
        if to_value is None:
            return _scanned_places(text, start, end)  # a key with escapes
        value_start = to_value.end()
        position = value_start + len(raw)
        places.append((key.text, value_start, position))
    return places


def _scanned_places(text: bytes, start: int, end: int) -> list[Place]:
    # An answer that holds NaN is refused by whoever judges it; here it must only find its way to its owner.
    found = scan_object(text, start, end, allows_constants=True)
    return [(member.key, member.value_start, member.value_end) for member in found]
