"""The head of an answer to a client as bytes: status line, headers, date."""

import re
import time
from functools import lru_cache
from http import HTTPStatus

_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@lru_cache(maxsize=512)  # nearly every answer has one of a few heads; the bound is there because servers add to them
def render_head(status: int, headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Renders status line and headers, without the empty line. Raises: ValueError for characters not allowed there."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""  # a server may answer with a status that has no name
    lines = [f"HTTP/1.1 {status} {phrase}".encode()]
    for name, value in headers:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise ValueError("a header of an answer holds characters that may not stand there")
        lines.append(name + b": " + value)
    return b"\r\n".join(lines) + b"\r\n"


def render_date(seconds: float) -> bytes:
    """Renders the header Date, without strftime, which would name days in the language of the machine."""
    year, month, day, hour, minute, second, weekday = time.gmtime(seconds)[:7]
    date = f"{_DAYS[weekday]}, {day:02} {_MONTHS[month - 1]} {year} {hour:02}:{minute:02}:{second:02} GMT"
    return b"date: " + date.encode() + b"\r\n"
