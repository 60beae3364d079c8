"""Reading single members of a level."""

import pytest

from handfast.wire.members import member, text_member
from handfast.wire.message import read_level


@pytest.mark.parametrize(
    ("name", "raw", "text"),
    [("a", b'"x"', "x"), ("b", b"[1.0]", None), ("c", None, None), ("d", None, None)],
)
def test_a_member_is_its_bytes_and_null_is_none(name: str, raw: bytes | None, text: str | None) -> None:
    members = read_level(b'{"a": "x", "b": [1.0], "c": null}')
    assert member(members, name) == raw
    assert text_member(members, name) == text
