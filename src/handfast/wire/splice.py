"""Values inside a message replaced, added or taken out by position, every other byte as it was sent."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from handfast.wire.scan import COUNTED_FROM, Member, locate_members, scan_object

Path = tuple[str, ...]
Span = tuple[int, int]  # start and end of a value
Edit = tuple[int, int, bytes]  # start and end of a value, what it becomes
_Tree = Mapping[str, "bytes | _Tree | None"]  # what members become: raw JSON, nothing, or an object changed in parts

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
    if found is not None:
        return found.span(1)
    for member in scan_object(text, allows_constants=True):
        if member.key == "id":
            return member.value_start, member.value_end
    raise LookupError("The message has no id. Name members that exist.")


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


def replace_values(text: bytes, replacements: Mapping[Path, bytes]) -> bytes:
    """The object with the values at these paths replaced by raw JSON; no path may lead through another.

    Raises: LookupError where a path leads nowhere, NotJson where the text is no object or has too many members.
    """
    return apply_edits(text, _edits(text, 0, len(text), _to_tree(replacements), must_exist=True))


def put(text: bytes, values: Mapping[Path, bytes]) -> bytes:
    """The object with raw JSON at these paths: replaced where there is something, else added, objects on the way too.

    Raises: NotJson.
    """
    return apply_edits(text, _edits(text, 0, len(text), _to_tree(values)))


def drop(text: bytes, paths: Iterable[Path]) -> bytes:
    """The object without the members at these paths, where there are any. Raises: NotJson."""
    return apply_edits(text, _edits(text, 0, len(text), _to_tree(dict.fromkeys(paths))))


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


# From the start of a message over at most three members that are plain text or numbers: id, method, jsonrpc.
_TO_BODY: Final = re.compile(
    rb'\s*\{(?:\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*"|[-+.0-9eE]+)\s*,){0,3}\s*"(?:params|result)"\s*:\s*(?=\{)'
)


def edit_body(text: bytes, body: str, members: Mapping[str, msgspec.Raw], values: Mapping[str, bytes | None]) -> bytes:
    """A message that was read, with these members of its body: set, added, or taken out where the value is None.

    `body` is params or result, and `members` are all of it as they were read: their lengths tell where each stands, so
    nothing is read again. Raises: NotJson.
    """
    start = _find_body(text, body)
    if start is None:
        return put(text, {(body, name): value for name, value in values.items() if value is not None})
    located = locate_members(text, start, values=members.values())
    return apply_edits(text, _edit_members(text, start, located, values))


def _find_body(text: bytes, body: str) -> int | None:
    """Where the object of this name begins; None where the message has none. Raises: NotJson."""
    found = _TO_BODY.match(text)
    if found is not None:
        return found.end()
    for member in scan_object(text, allows_constants=True):
        if member.key == body and text.startswith(b"{", member.value_start):
            return member.value_start
    return None


def _edits(text: bytes, start: int, end: int, values: _Tree, *, must_exist: bool = False) -> Iterator[Edit]:
    # An answer that holds NaN is refused by whoever judges it; here it must only find its way to its owner.
    members = scan_object(text, start, end, allows_constants=True)
    if must_exist and not values.keys() <= {member.key for member in members}:
        raise LookupError("A path names a member the object does not have. Name members that exist.")
    return _edit_members(text, start, members, values, must_exist=must_exist)


def _edit_members(
    text: bytes, start: int, members: list[Member], values: _Tree, *, must_exist: bool = False
) -> Iterator[Edit]:
    """What changes in the object that begins here and has these members."""
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
                raise LookupError("A path leads through a value that is no object. Name members that exist.")
            value = _render(value)
        if value is not None:
            yield member.value_start, member.value_end, value
    there = {member.key for member in members}
    added = {key: value for key, value in values.items() if key not in there}
    yield from _edit_end(text, start, members, added, last)


def _edit_end(text: bytes, start: int, members: list[Member], added: _Tree, last: int) -> Iterator[Edit]:
    """Behind the last member that stays: those after it go, with the comma before them, and what is new comes."""
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
    """An object of what is set; None where nothing is."""
    if values is None:
        return None
    rendered = apply_edits(b"{}", _edit_end(b"{}", 0, [], values, -1))
    return None if rendered == b"{}" else rendered


def _to_tree(values: Mapping[Path, bytes | None]) -> dict[str, "bytes | _Tree | None"]:
    below: dict[str, dict[Path, bytes | None]] = {}
    for path, value in values.items():
        below.setdefault(path[0], {})[path[1:]] = value
    return {key: inner[()] if () in inner else _to_tree(inner) for key, inner in below.items()}
