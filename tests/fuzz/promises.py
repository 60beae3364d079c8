"""The tools that every server of the fuzzer lists, and what is promised about them, said a second time.

The checks are written out by hand: a fuzzer that asked handfast's own validator would agree with its mistakes.
"""

import json
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

Json = Any  # Any: decoded JSON, of whatever shape was sent

PROBE = "probe"  # called after a case to see that the connection still works; never part of a case
TOOLS: list[dict[str, Json]] = [
    {
        "name": "pay",
        "inputSchema": {
            "type": "object",
            "properties": {"amount": {"type": "number"}, "to": {"type": "string"}},
            "required": ["amount"],
            "additionalProperties": False,
        },
        "outputSchema": {
            "type": "object",
            "properties": {"total": {"type": "integer"}},
            "required": ["total"],
            "additionalProperties": False,
        },
    },
    {
        "name": "note",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}, "task": {"type": "string"}}},
    },
    {
        # A look-ahead, which the linear pattern engine refuses: everyday in real schemas.
        "name": "match",
        "inputSchema": {
            "type": "object",
            "properties": {"code": {"type": "string", "pattern": "^(?!x)[a-z]+"}},
            "required": ["code"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {"word": {"type": "string", "pattern": "^(?!bad)"}},
            "required": ["word"],
        },
    },
    {"name": PROBE, "inputSchema": {"type": "object", "properties": {"mark": {"type": "string"}}}},
]
TOOLS_TEXT = json.dumps(TOOLS)
LISTED = frozenset(tool["name"] for tool in TOOLS)
DECLARED: dict[str, frozenset[str]] = {
    tool["name"]: frozenset(tool["inputSchema"].get("properties", {})) for tool in TOOLS
}
WITH_OUTPUT = frozenset(tool["name"] for tool in TOOLS if "outputSchema" in tool)
GOOD_ARGUMENTS = {"pay": '{"amount":1}', "note": '{"text":"x"}', "match": '{"code":"ab"}'}
GOOD_RESULTS = {"pay": '{"total":3}', "note": '{"any":1}', "match": '{"word":"good"}'}
BAD_RESULTS = {"pay": '{"total":"3"}', "note": '{"any":2}', "match": '{"word":"bad one"}'}

_FOLDED_AWAY = re.compile(r"[\0 ]")


def is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _pay_arguments(given: dict[str, Json]) -> bool:
    return (
        given.keys() <= {"amount", "to"}
        and is_number(given.get("amount"))
        and ("to" not in given or isinstance(given["to"], str))
    )


def _note_arguments(given: dict[str, Json]) -> bool:
    return all(isinstance(given[key], str) for key in ("text", "task") if key in given)


def _match_arguments(given: dict[str, Json]) -> bool:
    code = given.get("code")
    return isinstance(code, str) and re.match("(?!x)[a-z]+", code) is not None


_MEETS_INPUT: dict[str, Callable[[dict[str, Json]], bool]] = {
    "pay": _pay_arguments,
    "note": _note_arguments,
    "match": _match_arguments,
    PROBE: lambda given: isinstance(given.get("mark", ""), str),
}


def broken_by_arguments(tool: str, given: Json, *, is_strict: bool = True) -> str | None:
    """Why a call must not have reached its server; None where it may."""
    if tool not in LISTED:
        return "the tool is not listed" if is_strict else None
    if given is None:
        given = {}
    if not isinstance(given, dict):
        return "the arguments are no object"
    if not all(_is_finite(value) for value in _numbers_in(given)):
        return "a number in the arguments is beyond a double's range"
    declared = DECLARED[tool]
    wrappers = [key for key, value in given.items() if key not in declared and isinstance(value, dict)]
    if wrappers:
        return "an undeclared argument is an object"
    if _has_near_names(given, declared):
        return "an argument's name is almost that of another"
    return "the arguments break the input schema" if is_strict and not _MEETS_INPUT[tool](given) else None


def _has_near_names(given: Iterable[str], declared: frozenset[str]) -> bool:
    folded_declared = {_fold(name) for name in declared}
    seen: set[str] = set()
    for name in given:
        if name in declared:
            seen.add(_fold(name))
    for name in given:
        if name in declared:
            continue
        folded = _fold(name)
        if folded in folded_declared or folded in seen:
            return True
        seen.add(folded)
    return False


def _fold(name: str) -> str:
    return _FOLDED_AWAY.sub("", name).casefold()


def _numbers_in(value: Json) -> Iterable[float]:
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
        elif is_number(found):
            yield found


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return True  # an integer of many digits: those pass


def _is_whole(value: Json) -> bool:
    """1e400 is a legal number of a result, and a whole one."""
    return is_number(value) and (math.isinf(value) or value % 1 == 0)


def meets_output(tool: str, structured: Json) -> bool:
    """Whether a result's structured content is what the tool promised."""
    if tool == "pay":
        total = structured.get("total") if isinstance(structured, dict) else None
        return isinstance(structured, dict) and structured.keys() == {"total"} and _is_whole(total)
    if tool == "match":
        word = structured.get("word") if isinstance(structured, dict) else None
        return isinstance(word, str) and not word.startswith("bad")
    return True
