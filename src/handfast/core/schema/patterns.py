"""The engines that match a schema's patterns, and the reason why a pattern has none."""

from functools import cache
from re import compile as compile_pattern
from typing import Final

import jsonschema_rs

# A match that backtracks more often is stopped, after some 5 ms, which bounds the cost of a hostile text; a tempered
# `(?:(?!x).)*` can still read 200 KB.
MOST_BACKTRACKS: Final = 250_000

# A pattern up to this length, without counted repetitions, is never too large for the engine.
_SHORT: Final = 4_096
_REPETITION: Final = compile_pattern(r"(?<!\\)\{[0-9]+(?:,[0-9]*)?\}")

Engine = jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions


def linear_engine(size: int) -> jsonschema_rs.RegexOptions:
    """An engine in linear time for any pattern, without look-around and backreferences."""
    return jsonschema_rs.RegexOptions(size_limit=size)


def backtracking_engine(size: int) -> jsonschema_rs.FancyRegexOptions:
    """An engine with look-around and backreferences, whose time depends on the text: only for a killable process."""
    return jsonschema_rs.FancyRegexOptions(size_limit=size, backtrack_limit=MOST_BACKTRACKS)


def can_match(pattern: str, engine: Engine) -> bool:
    """Whether the engine accepts the pattern."""
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, offline=True, pattern_options=engine)
    except ValueError:
        return False
    return True


def pattern_fault(pattern: str, size: int) -> str:
    """The fault of a pattern apart from its size; empty if one of the engines can match it."""
    if _is_regular_expression(pattern):
        if len(pattern) > _SHORT or can_match(_REPETITION.sub("", pattern), backtracking_engine(size)):
            return ""
        return "uses something that no engine here can match"
    return "" if can_match(pattern, backtracking_engine(size)) else "is not a valid regular expression"


def _is_regular_expression(pattern: str) -> bool:
    """Whether the pattern meets the grammar; nothing is compiled, so this is fast."""
    try:
        return _grammar().is_valid(pattern)
    except UnicodeEncodeError:
        return False


@cache
def _grammar() -> jsonschema_rs.Validator:
    return jsonschema_rs.Draft202012Validator({"format": "regex"}, offline=True, validate_formats=True)
