"""How values stand in columns: moments as UTC text that sorts by time, lists as JSON."""

import json
import sqlite3
from collections.abc import Iterable
from datetime import UTC, date, datetime


def moment_text(moment: datetime) -> str:
    """Always UTC with microseconds, so that text order is time order."""
    try:
        in_utc = moment.astimezone(UTC)
    except OverflowError:  # year 1 east of Greenwich, or year 9999 west of it: nothing here is as old or as new
        in_utc = moment.replace(tzinfo=UTC)
    return in_utc.isoformat(timespec="microseconds")


def read_moment(row: sqlite3.Row, column: str) -> datetime:
    return datetime.fromisoformat(row[column])


def read_optional_moment(row: sqlite3.Row, column: str) -> datetime | None:
    return None if row[column] is None else datetime.fromisoformat(row[column])


def read_optional_date(row: sqlite3.Row, column: str) -> date | None:
    return None if row[column] is None else date.fromisoformat(row[column])


def list_text(items: Iterable[str]) -> str:
    return json.dumps(list(items))


def read_list(row: sqlite3.Row, column: str) -> tuple[str, ...]:
    return tuple(json.loads(row[column]))


def like_text(words: str) -> str:
    """A LIKE pattern (with ESCAPE '\\') for text that holds these words, whatever characters they are made of."""
    escaped = words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
