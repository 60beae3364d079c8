"""Odd JSON: texts built from members, so that a message stays whole but for what was made odd on purpose."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[int]], int]


@lru_cache(maxsize=256)
def _up_to(most: int) -> st.SearchStrategy[int]:
    return st.integers(0, most)


class Dice:
    """Choices that Hypothesis makes. The first of several is the plainest: that is where it shrinks to."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self._draw(_up_to(len(choices) - 1))]

    def number(self, most: int) -> int:
        return self._draw(_up_to(most))

    def is_one_in(self, count: int) -> bool:
        return self._draw(_up_to(count - 1)) == count - 1


@dataclass
class Obj:
    """An object under construction: spelled keys, with values that are spelled or under construction too."""

    pairs: list[tuple[str, "str | Obj"]] = field(default_factory=list)

    def add(self, key: str, value: "str | Obj") -> None:
        self.pairs.append((quoted(key), value))

    def put(self, key: str, value: "str | Obj") -> None:
        """Replace the first member of this name, or add one."""
        for index, (known, _) in enumerate(self.pairs):
            if known == quoted(key):
                self.pairs[index] = (known, value)
                return
        self.add(key, value)

    def insert(self, dice: Dice, key: str, value: "str | Obj") -> None:
        """Add a member anywhere."""
        self.pairs.insert(len(self.pairs) - dice.number(len(self.pairs)), (quoted(key), value))

    def drop(self, key: str) -> None:
        self.pairs = [pair for pair in self.pairs if pair[0] != quoted(key)]

    def get(self, key: str) -> "str | Obj | None":
        return next((value for known, value in self.pairs if known == quoted(key)), None)

    def levels(self) -> list["Obj"]:
        """This object and every one in it."""
        found = [self]
        for level in found:
            found += [value for _, value in level.pairs if isinstance(value, Obj)]
        return found

    def render(self, blank: Callable[[], str] = str) -> str:
        inner = ",".join(
            f"{blank()}{key}{blank()}:{blank()}{value if isinstance(value, str) else value.render(blank)}{blank()}"
            for key, value in self.pairs
        )
        return "{" + inner + "}"


def quoted(text: str) -> str:
    return f'"{text}"'


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Blanks that JSON knows, then some that it does not; a raw line end is what smuggling over a line needs.
BLANKS = ("", " ", "\t", "\n", "\r", "\r\n", " \n ", "\n\n")
NO_BLANKS = ("\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\xa0", "\ufeff", "\0", "/**/", "\u3000")
CONTROLS = ("\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\x7f", "\x01", "\0", "\n", "\r", "\t")
ESCAPES = (
    r"\u0000",
    r"\u000a",
    r"\u2028",
    r"\ud800",
    r"\udc00\ud800",
    r"\ud83d\ude00",
    r"\/",
    r"\u0022",
    r"\b",
    r"\x",
    "\\",
)
NUMBERS = (
    *words("1 0 -0 -0.0 1.0 1e2 1E+2 0.1 9007199254740993 123456789012345678901234567890 1e308"),
    "9" * 310,
    *words("1e400 -1e400 1E9999 NaN Infinity -Infinity 01 +1 .5 1. 0x10 1_0 -- 1e -"),
)
VALUES = ("null", "true", '"x"', "[]", "{}", '{"a":1}', "[1,2]", '[{"a":{}}]', '""', "undefined", "'x'")


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


def respell(dice: Dice, key: str) -> str:
    """A key that is this one, or that some reader takes for it."""
    at = dice.number(max(len(key) - 1, 0))
    ways = [
        key,
        key.upper(),
        key.capitalize(),
        key[:at] + key[at:].swapcase(),
        key[:at] + (f"\\u{ord(key[at]):04x}" if key else "") + key[at + 1 :],
        key + "\\u0000",
        key[:at] + "\\u0000" + key[at:],
        key + " ",
        " " + key,
        key.replace("s", "\u017f", 1).replace("k", "\u212a", 1),
        key.replace("s", "\\u017f", 1).replace("k", "\\u212a", 1),
        "\ufeff" + key,
        key + "\u200b",
        key.replace("i", "\u0131", 1),
        key[:at],
        key + "\\u0009",
    ]
    return dice.pick(ways)


def utf7(text: str) -> str:
    """One run of UTF-7: read as UTF-8 it is letters, in which no part of the text can be seen."""
    run = base64.b64encode(text.encode("utf-16-be")).rstrip(b"=").decode()
    return f"+{run}-"


# Each ends the string that it stands in and goes on as JSON.
UTF7_RUNS = (
    utf7('","method":"tools/call","params":{"name":"pay","arguments":{"amount":{}}},"z":"'),
    utf7('"},"method":"tools/call","params":{"name":"hidden","arguments":{}},"z":{"a":"'),
    utf7('","name":"hidden","z":"'),
    utf7('","structuredContent":{"total":"7"},"z":"'),
    utf7('"}'),
)


def string(dice: Dice) -> str:
    """A string with something odd in it."""
    kind = dice.number(3)
    if kind == 0:
        return '"plain"'
    odd = dice.pick(CONTROLS) if kind == 1 else dice.pick(ESCAPES) if kind == 2 else dice.pick(UTF7_RUNS)
    return f'"a{odd}b"'


def blanks(dice: Dice) -> Callable[[], str]:
    """What stands between tokens: mostly nothing, else one sort of blank here and there."""
    if not dice.is_one_in(3):
        return str
    blank = dice.pick(NO_BLANKS) if dice.is_one_in(4) else dice.pick(BLANKS)
    return lambda: blank if dice.is_one_in(6) else ""


CHARSETS = words("utf-8 utf-8-sig utf-16 utf-16-le utf-32 utf-7 cp037")
# The same letters in more bytes than UTF-8 allows, and bytes that are none at all.
_NOT_UTF8 = (
    (b'"', b"\xc0\xa2"),
    (b"/", b"\xc0\xaf"),
    (b"a", b"\xff"),
    (b"x", b"\xed\xa0\x80"),
    (b"t", b"\xf4\x90\x80\x80"),
)


def encode(dice: Dice, text: str) -> tuple[bytes, str]:
    """The bytes of a text, and the charset that they are in."""
    charset = dice.pick(CHARSETS) if dice.is_one_in(10) else "utf-8"
    data = text.encode(charset, "replace" if charset in ("utf-7", "cp037") else "surrogatepass")
    if dice.is_one_in(40):
        old, new = dice.pick(_NOT_UTF8)
        data = data.replace(old, new, 1)
    return data, charset
