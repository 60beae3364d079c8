"""The scanner reads what the fast decoder refuses, and refuses what is not JSON."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handfast.core.bounds import MOST_ITEMS, MOST_LEVELS, MOST_MEMBERS
from handfast.wire.scan import (
    Member,
    NotJson,
    OverBound,
    scan_array,
    scan_items,
    scan_object,
)

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


# Deeper than the fast decoder follows.
DEEP = "[" * 12_000 + "]" * 12_000


def oracle_accepts(text: str) -> bool:
    def refuse(literal: str) -> None:
        raise ValueError(literal)

    try:
        return isinstance(json.loads(text, parse_constant=refuse), dict)
    except ValueError:
        return False


def is_accepted(text: bytes, *, allows_constants: bool = False) -> bool:
    try:
        scan_object(text, allows_constants=allows_constants)
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
@given(NEARLY_JSON)
@example("1eNaN")
@example("-NaN")
@example("--Infinity")
@example("NaN:1")
@example('"\\u00aNaN"')
@example('"\\u00a-Infinity"')
@example('"\\NaN"')
@example('["NaN",-Infinity]')
def test_with_constants_it_accepts_exactly_what_lax_readers_do(inside: str) -> None:
    for text in ("{" + inside + "}", '{"a":[' + inside + "]}", '{"a":' + inside + "}"):
        try:
            accepted = isinstance(json.loads(text), dict)  # Python's reader is such a one
        except ValueError:
            accepted = False
        assert (text, is_accepted(text.encode(), allows_constants=True)) == (text, accepted)


@pytest.mark.requirement("B5")
@given(st.dictionaries(st.text(), JSON, max_size=6), st.booleans(), st.sampled_from([None, 0, "\t", "\r\n"]))
def test_it_finds_every_member_with_its_exact_bytes(
    value: dict[str, object], is_ascii: bool, indent: int | str | None
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode()
    assert found_in(text) == value


def found_in(text: bytes) -> dict[str, object]:
    members = scan_object(text)
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


@pytest.mark.requirement("F4")
@pytest.mark.requirement("B5")
def test_levels_up_to_the_bound_are_read_and_a_hundred_thousand_are_not() -> None:
    most = b"[" * (MOST_LEVELS - 1) + b"]" * (MOST_LEVELS - 1)
    (member,) = scan_object(b'{"a":%b}' % most)
    assert member.value_end - member.value_start == len(most)
    for opener, closer in (("[", "]"), ('{"":', "}"), ('[1,{"a":"]","b":', "}, 2]")):
        with pytest.raises(OverBound, match="nested more than 512 levels deep"):
            scan_object(b'{"deep":%b0%b,"id":1}' % (opener.encode() * 100_000, closer.encode() * 100_000))
    with pytest.raises(OverBound):
        scan_array(DEEP.encode())


@pytest.mark.requirement("F4")
def test_members_up_to_the_bound_are_read_and_one_more_is_not() -> None:
    members = [b'"":0'] * MOST_MEMBERS
    assert len(scan_object(b"{%b}" % b",".join(members))) == MOST_MEMBERS
    assert len(scan_object(b'{"\\ud800":0,%b}' % b",".join(members[1:]))) == MOST_MEMBERS
    for first in (b'"":0', b'"\\ud800":0', b'"":{"":"%b"}' % (b"x" * 100_000)):
        with pytest.raises(OverBound, match="An object has more than 10000 members"):
            scan_object(b"{%b,%b}" % (first, b",".join(members)))


@pytest.mark.requirement("F4")
def test_what_is_below_the_object_is_not_counted() -> None:
    below = b"{%b}" % b",".join(b'"%d":[0,0]' % number for number in range(3 * MOST_MEMBERS))
    (member,) = scan_object(b'{"a":%b}' % below)
    assert member.value_end - member.value_start == len(below)


@pytest.mark.requirement("F4")
@pytest.mark.parametrize("odd", [b"0", b'"\\ud800"'])
def test_of_a_list_the_first_items_are_given_and_the_rest_is_checked(odd: bytes) -> None:
    items = [odd, *(b'{"a":[%d]}' % number for number in range(MOST_ITEMS - 1))]
    whole, longer = b"[%b]" % b" ,\n".join(items), b"[%b , null]" % b",".join(items)
    assert scan_items(whole) == (items, True)
    assert scan_array(whole) == items
    assert scan_items(longer) == (items, False)
    assert scan_items(whole, 3) == (items[:3], False)
    assert scan_items(b"[null,null]", 1) == ([b"null"], False)
    with pytest.raises(OverBound, match="A list has more than 10000 items"):
        scan_array(longer)
    with pytest.raises(NotJson):
        scan_items(longer.replace(b"null]", b"nul]"))


@pytest.mark.requirement("B5")
@given(st.lists(JSON, max_size=5), st.sampled_from([None, 0, "\t"]))
def test_items_are_found_with_their_exact_bytes_also_beside_half_a_surrogate_pair(
    items: list[object], indent: int | str | None
) -> None:
    text = json.dumps([*items, ["\ud800"], [[]]], indent=indent).encode()
    assert [json.loads(item) for item in scan_array(text)] == [*items, ["\ud800"], [[]]]


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
    (b'{"a":"\\u00g0"}', 11),
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


@pytest.mark.requirement("B5")
@pytest.mark.parametrize("text", [b"", b"[1]", b"{", b'"a"', b'{"a"', b'{"a":', b"{" + DEEP.encode(), DEEP.encode()])
def test_what_is_no_object_is_refused(text: bytes) -> None:
    assert not is_accepted(text)
