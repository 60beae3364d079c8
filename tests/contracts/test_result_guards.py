"""Guards, and content that two readers could take differently (004-6, D20)."""

import pytest

from tests.contracts.cases import Case, Seen, case
from tests.contracts.judged import (
    RIGHT,
    TOTAL,
    WRONG,
    WRONG_REASON,
    is_blocked,
    is_unremarkable,
    is_warned,
    structured,
)

MIB_5 = 5 * 1024 * 1024


def nested(levels: int, total: str = "1") -> str:
    """Structured content that is nested this deep in all."""
    return f'{{"total":{total},"d":{"[" * (levels - 1)}{"]" * (levels - 1)}}}'


def padded(size: int, total: str = "1") -> str:
    """Structured content of exactly this many bytes."""
    text = f'{{"total":{total},"pad":""}}'
    return text[:-2] + "x" * (size - len(text)) + text[-2:]


BYTES = {
    f"{mode}_{size}": case(
        f"bytes_{mode}_{size}", None, TOTAL, result=structured(padded(size)), output_mode=mode, max_bytes=100
    )
    for mode in ("off", "warn", "strict")
    for size in (100, 101)
}


@pytest.mark.requirement("004-6")
def test_one_byte_over_max_bytes_is_a_failure_under_the_mode(seen: Seen) -> None:
    reason = "the structured content has 101 bytes, over the limit of 100"
    assert is_unremarkable(seen[BYTES["off_101"]])
    assert is_warned(seen[BYTES["warn_101"]], "result.max_bytes", reason)
    assert is_blocked(seen[BYTES["strict_101"]], "result.max_bytes", reason)


@pytest.mark.requirement("004-6")
@pytest.mark.parametrize("mode", ["warn", "strict"])
def test_exactly_max_bytes_passes(seen: Seen, mode: str) -> None:
    assert is_unremarkable(seen[BYTES[f"{mode}_100"]])


DEPTH_64 = case("depth_64", None, TOTAL, result=structured(nested(64)), output_mode="strict")
DEPTH_65 = case("depth_65", None, TOTAL, result=structured(nested(65)), output_mode="strict")
DEPTH_WARN = case("depth_warn", None, TOTAL, result=structured(nested(65)))
DEPTH_OWN = case("depth_own", None, TOTAL, result=structured(nested(3)), output_mode="strict", max_depth=2)
OVER_5_MIB = case("over_5_mib", None, TOTAL, result=structured(padded(MIB_5 + 1)), output_mode="strict")
TOO_DEEP = "the structured content is nested deeper than the limit of 64 levels"


@pytest.mark.requirement("004-6")
def test_sixty_four_levels_pass_and_sixty_five_do_not(seen: Seen) -> None:
    assert is_unremarkable(seen[DEPTH_64])
    assert is_blocked(seen[DEPTH_65], "result.max_depth", TOO_DEEP)
    assert is_warned(seen[DEPTH_WARN], "result.max_depth", TOO_DEEP)
    assert is_blocked(seen[DEPTH_OWN], "result.max_depth", TOO_DEEP.replace("64", "2"))


@pytest.mark.requirement("004-6")
def test_the_default_limit_is_five_mebibytes(seen: Seen) -> None:
    reason = f"the structured content has {MIB_5 + 1} bytes, over the limit of {MIB_5}"
    assert is_blocked(seen[OVER_5_MIB], "result.max_bytes", reason)


FIRST = {
    "result.max_bytes": case("first_bytes", None, TOTAL, result=structured(padded(101, '"x"')), max_bytes=100),
    "result.max_depth": case("first_depth", None, TOTAL, result=structured(nested(65, '"x"'))),
}
BOTH = case("first_both", None, TOTAL, result=structured(nested(65, '"x"')), max_bytes=100)
DEEP_BOMB = case("deep_bomb", None, TOTAL, result=structured(nested(500)), output_mode="strict")


@pytest.mark.requirement("004-6")
@pytest.mark.requirement("D16")
@pytest.mark.parametrize("rule", FIRST)
def test_a_guard_is_reported_before_the_schema(seen: Seen, rule: str) -> None:
    assert seen[FIRST[rule]].passed()
    assert seen[FIRST[rule]].decision["rule"] == rule


@pytest.mark.requirement("D16")
def test_size_is_reported_before_depth(seen: Seen) -> None:
    assert seen[BOTH].decision["rule"] == "result.max_bytes"


@pytest.mark.requirement("004-6")
@pytest.mark.requirement("B5")
def test_hundreds_of_levels_break_the_guard_and_nothing_else(seen: Seen) -> None:
    assert is_blocked(seen[DEEP_BOMB], "result.max_depth", TOO_DEEP)


NO_GUARD = case("no_guard", None, None, result=structured(nested(65)), output_mode="strict", max_bytes=1)
OPTED_IN = case(
    "guard_opted_in", None, None, result=structured(nested(65)), output_mode="strict", guards_without_schema=True
)
OPTED_IN_RIGHT = case(
    "guard_fine", None, None, result=structured(WRONG), output_mode="strict", guards_without_schema=True
)


@pytest.mark.requirement("D13")
def test_guards_need_a_schema_unless_the_operator_opts_in(seen: Seen) -> None:
    assert is_unremarkable(seen[NO_GUARD])
    assert is_blocked(seen[OPTED_IN], "result.max_depth", TOO_DEEP)
    assert is_unremarkable(seen[OPTED_IN_RIGHT])


TWICE = "the structured content is ambiguous: an object has the same key twice"
HALF = "the structured content is ambiguous: it holds text that is not valid Unicode"
AMBIGUOUS = {
    "twice": ('{"total":1,"total":1}', TWICE),
    "twice_escaped": ('{"total":1,"t\\u006ftal":"x"}', TWICE),
    "twice_below": ('{"total":1,"list":[{"a":1,"a":2}]}', TWICE),
    "half": ('{"total":1,"name":"\\ud83d"}', HALF),
    "half_key": ('{"total":1,"\\udc00":1}', HALF),
    # Too large to be judged in place.
    "twice_large": (padded(400_000)[:-1] + ',"total":1}', TWICE),
    "half_large": (padded(400_000)[:-1] + ',"name":"\\ud83d"}', HALF),
}
AMBIGUOUS_CASES = {
    f"{name}_{mode}": case(f"unclear_{name}_{mode}", None, TOTAL, result=structured(text), output_mode=mode)
    for name, (text, _) in AMBIGUOUS.items()
    for mode in ("off", "warn", "strict")
}


@pytest.mark.requirement("D20")
@pytest.mark.requirement("B5")
@pytest.mark.parametrize("name", AMBIGUOUS)
def test_structured_content_that_two_readers_could_take_differently_is_a_violation(seen: Seen, name: str) -> None:
    _, reason = AMBIGUOUS[name]
    assert is_unremarkable(seen[AMBIGUOUS_CASES[f"{name}_off"]])
    assert is_warned(seen[AMBIGUOUS_CASES[f"{name}_warn"]], "result.ambiguous", reason)
    assert is_blocked(seen[AMBIGUOUS_CASES[f"{name}_strict"]], "result.ambiguous", reason)


UNREADABLE = {
    "structured_twice": structured(RIGHT, ',"structuredContent":{"total":"x"}'),
    "structured_folded": structured(RIGHT, ',"structuredcontent":{"total":"x"}'),
    "error_twice": structured(WRONG, ',"isError":true,"isError":false'),
    "error_folded": structured(WRONG, ',"ISERROR":true'),
    "error_nul": structured(WRONG, ',"is\\u0000Error":true'),
    "type_twice": structured(WRONG, ',"resultType":"task","resultType":"complete"'),
}
UNREADABLE_CASES = {
    f"{name}_{mode}": case(f"levels_{name}_{mode}", None, TOTAL, result=text, output_mode=mode)
    for name, text in UNREADABLE.items()
    for mode in ("off", "warn", "strict")
}


@pytest.mark.requirement("B2")
@pytest.mark.requirement("D20")
@pytest.mark.parametrize("name", UNREADABLE_CASES)
def test_a_result_whose_own_keys_are_ambiguous_goes_no_further_in_any_mode(seen: Seen, name: str) -> None:
    outcome = seen[UNREADABLE_CASES[name]]
    assert outcome.answer.is_error
    assert "structuredContent" not in outcome.answer.message.get("result", {})
    assert (outcome.decision["status"], outcome.decision["rule"]) == ("blocked", "result.ambiguous")
    assert outcome.call["status"] == "blocked"


BOUNDED = {"type": "object", "properties": {"total": {"type": "number", "maximum": 10}}, "required": ["total"]}
NUMBERS = [
    case(
        f"number_{n}",
        None,
        {"type": "object", "properties": {"total": {"type": "number"}}},
        result=structured(f'{{"total":{text}}}'),
        output_mode="strict",
    )
    for n, text in enumerate(("1e400", "-1E400", "1.0", "9007199254740993", "1" + "0" * 5000, "0.1e-400"))
]
TOO_MUCH = case("number_bounded", None, BOUNDED, result=structured('{"total":1e400}'), output_mode="strict")


@pytest.mark.requirement("D20")
@pytest.mark.requirement("C2")
@pytest.mark.parametrize("which", NUMBERS, ids=lambda which: which.tool)
def test_numbers_of_any_size_are_legal(seen: Seen, which: Case) -> None:
    assert is_unremarkable(seen[which])


@pytest.mark.requirement("C2")
def test_a_number_beyond_a_double_is_still_more_than_a_maximum(seen: Seen) -> None:
    assert seen[TOO_MUCH].answer.is_error
    assert seen[TOO_MUCH].decision["rule"] == "result.schema"


LARGE_RIGHT = case("large_right", None, TOTAL, result=structured(padded(400_000)), output_mode="strict")
LARGE_WRONG = case("large_wrong", None, TOTAL, result=structured(padded(400_000, '"x"')), output_mode="strict")


@pytest.mark.requirement("004-2")
@pytest.mark.requirement("C1")
def test_what_is_too_large_to_judge_in_place_is_judged_all_the_same(seen: Seen) -> None:
    assert is_unremarkable(seen[LARGE_RIGHT])
    assert seen[LARGE_WRONG].answer.is_error
    assert seen[LARGE_WRONG].decision["reason"] in (
        WRONG_REASON,
        "the structured content does not match the declared output schema: the schema was not met",
    )
