"""The common look of every command: colours, tables, one-line errors, progress; text that cannot harm a terminal."""

import io
import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from handfast.core.words.printable import escape, escape_text

__all__ = ["escape"]

COLOURS = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1", "dim": "2"}
_GAP = "  "
_NARROWEST_TEXT = 24
_NARROWEST = 6  # a column is never cut below this: it would say nothing
_PROGRESS_AFTER_S = 1.0
_PROGRESS_EVERY_S = 0.1

# The wide forms too: some spreadsheets take them for the narrow ones.
_FORMULA_STARTS = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")

Cell = str | int | float | None
Colours = Mapping[int, Mapping[str, str]]  # by column number, then by the text of the cell
_NO_COLOURS: Colours = {}

INTERRUPTED = 130  # what a shell says of a command that Ctrl-C ended


class CommandFailed(Exception):
    """Ends a command with one line for the operator and an exit code: 1 it failed, 2 it was called wrongly."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def run_command(body: Callable[[], int]) -> int:
    """Runs a command's body; its exit code, with every expected failure reported in the same way."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # characters outside its encoding are escaped, not fatal
    try:
        code = body()
        sys.stdout.flush()
    except CommandFailed as failure:
        for line in str(failure).splitlines():
            print_error(line)
        return failure.code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough. What is still buffered must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def write(text: str = "") -> None:
    """Writes a line to stdout."""
    sys.stdout.write(text + "\n")


def log_to_stderr() -> None:
    """Logs to stderr, our libraries included: tracebacks are scrubbed, and control characters escaped."""
    import logging  # imported here, so that `--help` stays fast

    from handfast.crashes import describe_crash

    class Lines(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return escape_text(super().format(record))

        def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name. Any: its own tuple of three
            return describe_crash(ei[1])

    handler = logging.StreamHandler()
    handler.setFormatter(Lines("handfast: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


def print_error(message: str) -> None:
    sys.stderr.write(f"handfast: {escape(message)}\n")


def print_hint(message: str) -> None:
    sys.stderr.write(f"{escape(message)}\n")


def has_colours(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str) -> str:
    """Coloured where stdout shows colours, plain elsewhere."""
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if colour and has_colours(sys.stdout) else text


def terminal_width() -> int | None:
    """The width to fit into; None without a terminal, and then nothing is ever cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def render_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    *,
    width: int | None = None,
    colours: Colours = _NO_COLOURS,
) -> list[str]:
    """The lines of a table. If it is wider than `width`, the last column shrinks, then the longest but the first.

    If that is not enough, columns are left out from the right: the first holds what other commands are given.
    """
    texts = [[cell_text(cell) for cell in row] for row in rows]
    widths = [max(map(display_width, column)) for column in zip(headers, *texts, strict=True)]
    widths = _fitted(widths, width)
    shown = len(widths)
    return [paint(_line(headers[:shown], widths), "dim"), *(_line(row[:shown], widths, colours) for row in texts)]


def cell_text(cell: Cell) -> str:
    if cell is None:
        return ""
    return f"{cell:.1f}" if isinstance(cell, float) else escape(str(cell))


def cut(text: str, width: int) -> str:
    """At most `width` columns of the text, with an ellipsis where something is missing."""
    if display_width(text) <= width:
        return text
    kept, used = [], 1
    for char in text:
        used += display_width(char)
        if used > width:
            break
        kept.append(char)
    return "".join(kept) + "…"


def display_width(text: str) -> int:
    """How many columns a terminal gives the text."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def csv_cell(cell: Cell) -> Cell:
    """A cell that no spreadsheet takes for a formula; numbers stay numbers."""
    if not isinstance(cell, str):
        return cell
    shown = escape(cell)
    return f"'{shown}" if shown.lstrip()[:1] in _FORMULA_STARTS else shown


class Progress:
    """A line on stderr after a second of waiting, and only on a terminal."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._due = time.monotonic() + _PROGRESS_AFTER_S
        self._is_shown = False

    def __call__(self, count: int) -> None:
        now = time.monotonic()
        if now < self._due or not sys.stderr.isatty():
            return
        self._due = now + _PROGRESS_EVERY_S
        self._is_shown = True
        sys.stderr.write(f"\r{self._label} {count:,} ...")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")


def _fitted(widths: list[int], width: int | None) -> list[int]:
    if width is None:
        return widths
    least = [widths[0], *(min(each, _NARROWEST) for each in widths[1:])]
    while len(least) > 1 and sum(least) + len(_GAP) * (len(least) - 1) > width:
        least.pop()
    fitted = widths[: len(least)]
    room = width - len(_GAP) * (len(fitted) - 1)
    # The last column is the one in sentences: half of it says more than half of an id.
    if len(fitted) > 1:
        fitted[-1] = min(fitted[-1], max(fitted[-1] - (sum(fitted) - room), _NARROWEST_TEXT))
    while sum(fitted) > room and max(fitted[1:], default=0) > _NARROWEST:
        longest = fitted.index(max(fitted[1:]), 1)
        others = max((w for place, w in enumerate(fitted[1:], 1) if place != longest), default=_NARROWEST)
        # Down to the next longest, or as far as it takes, whichever comes first.
        needed = fitted[longest] - (sum(fitted) - room)
        fitted[longest] = max(needed, min(others, fitted[longest] - 1), _NARROWEST)
    return [min(fitted[0], width), *fitted[1:]]


def _line(row: Sequence[str], widths: Sequence[int], colours: Colours = _NO_COLOURS) -> str:
    cells = []
    for place, (text, width) in enumerate(zip(row, widths, strict=True)):
        shown = cut(text, width)
        padding = " " * (width - display_width(shown)) if place < len(widths) - 1 else ""
        cells.append(paint(shown, colours.get(place, {}).get(text, "")) + padding)
    return _GAP.join(cells).rstrip()
