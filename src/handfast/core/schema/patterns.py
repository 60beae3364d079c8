"""Which engine can match a schema's pattern, and why none can."""

from functools import cache
from re import compile as compile_pattern
from typing import Final

import jsonschema_rs

# One match that backtracks more often than this is ended: some 5 ms, so a hostile text costs no more, and a tempered
# `(?:(?!x).)*` still reads 200 KB.
MOST_BACKTRACKS: Final = 250_000

# A pattern of this length that no counted repetition makes larger is not too large for the engine.
_SHORT: Final = 4_096
_REPETITION: Final = compile_pattern(r"(?<!\\)\{[0-9]+(?:,[0-9]*)?\}")

Engine = jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions


def linear_engine(size: int) -> jsonschema_rs.RegexOptions:
    """Time follows the length of the text, whatever the pattern; without look-around and backreferences."""
    return jsonschema_rs.RegexOptions(size_limit=size)


def backtracking_engine(size: int) -> jsonschema_rs.FancyRegexOptions:
    """Look-around and backreferences too, at a price that depends on the text: only where it can be ended."""
    return jsonschema_rs.FancyRegexOptions(size_limit=size, backtrack_limit=MOST_BACKTRACKS)


def can_match(pattern: str, engine: Engine) -> bool:
    """Whether the engine takes the pattern."""
    try:
        jsonschema_rs.Draft202012Validator({"pattern": pattern}, offline=True, pattern_options=engine)
    except ValueError:
        return False
    return True


def pattern_fault(pattern: str, size: int) -> str:
    """What is wrong with a pattern itself, whatever its size; empty where one of the engines can match it."""
    if _is_regular_expression(pattern):
        if len(pattern) > _SHORT or can_match(_REPETITION.sub("", pattern), backtracking_engine(size)):
            return ""
        return "uses something that no engine here can match"
    return "" if can_match(pattern, backtracking_engine(size)) else "is not a valid regular expression"


def _is_regular_expression(pattern: str) -> bool:
    """By the grammar alone, which takes no time to speak of."""
    try:
        return _grammar().is_valid(pattern)
    except UnicodeEncodeError:
        return False


@cache
def _grammar() -> jsonschema_rs.Validator:
    return jsonschema_rs.Draft202012Validator({"format": "regex"}, offline=True, validate_formats=True)
