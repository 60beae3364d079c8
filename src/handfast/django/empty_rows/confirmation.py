"""Asking a person which empty rows may go. Nothing goes unasked, and a row that may be meant is asked for by itself."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from handfast.django.empty_rows.removal import Confirmed
from handfast.django.empty_rows.search import EmptyRow, Found

Ask: TypeAlias = Callable[[str], str]  # a question in, what was typed out


def confirm(found: Sequence[Found], ask: Ask, *, cascade: bool = False) -> Confirmed:
    """The rows that were said yes to, by model. Whatever is not a plain yes is a no."""
    asked = [(one, deletable(one, cascade=cascade)) for one in found]
    answers = [(one.emptiness, _confirmed(one, rows, ask)) for one, rows in asked if rows]
    return [(emptiness, pks) for emptiness, pks in answers if pks]


def deletable(found: Found, *, cascade: bool) -> list[EmptyRow]:
    return [row for row in found.rows if cascade or not row.pointing]


def _confirmed(found: Found, rows: list[EmptyRow], ask: Ask) -> list[Any]:  # Any: keys of any type
    label = found.emptiness.label
    if not found.emptiness.is_doubtful:
        keys = ", ".join(str(row.pk) for row in rows)
        answer = ask(f"Delete {len(rows)} of {label} ({keys})? [yes/no/each] ").strip().lower()
        if answer != "each":
            return [row.pk for row in rows] if _is_yes(answer) else []
    return [row.pk for row in rows if _is_yes(ask(f"Delete {label} {row.pk}{_reach(row)}? [yes/no] "))]


def _reach(row: EmptyRow) -> str:
    """What else would change, for the one who decides."""
    touched = ", ".join(f"{one.count} {one.label} {one.fate}" for one in row.pointing)
    return f" ({touched})" if touched else ""


def _is_yes(answer: str) -> bool:
    return answer.strip().lower() in ("y", "yes")
