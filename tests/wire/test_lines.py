"""Lines come out whole whatever the chunks, and no message can become two."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from handfast.wire.lines import LineAssembler, OverlongLine, one_line


def feed_all(assembler: LineAssembler, chunks: list[bytes]) -> list[bytes | OverlongLine]:
    return [line for chunk in chunks for line in assembler.feed(chunk)]


def cut(text: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


@pytest.mark.requirement("B6")
@given(st.lists(st.sampled_from([b"{}", b"\r", b"\n", b"\r\n", b" ", b"a", b"long line"])), st.lists(st.integers(0)))
@example([b"a", b"\r\n", b"\r", b"a", b"\n"], [2])
def test_lines_are_the_same_however_the_stream_is_cut(pieces: list[bytes], places: list[int]) -> None:
    text = b"".join(pieces)
    *ended, rest = (line.removesuffix(b"\r") for line in text.split(b"\n"))
    assembler = LineAssembler(1000)
    assert feed_all(assembler, cut(text, places)) == [line for line in ended if line.strip(b" \t\r")]
    assert assembler.close() == (rest if rest.strip(b" \t\r") else None)


@pytest.mark.requirement("B6")
@given(st.lists(st.integers(0)), st.sampled_from([b"\n", b"\r\n"]))
@example([], b"\n")
def test_a_line_over_the_limit_is_reported_once_and_the_next_one_is_whole(places: list[int], ending: bytes) -> None:
    text = ending.join([b"1234567890", b"12345678901234567890", b"next", b""])
    found = feed_all(LineAssembler(10), cut(text, places))
    assert [line if isinstance(line, bytes) else "overlong" for line in found] == [b"1234567890", "overlong", b"next"]


@pytest.mark.requirement("B6")
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_the_limit_is_the_longest_line_without_its_end(ending: bytes) -> None:
    assert LineAssembler(4).feed(b"1234" + ending + b"12345" + ending) == [b"1234", OverlongLine(5)]


@pytest.mark.requirement("B6")
def test_the_report_of_an_overlong_line_says_how_much_was_seen() -> None:
    assembler = LineAssembler(3)
    assert assembler.feed(b"ab") == []
    assert assembler.feed(b"cd") == [OverlongLine(4)]
    assert assembler.feed(b"efgh") == []
    assert assembler.feed(b"\nok\nabcdef\n") == [b"ok", OverlongLine(6)]
    assert assembler.close() is None


@pytest.mark.requirement("B6")
def test_an_overlong_line_is_not_kept_in_memory() -> None:
    assembler = LineAssembler(1000)
    for _ in range(100):
        assembler.feed(bytes(range(48, 58)) * 100)
    assert assembler.close() is None


@pytest.mark.requirement("B6")
def test_a_long_line_in_many_chunks_is_searched_once_and_joined_once() -> None:
    class CountedBytes(bytes):
        touched = 0

        def split(self, *args: Any, **kwargs: Any) -> list[bytes]:  # Any: whatever bytes.split takes
            CountedBytes.touched += len(self)
            return [CountedBytes(piece) for piece in super().split(*args, **kwargs)]

        def __radd__(self, other: bytes) -> "CountedBytes":
            CountedBytes.touched += len(other) + len(self)
            return CountedBytes(bytes(other) + bytes(self))

    assembler = LineAssembler(1 << 30)
    chunk = CountedBytes(b"x" * 1024)
    for _ in range(2000):
        assert assembler.feed(chunk) == []
    (line,) = assembler.feed(b"\n")
    assert isinstance(line, bytes)
    assert (len(line), CountedBytes.touched) == (2000 * 1024, 2000 * 1024)


@pytest.mark.requirement("B1")
@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    ),
    st.sampled_from(["\n", "\r", "\r\n", " ", "\n\r\n"]),
)
def test_one_line_holds_no_line_end_and_means_the_same(value: object, gap: str) -> None:
    message = json.dumps(value, separators=(f",{gap}", f":{gap}"), indent=gap).encode()
    line = one_line(message)
    assert (b"\n" in line, b"\r" in line, len(line), json.loads(line)) == (False, False, len(message), value)


@pytest.mark.requirement("B1")
def test_a_smuggled_call_stays_inside_its_message() -> None:
    message = b'{"method":"ping","x":\r{"method":"tools/call"}\n}'
    assert one_line(message) == b'{"method":"ping","x": {"method":"tools/call"} }'
    assert one_line(b'{"a":\r1}') == b'{"a": 1}'
    assert one_line(b'{"a":\n1}') == b'{"a": 1}'


def test_a_message_that_is_one_line_is_not_copied() -> None:
    message = b'{"text":"a\\nb"}'
    assert one_line(message) is message


@pytest.mark.requirement("F4")
@given(st.lists(st.integers(0)))
@example([])
def test_a_line_past_the_lower_limit_has_the_one_that_its_beginning_gives(places: list[int]) -> None:
    asked: list[bytes] = []

    def limit_of(head: bytes) -> int:
        asked.append(head[:1])
        return 20 if head.startswith(b"a") else 8

    text = b"\n".join([b"short", b"a" * 15, b"b" * 15, b"a" * 25, b"c" * 8, b"next", b""])
    found = feed_all(LineAssembler(1000, lower=8, limit_of=limit_of), cut(text, places))
    shown = [line if isinstance(line, bytes) else line.limit for line in found]
    assert shown == [b"short", b"a" * 15, 8, 20, b"c" * 8, b"next"]
    assert asked == [b"a", b"b", b"a"]


def test_no_line_has_more_than_the_highest_limit() -> None:
    (found,) = LineAssembler(10, lower=5, limit_of=lambda _head: 100).feed(b"12345678901\n")
    assert isinstance(found, OverlongLine)
    assert found.limit == 10
