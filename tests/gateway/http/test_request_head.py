"""The head of a request as bytes: what is read from it, and that no bytes at all are too much for it."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.http.exchange import HttpProblem
from handfast.gateway.http.request_head import asks_to_close, read_head, read_length

LINE = b"POST /a HTTP/1.1\r\n"
NAMES = st.text("abcXYZ-_019", min_size=1, max_size=8)
VALUES = st.text([chr(code) for code in range(0x21, 0x7F)], max_size=12)


def test_the_first_of_two_equal_headers_counts_and_both_are_there() -> None:
    head = read_head(LINE + b"X-A: 1\r\nx-a:2\r\n\r\n")
    assert (head.headers, head.by_name) == ([(b"x-a", b"1"), (b"x-a", b"2")], {b"x-a": b"1"})


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"/mcp/up?servers=a%20b", "/mcp/up", b"servers=a%20b"),
        (b"/a%2fb%20c", "/a/b c", b""),
        (b"//x/y", "//x/y", b""),
        (b"http://evil.example/health", "/health", b""),
        (b"http://evil.example", "/", b""),
        (b"*", "*", b""),
    ],
)
def test_a_target_is_a_path_and_a_query(target: bytes, path: str, query: bytes) -> None:
    head = read_head(b"GET " + target + b" HTTP/1.1\r\n\r\n")
    assert (head.method, head.path, head.query) == ("GET", path, query)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=6))
def test_headers_are_read_as_they_were_written(headers: list[tuple[str, str]]) -> None:
    lines = b"".join(f"X{name}: {value}\r\n".encode() for name, value in headers)
    found = read_head(LINE + lines + b"\r\n").headers
    assert found == [(f"x{name}".lower().encode(), value.encode()) for name, value in headers]


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    head = data.replace(b"\r\n\r\n", b"") + b"\r\n\r\n"
    for whole in (head, LINE + head):
        with contextlib.suppress(HttpProblem):
            assert read_head(whole).method


@pytest.mark.parametrize(
    ("lines", "length"),
    [(b"", 0), (b"Content-Length: 007 \r\n", 7), (b"Transfer-Encoding: Chunked\r\n", None)],
)
def test_a_body_is_as_long_as_its_head_says(lines: bytes, length: int | None) -> None:
    assert read_length(read_head(LINE + lines + b"\r\n")) == length


@pytest.mark.parametrize(
    ("head", "closes"),
    [
        (LINE, False),
        (LINE + b"Connection: Keep-Alive\r\n", False),
        (LINE + b"Connection: upgrade\r\n", False),
        (LINE + b"Connection: x\r\nConnection: CLOSE\r\n", True),
        (b"GET / HTTP/1.0\r\n", True),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n", True),
        (b"GET / HTTP/1.0\r\nConnection: x\r\n", True),
    ],
)
def test_a_head_says_whether_the_connection_goes_on(head: bytes, closes: bool) -> None:
    assert asks_to_close(read_head(head + b"\r\n")) is closes
