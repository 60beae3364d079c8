"""Readers of event streams as clients have them: the standard's, and those that take more for a line or a field."""

import re
from collections.abc import Iterable, Iterator

BOM = "\ufeff"


def read_by_standard(stream: bytes) -> list[str]:
    """HTML, 9.2.6: lines end in LF, CRLF or CR, and an event without its blank line is not dispatched."""
    *lines, _ = re.split(r"\r\n|\r|\n", stream.decode(errors="replace").removeprefix(BOM))
    return list(_dispatch(lines))


def read_by_splitlines(stream: bytes) -> list[str]:
    """As Python clients that split text at everything which `str.splitlines` takes for a line end."""
    return list(_dispatch(stream.decode(errors="replace").splitlines()))


def read_leniently(stream: bytes) -> list[str]:
    """As written by hand: names in any case, blanks and marks around them, and the end of the stream ends an event."""
    lines = (line.strip(BOM + " ") for line in stream.decode(errors="replace").splitlines())
    named = (re.sub(r"^(\w+)\s*:", lambda name: name[1].lower() + ":", line) for line in lines)
    return list(_dispatch([*named, ""]))


def read_line_by_line(stream: bytes) -> list[str]:
    """As a loop over lines that takes each line of data for a whole message."""
    lines = stream.decode(errors="replace").splitlines()
    return [line.removeprefix("data:").strip() for line in lines if line.startswith("data:")]


def _dispatch(lines: Iterable[str]) -> Iterator[str]:
    data: list[str] = []
    for line in lines:
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif not line:
            if data:
                yield "\n".join(data)
            data = []


READERS = (read_by_standard, read_by_splitlines, read_leniently)
