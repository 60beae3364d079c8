"""The scanner reads what the fast decoder refuses, and refuses what is not JSON."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handfast.wire.scan import Member, NotJson, scan_object

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=30,
)
# Enough structure to be nearly JSON, enough freedom to be almost never quite.
CHARACTERS = st.sampled_from('{}[],:" \t\n\r\x01\\0123456789-+.eEtx')
TOKENS = st.sampled_from(
    ['"a"', '"b":', "true", "false", "null", "NaN", "Infinity", "{}", "[]", '"\\u12', '"\\ud800"', "\\\\", '\\"']
) | st.sampled_from(["1.5e3", "é", '{"k":'])
NEARLY_JSON = st.lists(CHARACTERS | TOKENS, max_size=14).map("".join)


# Deeper than the fast decoder follows, so that what comes after it is scanned without it.
LEVELS = 12_000
DEEP = "[" * LEVELS + "]" * LEVELS


def oracle_accepts(text: str) -> bool:
    def refuse(literal: str) -> None:
        raise ValueError(literal)

    try:
        return isinstance(json.loads(text, parse_constant=refuse), dict)
    except ValueError:
        return False


def is_accepted(text: bytes) -> bool:
    try:
        scan_object(text)
    except NotJson:
        return False
    return True


@pytest.mark.requirement("B5")
@given(NEARLY_JSON)
@example('"a":[1,2')
@example('"a":"\\u12"')
@example('"a":01')
@example('"a":[1}')
@example('"a":[{"b":1,"c"]')
@example('"a":[[],{},[[]],{"b":{}}],"b":-0.0e+1')
def test_it_accepts_exactly_what_json_is(inside: str) -> None:
    for text in (
        inside,
        "{" + inside + "}",
        '{"a":[' + inside + "]}",
        '{"a":{' + inside + "}}",
        '{"a":' + inside + "}",
    ):
        assert (text, is_accepted(text.encode())) == (text, oracle_accepts(text))


@pytest.mark.requirement("B5")
@settings(max_examples=200)
@given(st.sampled_from(["%s", "[%s]", "{%s}", '0,"b":%s']), NEARLY_JSON)
@example("%s", "[1,2")
@example("%s", '"\\u12"')
@example("%s", "01")
@example("%s", "[1}")
@example("%s", '[{"b":1,"c"]')
@example("%s", "[[1]}")
@example("%s", '{"b":[1]]')
@example("%s", "1}}")
@example("%s", "1} {")
@example("%s", '[[],{},[[]],{"b":{}}],"b":-0.0e+1')
def test_it_accepts_exactly_what_json_is_beside_thousands_of_levels(around: str, inside: str) -> None:
    text = '{"deep":0,"a":' + around.replace("%s", inside) + "}"
    assert (text, is_accepted(text.replace("0", DEEP, 1).encode())) == (text, oracle_accepts(text))


@pytest.mark.requirement("B5")
@given(st.dictionaries(st.text(), JSON, max_size=6), st.booleans(), st.sampled_from([None, 0, "\t", "\r\n"]))
def test_it_finds_every_member_with_its_exact_bytes(
    value: dict[str, object], is_ascii: bool, indent: int | str | None
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode()
    assert found_in(text) == value
    assert found_in(text.replace(b"{", b'{"":0,"deep":%s,' % DEEP.encode(), 1) if value else text) == (
        {"": 0} | value if value else value
    )


def found_in(text: bytes) -> dict[str, object]:
    members = [member for member in scan_object(text) if member.key != "deep"]
    assert all(text[member.key_start : member.key_start + 1] == b'"' for member in members)
    return {member.key: json.loads(text[member.value_start : member.value_end]) for member in members}


@pytest.mark.requirement("B5")
@given(JSON, st.text())
def test_a_part_of_a_text_can_be_scanned_with_positions_in_the_whole(value: object, key: str) -> None:
    before, part = b'{"\\"":"\\\\","x":', json.dumps({key: value}).encode()
    text = before + part + b', "id" : 1}'
    (member,) = scan_object(text, len(before), len(before) + len(part))
    assert member.key == key
    assert text[member.value_start : member.value_end] == json.dumps(value).encode()


@pytest.mark.requirement("B5")
def test_duplicates_are_all_reported_in_order() -> None:
    text = b'{"a":1,"\\u0061" : [2] }'
    assert scan_object(text) == [Member("a", 1, 5, 6), Member("a", 7, 18, 21)]


@pytest.mark.requirement("B5")
@pytest.mark.parametrize("unit", [("[", "]"), ('{"":', "}"), ('[1,{"a":"]","b":', "}, 2]")])
def test_a_hundred_thousand_levels_are_no_trouble(unit: tuple[str, str]) -> None:
    opener, closer = (part * 100_000 for part in unit)
    text = b'{"deep":' + opener.encode() + b"0" + closer.encode() + b',"id":1}'
    deep, member = scan_object(text)
    assert (deep.key, deep.value_end - deep.value_start) == ("deep", len(opener) + 1 + len(closer))
    assert (member.key, text[member.value_start : member.value_end]) == ("id", b"1")
    assert not is_accepted(text.replace(b"0" + closer[:1].encode(), b"0", 1))


@pytest.mark.requirement("B5")
def test_lone_surrogates_are_kept() -> None:
    text = b'{"\\ud800":"\\udc00","id":1}'
    assert [member.key for member in scan_object(text, strict_utf8=True)] == ["\ud800", "id"]


@pytest.mark.requirement("B5")
def test_invalid_utf8_is_an_error_only_where_asked() -> None:
    text = b'{"a":"\xff","\xfe":1}'
    assert [member.key for member in scan_object(text)] == ["a", "\udcfe"]
    with pytest.raises(NotJson) as refused:
        scan_object(text, strict_utf8=True)
    assert refused.value.position == 6


@pytest.mark.requirement("B5")
@pytest.mark.parametrize("constant", [b"NaN", b"Infinity", b"-Infinity"])
def test_what_json_does_not_have_counts_as_a_number_only_where_that_is_allowed(constant: bytes) -> None:
    text = b'{"a":[1,%b],"b":"%b","c":%b}' % (constant, constant, constant)
    values = [text[found.value_start : found.value_end] for found in scan_object(text, allows_constants=True)]
    assert values == [b"[1,%b]" % constant, b'"%b"' % constant, constant]
    with pytest.raises(NotJson):
        scan_object(text)


BROKEN = [
    (b'{"a":1,}', 7),
    (b'{"a":01}', 6),
    (b'{"a":NaN}', 5),
    (b'{"a":-Infinity}', 5),
    (b'{"a":"\\q"}', 6),
    (b'{"a":"\\u00g0"}', 6),
    (b'{"a":"\x1f"}', 5),
    (b'{"a":1} x', 7),
    (b'{"a":[1,2}}', 8),
]


@pytest.mark.requirement("B5")
@pytest.mark.parametrize(("text", "position"), BROKEN)
def test_the_error_says_where(text: bytes, position: int) -> None:
    with pytest.raises(NotJson) as refused:
        scan_object(text)
    assert abs(refused.value.position - position) <= 2

    first = b'"deep":%s,' % DEEP.encode()
    with pytest.raises(NotJson) as refused:
        scan_object(text.replace(b"{", b"{" + first))
    assert refused.value.position == position + len(first)


@pytest.mark.requirement("B5")
@pytest.mark.parametrize("text", [b"", b"[1]", b"{", b'"a"', b'{"a"', b'{"a":', b"{" + DEEP.encode(), DEEP.encode()])
def test_what_is_no_object_is_refused(text: bytes) -> None:
    assert not is_accepted(text)
