"""The removal of empty rows: only those confirmed, only while they are still empty, and all of them or none."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.db import transaction
from django.db.models import ProtectedError, RestrictedError
from django.db.models.deletion import Collector

from handfast.django.discovery.drf_types import AnyQuerySet
from handfast.django.empty_rows.emptiness import Emptiness
from handfast.django.empty_rows.search import EmptyRow, Found, database_of, empty_rows, find_empty_rows

Confirmed: TypeAlias = Sequence[tuple[Emptiness, Sequence[Any]]]  # Any: keys of any type
Ask: TypeAlias = Callable[[str], str]  # takes a question, returns the typed answer


class RemovalRefused(Exception):
    """Nothing was deleted; the text says why."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What was deleted, by model: the rows that were confirmed, and those that went with them."""

    rows: dict[str, int]
    with_them: dict[str, int]


def remove_rows(confirmed: Confirmed, *, cascade: bool = False) -> Removed:
    """Deletes the confirmed rows. Raises: RemovalRefused, and then nothing has changed."""
    rows, everything = Counter[str](), Counter[str]()
    with ExitStack() as transactions:
        for alias in dict.fromkeys(database_of(emptiness.model) for emptiness, _ in confirmed):
            transactions.enter_context(transaction.atomic(using=alias))
        for emptiness, pks in confirmed:
            rows[emptiness.label] += len(pks)
            everything.update(_remove(emptiness, pks, cascade=cascade))
    everything.subtract(rows)
    return Removed(dict(rows), {label: count for label, count in everything.items() if count > 0})


def going_along(emptiness: Emptiness, pks: Sequence[Any]) -> dict[str, int]:  # Any: keys of any type
    """How many further rows of each model would be deleted with these. Raises: RemovalRefused."""
    rows = empty_rows(emptiness, pks=pks)
    collector = _collected(emptiness, rows)
    along = Counter({model._meta.label: len(rows) for model, rows in collector.data.items()})
    for others in collector.fast_deletes:
        along[others.model._meta.label] += others.count()
    along[emptiness.label] -= len(rows)
    return {label: count for label, count in along.items() if count > 0}


def _remove(emptiness: Emptiness, pks: Sequence[Any], *, cascade: bool) -> dict[str, int]:  # Any: keys of any type
    # Locked, so that no other process fills a row between this check and its deletion.
    rows = empty_rows(emptiness, pks=pks).select_for_update(of=("self",))
    if len(rows) < len(pks):
        gone = ", ".join(str(pk) for pk in pks if pk not in {row.pk for row in rows})
        raise RemovalRefused(f"{emptiness.label} {gone}: not an empty row any more. Look again, then delete.")
    if not cascade:
        _refuse_pointed_at(emptiness, pks)
    return _collected(emptiness, rows).delete()[1]


def _collected(emptiness: Emptiness, rows: AnyQuerySet) -> Collector:
    collector = Collector(using=database_of(emptiness.model), origin=rows)
    try:
        collector.collect(list(rows))
    except (ProtectedError, RestrictedError) as kept:
        raise RemovalRefused(f"{emptiness.label}: {_keepers(kept)} keep a row from being deleted.") from None
    return collector


def _refuse_pointed_at(emptiness: Emptiness, pks: Sequence[Any]) -> None:  # Any: as above
    for row in find_empty_rows(emptiness, pks=pks).rows:
        if row.pointing:
            labels = ", ".join(f"{one.count} {one.label}" for one in row.pointing)
            raise RemovalRefused(f"{emptiness.label} {row.pk}: other rows point at it ({labels}). Add --cascade.")


def _keepers(kept: ProtectedError | RestrictedError) -> str:
    rows = kept.protected_objects if isinstance(kept, ProtectedError) else kept.restricted_objects
    return ", ".join(sorted({f"rows of {row._meta.label}" for row in rows}))


def confirm_rows(found: Sequence[Found], ask: Ask, *, cascade: bool = False) -> Confirmed:
    """Asks about the rows and returns those that are confirmed, by model. Any answer but a plain yes is a no."""
    asked = [(one, deletable_rows(one, cascade=cascade)) for one in found]
    answers = [(one.emptiness, _confirmed(one, rows, ask)) for one, rows in asked if rows]
    return [(emptiness, pks) for emptiness, pks in answers if pks]


def deletable_rows(found: Found, *, cascade: bool) -> list[EmptyRow]:
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
    """The effects on other rows, as text for the question."""
    touched = ", ".join(f"{one.count} {one.label} {one.fate}" for one in row.pointing)
    return f" ({touched})" if touched else ""


def _is_yes(answer: str) -> bool:
    return answer.strip().lower() in ("y", "yes")
