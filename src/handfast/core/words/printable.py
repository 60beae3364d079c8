"""Foreign text as characters that can be seen, and as the laxest reader takes it; none of it can drive a terminal."""

import json
import re
from typing import Final

# Line ends and tabs lay out a text; the joiners spell words of some scripts, and move nothing.
_IN_TEXT: Final = frozenset("\n\t\u200c\u200d")
_COLOURS: Final = re.compile(r"\x1b\[[0-9;:]*m")
_LINE_ENDS: Final = re.compile(r"\r\n?")


def fold_name(name: str) -> str:
    """A name as the laxest reader takes it: without case, NUL and blanks."""
    return "".join(name.replace("\0", "").split()).casefold()


def escape(text: str) -> str:
    """Visible characters only, in one line: no control codes, no direction marks, no line breaks."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def escape_text(text: str) -> str:
    """The same for a text of several lines. Colours are left out rather than spelt out."""
    if text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", _COLOURS.sub("", text))
    return "".join(char if char.isprintable() or char in _IN_TEXT else _escaped(char) for char in text)


def json_text(value: object, *, indent: int | None = 2) -> str:
    """JSON of the same value, in which what cannot be seen is spelt as an escape."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()
