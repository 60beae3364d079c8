"""The table of what happened to described entities. It outlives their rows."""

import sqlite3

from backoffice.domain.entities import EntityEvent, Operation
from backoffice.persistence.columns import list_text, moment_text, read_list, read_moment
from backoffice.persistence.pages import read_page

TABLES = """
CREATE TABLE IF NOT EXISTS entity_events (
    id INTEGER PRIMARY KEY,
    entity TEXT NOT NULL,
    row_id INTEGER NOT NULL,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    what TEXT NOT NULL,
    fields TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS entity_events_by_row ON entity_events (entity, row_id);
"""

_PAGE = "SELECT * FROM entity_events WHERE entity = :entity AND row_id = :row_id ORDER BY id"


def add(db: sqlite3.Connection, entity: str, row_id: int, event: EntityEvent) -> None:
    db.execute(
        "INSERT INTO entity_events (entity, row_id, at, by, what, fields) VALUES (?, ?, ?, ?, ?, ?)",
        (entity, row_id, moment_text(event.at), event.by, event.what, list_text(event.fields)),
    )


def page(db: sqlite3.Connection, entity: str, row_id: int, *, offset: int, limit: int) -> tuple[list[EntityEvent], int]:
    values = {"entity": entity, "row_id": row_id}
    return read_page(db, _PAGE, values, offset=offset, limit=limit, read=_event)


def _event(row: sqlite3.Row) -> EntityEvent:
    return EntityEvent(read_moment(row, "at"), row["by"], Operation(row["what"]), read_list(row, "fields"))
