"""The head of an answer: its lines, and that no value can make two of one."""

import pytest

from handfast.gateway.http.response_head import render_date, render_head


def test_a_head_has_a_status_line_and_its_headers() -> None:
    assert render_head(404, ((b"a", b"b"), (b"c", b""))) == b"HTTP/1.1 404 Not Found\r\na: b\r\nc: \r\n"
    assert render_head(499, ()) == b"HTTP/1.1 499 \r\n"


@pytest.mark.parametrize(
    "header", [(b"a", b"b\r\nc: d"), (b"a", b"b\x00"), (b"a\r\nb", b"c"), (b"", b"c"), (b"a b", b"")]
)
def test_what_would_be_more_than_one_header_is_refused(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match="may not stand there"):
        render_head(200, (header,))


@pytest.mark.parametrize(
    ("seconds", "date"),
    [
        (784111777, b"date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
        (1709164800, b"date: Thu, 29 Feb 2024 00:00:00 GMT\r\n"),
    ],
)
def test_a_date_is_written_as_the_standard_has_it(seconds: float, date: bytes) -> None:
    assert render_date(seconds) == date
