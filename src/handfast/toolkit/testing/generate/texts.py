"""Strings that a schema allows, as Hypothesis strategies by format, pattern or length."""

import re
import warnings
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.errors import InvalidArgument
from hypothesis.strategies import SearchStrategy

from handfast.core.schema.compiled import build_slow_validator

_PLAIN = "abcxyzABC019 -_.@"
TEXT = st.characters(codec="utf-8")  # no lone surrogates, which are not text and never reach a tool
_LONGEST = 2_000  # of drawn texts; Hypothesis has its own bounds, and a longer text shows nothing more
# Realistic texts that are rarely drawn by chance: empty, blanks, quotes, markup, other scripts, a long one.
_EDGES = (
    "",
    " ",
    "a",
    "0",
    "null",
    'it\'s "so"',
    "a/../b",
    "%s{0}",
    "\n",
    "\x00",
    "Zoë",
    "日本語",
    "👩‍👩‍👧",
    "x" * 1_000,
)


def texts(schema: Mapping[str, Any]) -> SearchStrategy[str] | None:  # Any: JSON Schema
    """A strategy for strings that meet the schema; None if none can."""
    shortest, longest = int(schema.get("minLength", 0)), schema.get("maxLength")
    if longest is not None and shortest > longest:
        return None
    if shortest > _LONGEST:
        return st.just("x" * shortest)
    formatted = FORMATS.get(str(schema.get("format", "")))
    if formatted is not None:
        return formatted
    if isinstance(pattern := schema.get("pattern"), str) and (matching := _matching(pattern)) is not None:
        return matching.filter(lambda text: shortest <= len(text) <= (_LONGEST if longest is None else longest))
    made = st.text(TEXT, min_size=shortest, max_size=None if longest is None else int(longest))
    ends = ["x" * end for end in (shortest, longest) if end is not None and end <= _LONGEST]
    edges = [edge for edge in _EDGES if shortest <= len(edge) <= (_LONGEST if longest is None else longest)]
    plain = st.text(_PLAIN, min_size=shortest, max_size=shortest + 8 if longest is None else int(longest))
    return st.one_of(*([st.sampled_from(list(dict.fromkeys([*edges, *ends])))] if edges or ends else []), plain, made)


def _matching(pattern: str) -> SearchStrategy[str] | None:
    """A strategy for a pattern; `\\d` and the like mean ASCII, as in the judging engine. None if Python refuses it.

    Texts are made from the parsed pattern and judged by the engine that judges calls: Python's `re`, by which
    `from_regex` filters, takes years over a text that nearly matches `^(a+)+$`.
    """
    try:
        is_match = build_slow_validator({"pattern": pattern}).validator.is_valid
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of future set syntax, which does not concern test runs
            made = _from_parsed(re.compile(pattern, re.ASCII))
    except (ValueError, re.error, OverflowError, RecursionError, InvalidArgument, ImportError):
        return None
    between = st.just("") | st.text(TEXT)
    return st.tuples(between, made, between).map(partial(_padded, is_match)).filter(is_match)


def _from_parsed(pattern: re.Pattern[str]) -> SearchStrategy[str]:
    """Texts for a parsed pattern, of which nearly all match. Raises: InvalidArgument, ImportError."""
    # Not public: a release of Hypothesis without these costs the texts of patterns alone.
    from hypothesis.strategies._internal.lazy import unwrap_strategies
    from hypothesis.strategies._internal.regex import base_regex_strategy

    alphabet = unwrap_strategies(TEXT)  # type: ignore[no-untyped-call]  # it has no annotations
    made: SearchStrategy[str] = base_regex_strategy(pattern, alphabet=alphabet)
    return made


def _padded(is_match: Callable[[str], bool], parts: tuple[str, str, str]) -> str:
    """The text with others around it where the pattern allows them: it may have no anchors."""
    before, text, after = parts
    return next((each for each in (before + text + after, before + text, text + after) if is_match(each)), text)


def _offset(minutes: int) -> str:
    hours, rest = divmod(abs(minutes), 60)
    return "Z" if not minutes else f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"


_offsets = st.one_of(st.just(0), st.sampled_from((-720, -300, 60, 330, 840))).map(_offset)
_dates = st.dates().map(str)
_times = st.tuples(st.times().map(str), _offsets).map("".join)
_durations = st.timedeltas().map(lambda delta: f"P{abs(delta.days)}DT{delta.seconds}S")
# Without two hyphens in a row, which in the third and fourth place mark an encoded name.
_names = st.from_regex(r"[a-z](?:-?[a-z0-9]){1,12}", fullmatch=True)
_hosts = _names.map("{}.example.com".format)
_addresses = _hosts.map("https://{}/".format)

FORMATS: Mapping[str, SearchStrategy[str]] = {
    "date": _dates,
    "time": _times,
    "date-time": st.tuples(_dates, _times).map("T".join),
    "duration": _durations,
    "uuid": st.uuids().map(str),
    **{f"uuid{version}": st.just(str(UUID(int=0, version=version))) for version in (1, 3, 5)},
    "uuid4": st.uuids(version=4).map(str),
    "email": _names.map("{}@example.com".format),
    "hostname": _hosts,
    "ipv4": st.ip_addresses(v=4).map(str),
    "ipv6": st.ip_addresses(v=6).map(str),
    "ipvanyaddress": st.ip_addresses().map(str),
    "uri": _addresses,
    "iri": _addresses,
    "uri-reference": _addresses,
    "json-pointer": _names.map("/{}".format),
    "json-string": st.integers().map(str),
    "base64url": st.binary().map(lambda octets: urlsafe_b64encode(octets).decode()),
    "regex": st.just("^[a-z]+$"),
}
