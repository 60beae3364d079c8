"""What is judged is decoded losslessly or called ambiguous, and its depth is known exactly."""

import json
import math
import re
import sys
from collections.abc import Callable

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from handfast.core.bounds import MOST_VALUES
from handfast.core.call import strict_json as judged_text
from handfast.core.call.strict_json import (
    Ambiguity,
    Ambiguous,
    decode_arguments,
    decode_judged,
    depth_exceeds,
    may_overflow,
    values_exceed,
)

LARGEST = sys.float_info.max
TEXT = st.text(st.sampled_from(list('a:"\\{}[],\n\0é😀 u003')) | st.characters(exclude_categories=["Cs"]), max_size=8)
INTEGERS = st.integers() | st.integers(-(10**400), 10**400) | st.just(10**4000)
SCALARS = st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False) | TEXT
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20
)


@st.composite
def spelt_strings(draw: st.DrawFn, value: str) -> str:
    """A JSON string literal, each character raw, escaped short or escaped long."""
    spelt = []
    for character in value:
        raw = json.dumps(character, ensure_ascii=False)[1:-1]
        long = "".join(f"\\u{unit:04x}" for unit in _utf16(character))
        spelt.append(draw(st.sampled_from([raw, long, long.upper().replace("\\U", "\\u")])))
    return '"' + "".join(spelt) + '"'


def _utf16(character: str) -> list[int]:
    units = character.encode("utf-16-be")
    return [int.from_bytes(units[start : start + 2]) for start in range(0, len(units), 2)]


@st.composite
def spellings(draw: st.DrawFn, value: object) -> str:
    """A JSON text for the value: any escapes, any whitespace, members in any order."""
    space = draw(st.sampled_from(["", " ", "\r\n\t"]))
    if isinstance(value, str):
        return draw(spelt_strings(value))
    if isinstance(value, list):
        return f"[{space}" + f"{space},".join(draw(spellings(item)) for item in value) + "]"
    if isinstance(value, dict):
        members = [f"{draw(spelt_strings(key))}{space}:{space}{draw(spellings(item))}" for key, item in value.items()]
        return f"{{{space}" + f"{space},{space}".join(members) + "}"
    return json.dumps(value)


def same(left: object, right: object) -> bool:
    """Equal with the same types all the way down: 1 is not 1.0, 0.0 is not -0.0."""
    return repr(left) == repr(right)


@pytest.mark.requirement("D20")
@given(JSON.flatmap(lambda value: st.tuples(st.just(value), spellings(value))))
@example(({"a:b": ":"}, '{"a\\u003ab":"\\u003A"}'))
def test_every_spelling_of_a_value_is_decoded_to_it(value_and_text: tuple[object, str]) -> None:
    value, text = value_and_text
    assert same(decode_judged(text.encode()), value)
    assert same(json.loads(text), value)


@st.composite
def texts_with_a_duplicate(draw: st.DrawFn) -> str:
    key = draw(TEXT)
    members = [f"{draw(spelt_strings(key))}:{draw(JSON.flatmap(spellings))}" for _ in range(2)]
    for other in draw(st.lists(TEXT, max_size=2)):
        members.insert(draw(st.integers(0, len(members))), f"{draw(spelt_strings(other))}:0")
    text = "{" + ",".join(members) + "}"
    for wrap in draw(st.lists(st.sampled_from(["[0,%s]", '{"x":%s,"y:":":"}', '{"y":":","x":[%s]}']), max_size=3)):
        text = wrap.replace("%s", text)
    return text


@pytest.mark.requirement("D20")
@given(texts_with_a_duplicate())
@example('{"a":"","a":"\\u003a"}')
@example('{"a":1,"a":":"}')
@example('{"\\u0061":1,"a":1}')
def test_a_duplicate_key_at_any_level_is_ambiguous(text: str) -> None:
    assert reason_for(text.encode()) is Ambiguity.DUPLICATE_KEY


def reason_for(text: bytes) -> Ambiguity | None:
    try:
        decode_judged(text)
    except Ambiguous as ambiguous:
        return ambiguous.reason
    return None


@pytest.mark.requirement("D20")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"NaN", Ambiguity.NOT_A_NUMBER),
        (b'{"a":[-Infinity]}', Ambiguity.NOT_A_NUMBER),
        (b'["\\ud800"]', Ambiguity.NOT_UNICODE),
        (b'{"\\udc00\\ud800":1}', Ambiguity.NOT_UNICODE),
        (b'"\\ud83d\\ude00 \\\\\\ud83d"', Ambiguity.NOT_UNICODE),
        (b'"\\ud800\\ud83d\\ude00"', Ambiguity.NOT_UNICODE),
        (b'"\\\\ud800 \\ud83d\\ude00 \\u003a"', None),
        (b'"\xff"', Ambiguity.NOT_UNICODE),
        (b'"\xed\xa0\x80"', Ambiguity.NOT_UNICODE),
        ("[1]".encode("utf-16"), Ambiguity.NOT_UNICODE),
        (b"\xef\xbb\xbf[]", Ambiguity.NOT_JSON),
        (b"[1,]", Ambiguity.NOT_JSON),
        (b"[01]", Ambiguity.NOT_JSON),
        (b'["\x01"]', Ambiguity.NOT_JSON),
        (b"", Ambiguity.NOT_JSON),
        (b"[" * 100_000 + b"]" * 100_000, Ambiguity.TOO_DEEP),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, Ambiguity.TOO_DEEP),
        (b'{"a":1,"A":2,"a\\u0000":3}', None),
        (b'{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}', None),
    ],
)
def test_the_reason_is_named(text: bytes, reason: Ambiguity | None) -> None:
    assert reason_for(text) is reason


@pytest.mark.requirement("C2")
@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (b"1e400", LARGEST),
        (b"-1E400", -LARGEST),
        (b"1e400000000000", LARGEST),
        (b"9" * 400 + b".5", LARGEST),
        (b"9" * 4300, int("9" * 4300)),
        (b"9" * 5000, LARGEST),
        (b"-" + b"9" * 1_000_000, -LARGEST),
        (b"1e-400", 0.0),
        (b"1.0", 1.0),
        (b"9007199254740993", 9007199254740993),
    ],
    ids=lambda value: str(value)[:12] if isinstance(value, bytes) else "",
)
def test_a_number_beyond_a_double_is_judged_as_the_largest_of_its_sign(literal: bytes, value: float) -> None:
    for odd in (b'""', b'"\\u003a"', b"2e400"):  # in either decoder's hands
        decoded = decode_judged(b"[" + literal + b"," + odd + b"]")
        assert isinstance(decoded, list)
        assert same(decoded[0], value)


@given(
    st.from_regex(rb"-?[1-9][0-9]{0,20}(\.[0-9]{1,20})?([eE][+-]?0{0,2}[0-9]{1,4})?", fullmatch=True),
    st.integers(min_value=0, max_value=5_000),
)
@example(b"1e99", 210)
@example(b"1", 308)
def test_no_number_is_clamped_that_was_not_said_to_be_one(literal: bytes, zeros: int) -> None:
    digits, exponent, rest = literal.lower().partition(b"e")
    whole, dot, fraction = digits.partition(b".")
    text = whole + b"0" * zeros + dot + fraction + exponent + rest
    assert may_overflow(text) or decode_judged(text) not in (LARGEST, -LARGEST)


@pytest.mark.requirement("C2")
@given(st.from_regex(rb"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_both_decoders_read_the_same_number(literal: bytes) -> None:
    expected = json.loads(literal)
    assume(math.isfinite(expected))
    assert same(decode_judged(literal), expected)
    assert same(decode_judged(b'["\\u003a",' + literal + b"]"), [":", expected])


@pytest.mark.requirement("C2")
@pytest.mark.parametrize(("refused_above", "digits"), [(640, 1000), (0, 5000)], ids=["stricter", "unlimited"])
def test_what_the_interpreter_was_told_about_long_integers_makes_no_difference(refused_above: int, digits: int) -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(refused_above)
    try:
        assert decode_judged(b"9" * digits) == LARGEST
        assert decode_judged(b"[1e400," + b"9" * digits + b"]") == [LARGEST, LARGEST]
    finally:
        sys.set_int_max_str_digits(before)


def depth(value: object) -> int:
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 0


@pytest.mark.requirement("004-6")
@given(JSON.flatmap(lambda value: st.tuples(st.just(value), spellings(value))), st.integers(0, 6))
@example(([["]", [["[", "["]]], "["], '[["]",[["[","["]]],"["]'), 2)
@example((["]", ["]", ["]", "["], "["], "["], '["]",["]",["]","["],"["],"["]'), 2)
def test_depth_is_exact_whatever_brackets_the_strings_hold(value_and_text: tuple[object, str], limit: int) -> None:
    value, text = value_and_text
    assert depth_exceeds(text.encode(), limit) == (depth(value) > limit)


@pytest.mark.requirement("004-6")
@given(st.integers(0, 300), st.integers(-3, 3), st.integers(1, 300), st.sampled_from(['["]","[",%s]', '{"{":%s}']))
def test_depth_is_exact_for_deep_and_wide_values(levels: int, room: int, width: int, wrap: str) -> None:
    text = "[" + ",".join(["[]"] * width) + "]"
    for _ in range(levels):
        text = wrap.replace("%s", text)
    limit = max(levels + 2 + room, 0)
    assert depth_exceeds(text.encode(), limit) == (levels + 2 > limit)


@pytest.mark.requirement("004-6")
@pytest.mark.parametrize(
    ("text", "is_deeper"),
    [
        (b'"' + b"[" * 5_000_000 + b'"', False),
        (b"[" + b'"[[[[",' * 700_000 + b"0]", False),
        (b"[" + b'["["],' * 700_000 + b"0]", False),
        (b"[" + b"[]," * 1_500_000 + b"0]", False),
        (b"[" * 100_000 + b"]" * 100_000, True),
        (b"[" * 2_500_000 + b"]" * 2_500_000, True),
        (b"[[]," * 1_000_000 + b"0" + b"]" * 1_000_000, True),
        (b"[" + (b"[" * 60 + b"]" * 60 + b",") * 40_000 + b"0]", False),
        (b'"' + b'\\"[' * 1_500_000 + b'"', False),
    ],
    ids=["string", "strings", "arrays-of-strings", "alternating", "deep", "deeper", "caterpillar", "comb", "escapes"],
)
def test_hostile_text_is_measured_in_a_few_passes(text: bytes, is_deeper: bool) -> None:
    assert steps_of(lambda: depth_exceeds(text, 64)) == (is_deeper, True)


def steps_of(measure: Callable[[], bool]) -> tuple[bool, bool]:
    """The verdict, and whether it took few calls: each is one pass over the text at most."""
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event == "c_call"

    sys.setprofile(count)
    try:
        verdict = measure()
    finally:
        sys.setprofile(None)
    return verdict, calls < 100


def test_reasons_name_no_values() -> None:
    assert [re.findall(r"\d", reason.value) for reason in Ambiguity] == [[]] * len(Ambiguity)


# --- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("S6")
@pytest.mark.requirement("D20")
@pytest.mark.parametrize("number", ["1e309", "-1E400", "1.8e308", "9" * 309, "-" + "1" * 5000, "2" * 310 + ".5"])
@pytest.mark.parametrize("text", ["%s", '{"a":[%s]}'])
def test_a_number_beyond_a_double_has_no_single_reading_in_arguments(text: str, number: str) -> None:
    whole = (text % number).encode()
    with pytest.raises(Ambiguous) as caught:
        decode_arguments(whole)
    assert caught.value.reason is Ambiguity.TOO_LARGE
    decode_judged(whole)  # in a result it is legal


@given(st.integers(-(10**308), 10**308) | st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_within_a_double_is_read_as_it_is(number: float) -> None:
    for text in (json.dumps(number), json.dumps({"long": "x" * 400, "n": number})):
        assert decode_arguments(text.encode()) == decode_judged(text.encode()) == json.loads(text)


def count_values(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(count_values(part) for part in inner)


@pytest.mark.requirement("F4")
@given(
    st.recursive(
        st.none() | st.integers() | st.text('a,[]{}:"\\\n', max_size=9),
        lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text('a,[{"\\', max_size=3), inner, max_size=5),
        max_leaves=40,
    ),
    st.integers(0, 60),
    st.sampled_from([None, 2]),
)
def test_values_are_counted_outside_strings_and_an_empty_container_for_two_at_most(
    value: object, limit: int, indent: int | None
) -> None:
    text = json.dumps(value, indent=indent).encode()
    count = count_values(value)
    empty = text.count(b"[]") + text.count(b"{}")
    if values_exceed(text, limit):
        assert count + empty > limit
    elif len(text) > 2 * limit:
        assert count <= limit + 1


@pytest.mark.requirement("F4")
def test_arguments_over_the_bound_are_refused_before_they_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    monkeypatch.setattr(judged_text, "_decode", lambda text, _: decoded.append(len(text)))
    monkeypatch.setattr(judged_text, "_decode_carefully", lambda text, _: decoded.append(len(text)))
    for value in (b"[],", b"0,", b'{"":0},', b'"",', b"NaN,", b"1e300,"):
        with pytest.raises(Ambiguous) as refused:
            decode_arguments(b'{"a":[%b0]}' % (value * MOST_VALUES))
        assert refused.value.reason is Ambiguity.TOO_MANY
    assert decoded == []
    text = b'{"a":"%b"}' % (b'a,b,[{\\",' * MOST_VALUES)
    decode_arguments(text)
    assert decoded == [len(text)], "what stands in a string is no value"


@pytest.mark.requirement("F4")
def test_only_numbers_that_may_be_too_large_are_read_with_care() -> None:
    run = b"1" * 199 + b","
    assert not may_overflow(run * 10_000)
    assert may_overflow(run * 10 + b"1" * 200)
    assert may_overflow(b"[1e400]")
    assert may_overflow(b"1E+0400")
    assert not may_overflow(b'"c3e1234"'), "a hash in a string is no number"


SPARSE = ("x" * 900 + 'a "quoted, [1e999" word \\') * 90  # so few escapes that strings are left out before judging
LONG = 'one \\ " line, [with] {marks} and 1e999 ' * 2_000  # what a file may hold, escaped in JSON


@pytest.mark.requirement("F4")
@pytest.mark.parametrize(
    "long", [LONG, SPARSE, LONG.replace("\\", "").replace('"', ""), "1" * 70_000, "e1" * 40_000], ids=len
)
def test_beside_a_long_string_everything_is_judged_as_without_it(long: str) -> None:
    written = json.dumps(long).encode()
    assert decode_arguments(b'{"a":%b,"b":1}' % written) == {"a": long, "b": 1}
    assert decode_judged(b'{"a":%b,"b":1e400}' % written) == {"a": long, "b": LARGEST}
    for wrong, reason in (
        (b'{"a":%b,"b":1e400}', Ambiguity.TOO_LARGE),
        (b'{"b":1e400,"a":%b}', Ambiguity.TOO_LARGE),
        (b'{"a":%b,"b":1,"b":2}', Ambiguity.DUPLICATE_KEY),
        (b'{"a":%b,"b":NaN}', Ambiguity.NOT_A_NUMBER),
        (b'{"a":%b,"b":[' + b"0," * MOST_VALUES + b"0]}", Ambiguity.TOO_MANY),
        (b'{"a":%b,"b":1', Ambiguity.NOT_JSON),
        (b'{"a":%b\\",1e400:"', Ambiguity.NOT_JSON),
    ):
        with pytest.raises(Ambiguous) as refused:
            decode_arguments(wrong % written)
        assert refused.value.reason is reason


@pytest.mark.requirement("F4")
@given(st.lists(st.text('a,[{"\\', max_size=9) | st.integers(0, 9), max_size=30), st.integers(0, 40), st.integers(1, 9))
def test_values_are_counted_alike_however_the_text_is_cut(value: list[object], limit: int, block: int) -> None:
    text = json.dumps(value).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(judged_text, "_BLOCK", block)
        in_pieces = values_exceed(text, limit)
    assert in_pieces == values_exceed(text, limit)
