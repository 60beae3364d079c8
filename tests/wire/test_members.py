"""Reading single members of a level."""

import pytest

from handfast.wire.members import level_of, member, text_member
from handfast.wire.message import read_level


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [("a", b'"x"', "x"), ("b", b"[1.0]", None), ("c", None, None), ("d", None, None)],
)
def test_a_member_is_its_bytes_and_null_is_none(name: str, raw: bytes | None, text: str | None) -> None:
    members = read_level(b'{"a": "x", "b": [1.0], "c": null}')
    assert member(members, name) == raw
    assert text_member(members, name) == text


def test_what_is_no_clear_object_has_no_members() -> None:
    assert member(level_of(b'{"a": 1}'), "a") == b"1"
    assert [level_of(text) for text in (None, b"[1]", b'{"a": 1, "a": 2}', b'{"a"', b"")] == [{}] * 5
