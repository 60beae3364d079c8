"""One page of a query, with the number of all rows that the query has."""

import sqlite3
from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")

_FURTHEST = 2**63 - 1  # SQLite counts no further, and no table is as long


def read_page(
    db: sqlite3.Connection,
    query: str,
    values: Mapping[str, object],
    *,
    offset: int,
    limit: int,
    read: Callable[[sqlite3.Row], T],
) -> tuple[list[T], int]:
    """The query must have a total order, else two pages could share a row."""
    # The query is a constant of the calling file; what a caller sent stands in the values.
    total = db.execute(f"SELECT count(*) FROM ({query})", values).fetchone()[0]  # noqa: S608
    cut = {"limit": limit, "offset": min(offset, _FURTHEST)}
    rows = db.execute(f"{query} LIMIT :limit OFFSET :offset", {**values, **cut})
    return [read(row) for row in rows], total
