"""Where the members of an object stand, also in JSON the fast decoder refuses: lone surrogates, thousands of levels."""

import json
import re

import msgspec

# No group is repeated anywhere here: the regex engine keeps state for each round of one, which an attacker could make
# millions, and possessive repeats of groups accept too much before Python 3.11.5.
_WS = rb"[ \t\n\r]*"
_STRING = rb'"[^"\x00-\x1f]*"'  # escaped quotes are masked before the scan
_NUMBER = rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_SCALAR = rb"(?>" + _STRING + rb"|" + _NUMBER + rb"|true|false|null)"
_KEY = rb"(?>" + _STRING + _WS + rb":" + _WS + rb")"


def _item(key: bytes, closer: bytes) -> re.Pattern[bytes]:
    """A scalar and its comma, or the last scalar and the closer (group 1), or the opener of a container (group 2)."""
    return re.compile(rb"%s(?:%s%s(?:,%s|(\%s))|([\[{])%s)" % (key, _SCALAR, _WS, _WS, closer, _WS))


# Keyed by the closer that the innermost open container waits for: the scan keeps a stack of those.
_ITEM_IN = {ord("]"): _item(b"", b"]"), ord("}"): _item(_KEY, b"}")}
_TO_CLOSER = {b"[": ord("]"), b"{": ord("}")}
_VALUE = re.compile(_SCALAR + rb"|([\[{])" + _WS)
_AFTER_VALUE = re.compile(_WS + rb"(?:([\]}]+)|," + _WS + rb")")

_OBJECT_START = re.compile(_WS + rb"\{" + _WS + rb"(\})?")
_MEMBER_KEY = re.compile(rb"(" + _STRING + rb")" + _WS + rb":" + _WS)
_NEXT_KEY = re.compile(rb"[{,\s]*" + _MEMBER_KEY.pattern)  # after the decoder has checked the grammar
_TO_ITEM = re.compile(rb"[\[,\s]*")  # after the decoder has checked the grammar
_CONSTANTS = re.compile(rb'"[^"]*"|-?Infinity|NaN')  # in masked text, where no quote is escaped
_AFTER_MEMBER = re.compile(_WS + rb"(?:(\})|," + _WS + rb")")
_TRAILING = re.compile(_WS)
_NON_ASCII = bytes(range(128, 256))
_TO_ASCII = bytes.maketrans(_NON_ASCII, b"_" * len(_NON_ASCII))
_DECODERS_POSITION = re.compile(r"\(byte (\d+)\)")
_BAD_ESCAPE = re.compile(rb'\\(?!["/bfnrt]|u[0-9a-fA-F]{4})')


class NotJson(Exception):
    """The text breaks the grammar at or near this byte."""

    def __init__(self, position: int) -> None:
        super().__init__(f"The text is not JSON at byte {position}. Send one valid JSON object.")
        self.position = position


class Member(msgspec.Struct, frozen=True):
    """Where one member of an object stands; the key is decoded, lone surrogates and all."""

    key: str
    key_start: int
    value_start: int
    value_end: int


class Key:
    """A key equal to no other, so that a dict keeps every pair in order, duplicates too."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def read_key(_: type, text: str) -> Key:
    """For msgspec's dec_hook."""
    return Key(text)


ordered_pairs = msgspec.json.Decoder(dict[Key, msgspec.Raw], dec_hook=read_key)


def scan_object(
    text: bytes, start: int = 0, end: int | None = None, *, strict_utf8: bool = False, allows_constants: bool = False
) -> list[Member]:
    """The members, in order, of the object that text[start:end] is, everything below it checked.

    With `allows_constants` the literals NaN and Infinity, which JSON does not have, count as numbers: what holds them
    can then be found, told whose it is, and refused there. Raises: NotJson.
    """
    end = len(text) if end is None else end
    if strict_utf8:
        _require_utf8(text, start, end)
    masked = _mask_text(text, start, end)
    if allows_constants and (masked.find(b"NaN") >= 0 or masked.find(b"Infinity") >= 0):
        masked = _CONSTANTS.sub(_number_of_same_length, masked)
    try:
        # With every string masked, depth is all that can still stop the fast decoder in a valid text.
        pairs = ordered_pairs.decode(masked[start:end])
    except RecursionError:
        return _scan_members(text, start, end, masked=masked)
    except msgspec.MsgspecError as error:
        position = _DECODERS_POSITION.search(str(error))
        raise NotJson(start + int(position[1]) if position else end) from None
    return _locate_members(text, start, masked=masked, values=list(pairs.values()))


def scan_array(text: bytes) -> list[bytes]:
    """The items of the array that the text is, also where strings hold lone surrogates. Raises: NotJson."""
    masked = _mask_text(text, 0, len(text))
    try:
        items = msgspec.json.decode(masked, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, RecursionError):
        raise NotJson(0) from None
    found: list[bytes] = []
    position = 0
    for raw in items:
        position = _TO_ITEM.match(masked, position).end()  # type: ignore[union-attr]  # matches the empty string
        found.append(text[position : position + len(raw)])
        position += len(raw)
    return found


def _locate_members(text: bytes, position: int, *, masked: bytes, values: list[msgspec.Raw]) -> list[Member]:
    # A Raw knows its length but not its offset; in order, each begins where its key ends.
    members: list[Member] = []
    for raw in values:
        key = _NEXT_KEY.match(masked, position)
        assert key is not None, "the decoder found a pair here"
        position = key.end() + len(raw)
        members.append(_member(text, key, position))
    return members


def _member(text: bytes, key: re.Match[bytes], value_end: int) -> Member:
    return Member(_decode_key(text[key.start(1) : key.end(1)]), key.start(1), key.end(), value_end)


def _scan_members(text: bytes, start: int, end: int, *, masked: bytes) -> list[Member]:
    boundary = _OBJECT_START.match(masked, start, end)
    if boundary is None:
        raise NotJson(start)
    members: list[Member] = []
    while not boundary[1]:
        key = _MEMBER_KEY.match(masked, boundary.end(), end)
        if key is None:
            raise NotJson(boundary.end())
        members.append(_member(text, key, _end_of_value(masked, key.end(), end)))
        boundary = _AFTER_MEMBER.match(masked, members[-1].value_end, end)
        if boundary is None:
            raise NotJson(members[-1].value_end)
    _require_nothing_more(masked, boundary.end(), end)
    return members


def _end_of_value(masked: bytes, position: int, end: int) -> int:
    value = _VALUE.match(masked, position, end)
    if value is None:
        raise NotJson(position)
    stack = bytearray()
    position = _enter(masked, value, end, stack=stack) if value[1] else value.end()
    while stack:
        item = _ITEM_IN[stack[-1]].match(masked, position, end)
        if item is None:
            raise NotJson(position)
        position = item.end()
        if item.lastindex == 2:
            position = _enter(masked, item, end, stack=stack)
        elif item.lastindex == 1:
            position = _leave(masked, position - 1, end, stack=stack)
    return position


def _enter(masked: bytes, opening: re.Match[bytes], end: int, *, stack: bytearray) -> int:
    """Open a container and go to its first item, or past it if it has none."""
    position = opening.end()
    closer = _TO_CLOSER[opening[opening.lastindex or 0]]
    stack.append(closer)
    if position < end and masked[position] == closer:
        return _leave(masked, position, end, stack=stack)
    return position


def _leave(masked: bytes, position: int, end: int, *, stack: bytearray) -> int:
    """Close containers from here and go to the next item of one that is still open, or to the end of the value."""
    while stack:
        after = _AFTER_VALUE.match(masked, position, end)
        if after is None:
            raise NotJson(position)
        if not after[1]:
            return after.end()
        closers = after[1][: len(stack)]
        if not stack.endswith(closers[::-1]):
            raise NotJson(position)
        del stack[-len(closers) :]
        position = after.start(1) + len(closers)
    return position


def _mask_text(text: bytes, start: int, end: int) -> bytes:
    """The same text in ASCII with no quote or code point escaped, every byte at its place.

    A mask is no token, so what was wrong outside a string stays wrong.
    """
    masked = text if text.isascii() else text.translate(_TO_ASCII)
    if masked.find(b"\\") < 0:
        return masked
    masked = masked.replace(b"\\\\", b"__")
    if bad := _BAD_ESCAPE.search(masked, start, end):
        raise NotJson(bad.start())
    return masked.replace(b'\\"', b"__").replace(b"\\u", b"__")


def _number_of_same_length(found: re.Match[bytes]) -> bytes:
    literal = found[0]
    if literal.startswith(b'"'):
        return literal
    sign = b"-" if literal.startswith(b"-") else b""
    return sign + b"0.".ljust(len(literal) - len(sign), b"0")


def _decode_key(quoted: bytes) -> str:
    # Bytes that are no UTF-8 become lone surrogates too: such a key equals no honest one.
    key = quoted.decode(errors="surrogateescape")
    return str(json.loads(key)) if "\\" in key else key[1:-1]


def _require_nothing_more(masked: bytes, position: int, end: int) -> None:
    if not _TRAILING.fullmatch(masked, position, end):
        raise NotJson(position)


def _require_utf8(text: bytes, start: int, end: int) -> None:
    try:
        text[start:end].decode()
    except UnicodeDecodeError as error:
        raise NotJson(start + error.start) from None
