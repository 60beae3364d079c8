"""Foreign text as visible characters, which cannot control a terminal, and names folded as a lax parser folds them."""

import json
import re
from typing import Final

# Line ends and tabs lay out a text; the joiners are needed in words of some scripts, and move nothing.
_IN_TEXT: Final = frozenset("\n\t\u200c\u200d")
_COLOURS: Final = re.compile(r"\x1b\[[0-9;:]*m")
_LINE_ENDS: Final = re.compile(r"\r\n?")


def fold_name(name: str) -> str:
    """A name as the laxest parser reads it: without case, NUL and blanks."""
    return "".join(name.replace("\0", "").split()).casefold()


def escape(text: str) -> str:
    """The text in visible characters on one line: no control codes, direction marks or line breaks."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def escape_text(text: str) -> str:
    """The same for a text of several lines. Colour codes are removed rather than escaped."""
    if text.isprintable():
        return text
    text = _LINE_ENDS.sub("\n", _COLOURS.sub("", text))
    return "".join(char if char.isprintable() or char in _IN_TEXT else _escaped(char) for char in text)


def json_text(value: object, *, indent: int | None = 2) -> str:
    """The value as JSON with invisible characters as escapes."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()
