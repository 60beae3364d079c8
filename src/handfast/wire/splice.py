"""Replaces, adds and removes values inside a message by position; all other bytes stay as they were sent."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from handfast.wire.scan import COUNTED_FROM, Member, locate_members, scan_object

Path = tuple[str, ...]
Span = tuple[int, int]  # start and end of a value
Edit = tuple[int, int, bytes]  # start and end of a value, what it becomes
_Tree = Mapping[str, "bytes | _Tree | None"]  # new values: raw JSON, None to remove, or an object's members

# Official clients and servers write the id first or last. The decoder has refused a duplicate, so a match is the id.
_COMPACT = b'{"jsonrpc":"2.0","id":'
_SPACED = b'{"jsonrpc": "2.0", "id": '
_DIGITS = 20
_ID = rb'"id"\s*:\s*(-?[0-9]{1,20}|"[^"\\]{0,256}")'
_ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\s*[,}]")
_ID_LAST = re.compile(rb"[{,]\s*" + _ID + rb"\s*\}\s*\Z")
_PLAIN_VALUE = re.compile(rb'\s*:\s*(-?[0-9]{1,20}|"[^"]{0,256}")\s*[,}]')
_TAIL = 300  # bytes, enough for the longest id that the pattern takes


def swap_id(text: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Replaces the id of a message that was read; returns the message and the old id as it was spelled.

    Raises: LookupError if the message has no id.
    """
    # The usual spelling, at a fraction of a pattern's cost: every call passes here.
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
    """Replaces the id `old` of a message that was read with `new`. Raises: LookupError if the message has no id."""
    end = 22 + len(old)
    if text.startswith(old, 22) and text.startswith(_COMPACT) and text.startswith(b",", end):
        return _COMPACT + new + text[end:]
    return swap_id(text, new)[0]


def _find_id(text: bytes) -> Span:
    """The span of the id, wherever it stands and however it is spelled. Raises: LookupError."""
    found = _ID_FIRST.match(text) or _ID_LAST.search(text, max(0, len(text) - _TAIL))
    if found is not None:
        return found.span(1)
    for member in scan_object(text, allows_constants=True):
        if member.key == "id":
            return member.value_start, member.value_end
    raise LookupError("The message has no id. Name members that exist.")


def replace_plain(text: bytes, outer: bytes, key: bytes, value: bytes) -> bytes | None:
    """Replaces the value of `key` in `outer`, an object inside the text; None if plain search cannot find the place.

    It must be unique: the object's bytes stand once in the text, and the key stands once in them, without escapes."""
    start = text.find(outer)
    if text.find(outer, start + 1) >= 0 or outer.find(b"\\") >= 0 or outer.count(key) != 1:
        return None
    found = _PLAIN_VALUE.match(outer, outer.find(key) + len(key))
    if found is None:
        return None
    return b"%b%b%b" % (text[: start + found.start(1)], value, text[start + found.end(1) :])


def replace_values(text: bytes, replacements: Mapping[Path, bytes]) -> bytes:
    """Replaces the values at these paths of an object with raw JSON; no path may lead through another.

    Raises: LookupError if a path does not exist, NotJson if the text is not an object or has too many members.
    """
    return apply_edits(text, _edits(text, 0, len(text), _to_tree(replacements), must_exist=True))


def put(text: bytes, values: Mapping[Path, bytes]) -> bytes:
    """Sets raw JSON at these paths of an object: replaces or adds the member, and adds the objects on the way.

    Raises: NotJson.
    """
    return apply_edits(text, _edits(text, 0, len(text), _to_tree(values)))


def drop(text: bytes, paths: Iterable[Path]) -> bytes:
    """Removes the members at these paths of an object, where they exist. Raises: NotJson."""
    return apply_edits(text, _edits(text, 0, len(text), _to_tree(dict.fromkeys(paths))))


def apply_edits(text: bytes, edits: Iterable[Edit]) -> bytes:
    """Replaces these spans, given in order, with new bytes; makes one copy however many there are."""
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


# Matches from the start of a message over at most three plain members (id, method, jsonrpc) to params or result.
_TO_BODY: Final = re.compile(
    rb'\s*\{(?:\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[-+.0-9eE]+)\s*,){0,3}\s*"(?:params|result)"\s*:\s*(?=\{)'
)


def edit_body(text: bytes, body: str, members: Mapping[str, msgspec.Raw], values: Mapping[str, bytes | None]) -> bytes:
    """Changes members of a message's body: sets or adds them, and removes those whose value is None.

    `body` is params or result, and `members` are all its members as they were read: their lengths give their positions,
    so the body is not parsed again. Raises: NotJson.
    """
    start = _find_body(text, body)
    if start is None:
        return put(text, {(body, name): value for name, value in values.items() if value is not None})
    located = locate_members(text, start, values=members.values())
    return apply_edits(text, _edit_members(text, start, located, values))


def _find_body(text: bytes, body: str) -> int | None:
    """The start of the object of this name; None if the message has none. Raises: NotJson."""
    found = _TO_BODY.match(text)
    if found is not None:
        return found.end()
    for member in scan_object(text, allows_constants=True):
        if member.key == body and text.startswith(b"{", member.value_start):
            return member.value_start
    return None


def _edits(text: bytes, start: int, end: int, values: _Tree, *, must_exist: bool = False) -> Iterator[Edit]:
    # An answer that holds NaN is refused where it is judged; here it only needs the id of its request.
    members = scan_object(text, start, end, allows_constants=True)
    if must_exist and not values.keys() <= {member.key for member in members}:
        raise LookupError("A path names a member the object does not have. Name members that exist.")
    return _edit_members(text, start, members, values, must_exist=must_exist)


def _edit_members(
    text: bytes, start: int, members: list[Member], values: _Tree, *, must_exist: bool = False
) -> Iterator[Edit]:
    """The edits for the object that begins at `start` and has these members."""
    leaving = [values.get(member.key, b"") is None for member in members]
    last = max((number for number, leaves in enumerate(leaving) if not leaves), default=-1)
    for number, member in enumerate(members[: last + 1]):
        if leaving[number]:
            yield member.key_start, members[number + 1].key_start, b""
            continue
        value = values.get(member.key)
        if isinstance(value, Mapping):
            if text.startswith(b"{", member.value_start):
                yield from _edits(text, member.value_start, member.value_end, value, must_exist=must_exist)
                continue
            if must_exist:
                raise LookupError("A path leads through a value that is not an object. Name members that exist.")
            value = _render(value)
        if value is not None:
            yield member.value_start, member.value_end, value
    there = {member.key for member in members}
    added = {key: value for key, value in values.items() if key not in there}
    yield from _edit_end(text, start, members, added, last)


def _edit_end(text: bytes, start: int, members: list[Member], added: _Tree, last: int) -> Iterator[Edit]:
    """The edit after the last member that stays: removes the members behind it with their comma, adds the new ones."""
    rendered = [(key, value if isinstance(value, bytes) else _render(value)) for key, value in added.items()]
    new = b",".join(msgspec.json.encode(key) + b":" + value for key, value in rendered if value is not None)
    if last >= 0:
        at = members[last].value_end
        new = b"," + new if new else new
    else:
        at = members[0].key_start if members else text.index(b"{", start) + 1
    end = members[-1].value_end if last + 1 < len(members) else at
    if new or end > at:
        yield at, end, new


def _render(values: "_Tree | None") -> bytes | None:
    """An object of the values that are set; None if none is."""
    if values is None:
        return None
    rendered = apply_edits(b"{}", _edit_end(b"{}", 0, [], values, -1))
    return None if rendered == b"{}" else rendered


def _to_tree(values: Mapping[Path, bytes | None]) -> dict[str, "bytes | _Tree | None"]:
    below: dict[str, dict[Path, bytes | None]] = {}
    for path, value in values.items():
        below.setdefault(path[0], {})[path[1:]] = value
    return {key: inner[()] if () in inner else _to_tree(inner) for key, inner in below.items()}
