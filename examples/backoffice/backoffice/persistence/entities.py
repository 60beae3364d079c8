"""The table of one described entity. Names of tables and columns come from descriptions, values never do."""

import re
import sqlite3
from datetime import datetime

from backoffice.domain.entities import Entity, EntityCount, Field, Kind, Row, Value
from backoffice.persistence.columns import like_text, moment_text, read_optional_moment
from backoffice.persistence.pages import read_page

# Every statement below is made of names that `EntityTable` has looked at, and of placeholders: hence the S608.
_NAME = re.compile(r"[a-z][a-z_]*")
_SEARCHED = (Kind.TEXT, Kind.CHOICE)


class EntityTable:
    def __init__(self, entity: Entity) -> None:
        for name in (entity.table, *entity.columns, *(field.refers_to for field in entity.fields)):
            if name and not _NAME.fullmatch(name):
                raise ValueError("A table or a column needs a name of small letters and underscores.")
        self._entity = entity
        self._table = f'"{entity.table}"'
        self._columns = [f'"{name}"' for name in entity.columns]
        self._flags = [field.name for field in entity.fields if field.kind is Kind.FLAG]
        self._moments = [field.name for field in entity.fields if field.kind is Kind.MOMENT]
        self._moments += ["created_at", "updated_at", "archived_at"]

    @property
    def definition(self) -> str:
        own = "".join(f"    {_column(field)},\n" for field in self._entity.fields)
        return (
            f"CREATE TABLE IF NOT EXISTS {self._table} (\n"
            "    id INTEGER PRIMARY KEY AUTOINCREMENT,\n"
            "    name TEXT NOT NULL UNIQUE,\n"
            f"{own}"
            "    created_by TEXT NOT NULL,\n"
            "    created_at TEXT NOT NULL,\n"
            "    updated_at TEXT NOT NULL,\n"
            "    archived_at TEXT,\n"
            "    revision INTEGER NOT NULL DEFAULT 1\n"
            ");\n"
        )

    def page(self, db: sqlite3.Connection, *, archived: bool, offset: int, limit: int) -> tuple[list[Row], int]:
        query = f"SELECT * FROM {self._table} WHERE (archived_at IS NOT NULL) = :archived ORDER BY id"  # noqa: S608
        return read_page(db, query, {"archived": archived}, offset=offset, limit=limit, read=self._row)

    def search(self, db: sqlite3.Connection, words: str, *, offset: int, limit: int) -> tuple[list[Row], int]:
        """Rows that are not archived and hold these words anywhere, large and small letters alike."""
        searched = ["name", *(f'"{field.name}"' for field in self._entity.fields if field.kind in _SEARCHED)]
        found = " OR ".join(f"{column} LIKE :words ESCAPE '\\'" for column in searched)
        query = f"SELECT * FROM {self._table} WHERE archived_at IS NULL AND ({found}) ORDER BY id"  # noqa: S608
        return read_page(db, query, {"words": like_text(words)}, offset=offset, limit=limit, read=self._row)

    def count(self, db: sqlite3.Connection) -> EntityCount:
        query = f"SELECT count(*) - count(archived_at), count(archived_at) FROM {self._table}"  # noqa: S608
        return EntityCount(*db.execute(query).fetchone())

    def find(self, db: sqlite3.Connection, row_id: int) -> Row | None:
        row = db.execute(f"SELECT * FROM {self._table} WHERE id = ?", (row_id,)).fetchone()  # noqa: S608
        return None if row is None else self._row(row)

    def has_name(self, db: sqlite3.Connection, name: Value) -> bool:
        return db.execute(f"SELECT 1 FROM {self._table} WHERE name = ?", (name,)).fetchone() is not None  # noqa: S608

    def refers_to(self, db: sqlite3.Connection, field: Field, row_id: int) -> bool:
        """Whether any row refers to that row of the other table."""
        query = f'SELECT 1 FROM {self._table} WHERE "{field.name}" = ? LIMIT 1'  # noqa: S608
        return db.execute(query, (row_id,)).fetchone() is not None

    def insert(self, db: sqlite3.Connection, values: Row, *, by: str, at: datetime) -> Row:
        """Every column of the entity must be among the values."""
        columns = ", ".join([*self._columns, "created_by", "created_at", "updated_at"])
        places = ", ".join("?" * (len(self._columns) + 3))
        query = f"INSERT INTO {self._table} ({columns}) VALUES ({places}) RETURNING *"  # noqa: S608
        given = [_stored(values[name]) for name in self._entity.columns]
        return self._row(db.execute(query, (*given, by, moment_text(at), moment_text(at))).fetchone())

    def update(self, db: sqlite3.Connection, row_id: int, values: Row, *, at: datetime) -> Row:
        changed = [name for name in self._entity.columns if name in values]
        columns = ", ".join(f'"{name}" = ?' for name in changed)
        query = f"UPDATE {self._table} SET {columns}, {_TOUCHED} WHERE id = ? RETURNING *"  # noqa: S608
        given = [_stored(values[name]) for name in changed]
        return self._row(db.execute(query, (*given, moment_text(at), row_id)).fetchone())

    def set_archived(self, db: sqlite3.Connection, row_id: int, *, archived: bool, at: datetime) -> Row:
        query = f"UPDATE {self._table} SET archived_at = ?, {_TOUCHED} WHERE id = ? RETURNING *"  # noqa: S608
        archived_at = moment_text(at) if archived else None
        return self._row(db.execute(query, (archived_at, moment_text(at), row_id)).fetchone())

    def delete(self, db: sqlite3.Connection, row_id: int) -> None:
        db.execute(f"DELETE FROM {self._table} WHERE id = ?", (row_id,))  # noqa: S608

    def _row(self, row: sqlite3.Row) -> Row:
        values: Row = dict(zip(row.keys(), row, strict=True))
        flags = {name: bool(row[name]) for name in self._flags}
        moments = {name: read_optional_moment(row, name) for name in self._moments}
        return values | flags | moments


_TOUCHED = "updated_at = ?, revision = revision + 1"


def _stored(value: Value) -> str | int | None:
    return moment_text(value) if isinstance(value, datetime) else value


def _column(field: Field) -> str:
    is_number = field.kind in (Kind.WHOLE, Kind.FLAG, Kind.REFERENCE)
    kind = "INTEGER" if is_number else "TEXT"
    required = "" if field.kind in (Kind.REFERENCE, Kind.MOMENT) else " NOT NULL"
    refers = f' REFERENCES "{field.refers_to}" (id)' if field.refers_to else ""
    return f'"{field.name}" {kind}{required}{refers}'
