"""Strict reading of JSON text that is to be judged: its depth, and the one value that every parser reads in it."""

import json
import re
from array import array
from collections.abc import Iterator
from enum import StrEnum
from itertools import accumulate
from sys import float_info
from typing import Final

import msgspec

from handfast.core.bounds import MOST_VALUES

# Python refuses longer integer literals by default, because reading them takes quadratic time.
_LONGEST_INTEGER = 4300
_LARGEST_FLOAT = float_info.max
_LONG = float_info.max_10_exp  # the fast decoder reads integers of any length; in shorter text all are in range
# The fast decoder takes 15 microseconds for a number near the end of a double's range; a text up to this long has too
# little room for such numbers to matter.
_LONG_TO_DECODE = 16 * 1024
_LONG_STRING = 256  # with fewer bytes per quote or escape, leaving out strings saves nothing
_BLOCK = 64 * 1024
_FEW_MEMBERS = 4096  # bytes outside strings; so few members fit in them that counting one by one is faster

# Numbers that may exceed a double's range, by their exponent or by their number of digits. Both are searched in the
# text reduced to marks, at a tenth of the time that a pattern takes.
_LARGE_EXPONENT = re.compile(rb"(?<=[0-9])[eE][+-]?[0-9]{3,}(?=[\s,\]}]|\Z)")
_MANY_DIGITS = b"0" * 200
_MARKS = {
    **dict.fromkeys(b"0123456789", ord("0")),
    **dict.fromkeys(b"eE", ord("e")),
    ord("+"): ord("-"),
    ord("-"): ord("-"),
}
_TO_MARKS = bytes(_MARKS.get(byte, ord(" ")) for byte in range(256))
_SURROGATE_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

_OPENER, _CLOSER = b"\x01", b"\xff"  # +1 and -1 as signed bytes
_TO_STEPS = bytes.maketrans(b"[{]}", _OPENER * 2 + _CLOSER * 2)
_NEITHER_BRACKET_NOR_QUOTE = bytes(set(range(256)) - set(b'[]{}"'))
_NEITHER_MARK_NOR_QUOTE = bytes(set(range(256)) - set(b',[{"'))


# Stands for a value that is not decoded yet; None cannot, because it is the value of null.
UNREAD: Final = object()


class Ambiguity(StrEnum):
    """Why a text has no single meaning; the words complete "the result is not judged: …"."""

    DUPLICATE_KEY = "an object has the same key twice"
    NOT_A_NUMBER = "it holds NaN or Infinity, which JSON does not have"
    NOT_UNICODE = "it holds text that is not valid Unicode"
    NOT_JSON = "it is not valid JSON"
    TOO_DEEP = "it is nested too deeply to judge"
    TOO_LARGE = "it holds a number beyond the range of a double"
    TOO_MANY = "it holds more values than are judged at once"


class Ambiguous(Exception):
    """Two parsers could read this text differently, so it cannot be judged."""

    def __init__(self, reason: Ambiguity) -> None:
        super().__init__(reason.value)
        self.reason = reason


def decode_judged(text: bytes) -> object:
    """The value of a JSON text, numbers beyond a double's range clamped. Raises: Ambiguous."""
    if len(text) > _LONG_TO_DECODE and may_overflow(_without_long_strings(text)):
        return _decode_carefully(text, _clamping)
    return _decode(text, _clamping)


def decode_arguments(text: bytes) -> object:
    """As `decode_judged`, but refuses numbers beyond a double's range, which parsers read as infinity or as null.

    Raises: Ambiguous.
    """
    if len(text) > _LONG:
        outside = _without_long_strings(text)
        if values_exceed(outside, MOST_VALUES):
            raise Ambiguous(Ambiguity.TOO_MANY)
        if may_overflow(outside):
            return _decode_carefully(text, _in_range)
        if len(outside) < _FEW_MEMBERS:
            return _decode_few(text, outside)
    return _decode(text, _in_range)


def _decode_few(text: bytes, outside: bytes) -> object:
    """As `_decode`, for few members beside long strings: counting members is cheaper than encoding the value again."""
    try:
        value: object = msgspec.json.decode(text)
        if outside.count(b":") == _count_members(value):
            return value
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    return _decode_carefully(text, _in_range)


def _count_members(value: object) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_count_members, value.values()))
    return sum(map(_count_members, value)) if isinstance(value, list) else 0


def _decode(text: bytes, careful: json.JSONDecoder) -> object:
    try:
        value: object = msgspec.json.decode(text)
        # A dropped duplicate loses its colon, and nothing else changes the number of colons: strings keep theirs, and
        # only an escape (\u003a) can add one. (`find` is faster than `in`, which for bytes first tries the operand as a
        # number.)
        is_spelt_out = text.find(b"\\") < 0 or b"\\u003" not in text
        if is_spelt_out and text.count(b":") == msgspec.json.encode(value).count(b":"):
            return value
    except RecursionError:
        raise Ambiguous(Ambiguity.TOO_DEEP) from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        pass  # unusual or invalid: the careful decoder decides
    return _decode_carefully(text, careful)


def may_overflow(text: bytes) -> bool:
    """Whether a number may be near or beyond the end of a double's range: to be clamped, or slow to decode."""
    marks = text.translate(_TO_MARKS)
    if marks.find(_MANY_DIGITS) >= 0:
        return True
    has_exponent = marks.find(b"0e000") >= 0 or marks.find(b"0e-000") >= 0
    return has_exponent and _LARGE_EXPONENT.search(text) is not None


def _decode_carefully(text: bytes, careful: json.JSONDecoder) -> object:
    try:
        value: object = careful.decode(text.decode())
    except UnicodeDecodeError:
        raise Ambiguous(Ambiguity.NOT_UNICODE) from None
    except json.JSONDecodeError:
        raise Ambiguous(Ambiguity.NOT_JSON) from None
    except RecursionError:
        raise Ambiguous(Ambiguity.TOO_DEEP) from None
    if _has_lone_surrogate(text):
        raise Ambiguous(Ambiguity.NOT_UNICODE)
    return value


def _has_lone_surrogate(text: bytes) -> bool:
    if not _SURROGATE.search(text):
        return False
    escapes = text.replace(b"\\\\", b"")  # a backslash that remains begins an escape
    return _SURROGATE.search(_SURROGATE_PAIR.sub(b" ", escapes)) is not None


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Ambiguous(Ambiguity.DUPLICATE_KEY)
    return members


def _refuse_constant(_: str) -> object:
    raise Ambiguous(Ambiguity.NOT_A_NUMBER)


def _finite(literal: str) -> float:
    return min(max(float(literal), -_LARGEST_FLOAT), _LARGEST_FLOAT)


def _exact(literal: str) -> int | float:
    if len(literal) > _LONGEST_INTEGER:
        return _finite(literal)
    try:
        return int(literal)
    except ValueError:  # this interpreter is set to refuse shorter ones
        return _finite(literal)


def _float_in_range(literal: str) -> float:
    value = float(literal)
    if abs(value) > _LARGEST_FLOAT:
        raise Ambiguous(Ambiguity.TOO_LARGE)
    return value


def _int_in_range(literal: str) -> int:
    if len(literal) > float_info.max_10_exp:
        _float_in_range(literal)
    return int(literal)


_clamping = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_exact
)
_in_range = json.JSONDecoder(
    object_pairs_hook=_unique_keys,
    parse_constant=_refuse_constant,
    parse_float=_float_in_range,
    parse_int=_int_in_range,
)


def values_exceed(text: bytes, limit: int) -> bool:
    """Whether a JSON value, with all values below it, counts more values than the limit."""
    if len(text) <= 2 * limit:
        return False  # each value takes at least two bytes
    most = 0  # an upper bound that counts marks inside strings too
    for block in _blocks(text):
        most += block.count(b",") + block.count(b"[") + block.count(b"{")
        if most > limit:
            return _values_outside_strings_exceed(_without_escaped_quotes(text), limit)
    return False


def _values_outside_strings_exceed(text: bytes, limit: int) -> bool:
    count, is_inside = 0, 0
    for block in _blocks(text):
        # Once only marks and quotes are left, adjacent quotes can be removed without changing what is inside a string.
        parts = block.translate(None, _NEITHER_MARK_NOR_QUOTE).replace(b'""', b"").split(b'"')
        count += sum(map(len, parts[is_inside::2]))
        if count > limit:
            return True
        is_inside ^= len(parts) - 1 & 1
    return False


def _blocks(text: bytes) -> Iterator[bytes]:
    """The text in blocks, so that reading stops where the answer is known."""
    return (text[start : start + _BLOCK] for start in range(0, len(text), _BLOCK))


def depth_exceeds(text: bytes, limit: int) -> bool:
    """Whether a JSON value is nested deeper than the limit; a scalar has depth 0, `[]` has 1."""
    if text.count(b"{") + text.count(b"[") <= limit:
        return False  # not even if all were outside strings and none closed
    marks = _without_escaped_quotes(text).translate(None, _NEITHER_BRACKET_NOR_QUOTE)
    if marks.count(b"[") + marks.count(b"{") <= limit:
        return False
    steps = _outside_strings(marks).translate(_TO_STEPS)
    while len(steps) > 2 * limit:  # fewer pairs than levels cannot nest too deeply
        if limit == 0:
            return True
        peeled = steps.replace(_OPENER + _CLOSER, b"")  # removes every innermost pair: one level less everywhere
        limit -= 1
        if len(peeled) > len(steps) * 3 // 4:  # deep rather than wide: peeling would take a pass per level
            return max(accumulate(array("b", peeled))) > limit
        steps = peeled
    return False


def _without_long_strings(text: bytes) -> bytes:
    """The text outside strings, if the text is nearly all strings, such as a file or base64; else the text unchanged.

    If the text is not JSON, quotes may not pair, but then every decoder refuses it too.
    """
    most = len(text) // _LONG_STRING
    if most < 2 or text.count(b'"') > most or text.count(b"\\") > most:
        return text
    return b" ".join(_without_escaped_quotes(text).split(b'"')[::2])


def _without_escaped_quotes(text: bytes) -> bytes:
    return text if text.find(b"\\") < 0 else text.replace(b"\\\\", b"").replace(b'\\"', b"")


def _outside_strings(marks: bytes) -> bytes:
    # Once only marks and quotes are left, adjacent quotes can be removed without changing what is inside a string.
    marks = marks.replace(b'""', b"")
    return b"".join(marks.split(b'"')[::2]) if b'"' in marks else marks
