"""The rules for every described entity: names are used once, what is archived rests, what is referred to stays."""

import sqlite3
from collections.abc import Mapping

from backoffice.domain.entities import Entity, EntityCount, EntityEvent, Field, Kind, Operation, Row, Value
from backoffice.domain.errors import Conflict, NotFound
from backoffice.persistence import entity_events
from backoffice.persistence.database import Database
from backoffice.persistence.entities import EntityTable
from backoffice.services.clock import Now


class EntityService:
    """One entity; `others` are the tables of all of them, for references both ways."""

    def __init__(self, db: Database, entity: Entity, *, now: Now, others: Mapping[str, Entity]) -> None:
        self._db = db
        self._now = now
        self._entity = entity
        self._table = EntityTable(entity)
        self._targets = {
            field.name: (EntityTable(others[field.refers_to]), others[field.refers_to].singular)
            for field in entity.fields
            if field.kind is Kind.REFERENCE
        }
        self._referring: list[tuple[EntityTable, Field]] = [
            (EntityTable(other), field)
            for other in others.values()
            for field in other.fields
            if field.refers_to == entity.table
        ]

    async def page(self, *, archived: bool = False, offset: int, limit: int) -> tuple[list[Row], int]:
        return await self._db.read(lambda db: self._table.page(db, archived=archived, offset=offset, limit=limit))

    async def search(self, words: str, *, offset: int, limit: int) -> tuple[list[Row], int]:
        return await self._db.read(lambda db: self._table.search(db, words, offset=offset, limit=limit))

    async def count(self) -> EntityCount:
        return await self._db.read(self._table.count)

    async def get(self, row_id: int) -> Row:
        """Raises: NotFound."""
        return await self._db.read(lambda db: self._existing(db, row_id))

    async def history(self, row_id: int, *, offset: int, limit: int) -> tuple[list[EntityEvent], int]:
        """Of rows that are gone, too. Raises: NotFound."""

        def look(db: sqlite3.Connection) -> tuple[list[EntityEvent], int]:
            events, total = entity_events.page(db, self._entity.table, row_id, offset=offset, limit=limit)
            if not total:
                raise NotFound(self._entity.singular)
            return events, total

        return await self._db.read(look)

    async def create(self, values: Row, *, by: str) -> Row:
        """Raises: NotFound (of what is referred to), Conflict."""

        def work(db: sqlite3.Connection) -> Row:
            self._require_free_name(db, values["name"])
            self._require_targets(db, values)
            row = self._table.insert(db, values, by=by, at=self._now())
            self._note(db, row, Operation.CREATE, by=by)
            return row

        return await self._db.write(work)

    async def update(self, row_id: int, changes: Row, *, revision: int | None, by: str) -> Row:
        """`revision` is the one the caller has seen, if it matters. Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Row:
            row = self._current(db, row_id)
            if revision is not None and revision != row["revision"]:
                raise Conflict(f"The {self._entity.singular} has changed since. Get it again, then update it.")
            changed = {name: value for name, value in changes.items() if row[name] != value}
            if not changed:
                return row
            if "name" in changed:
                self._require_free_name(db, changed["name"])
            self._require_targets(db, changed)
            updated = self._table.update(db, row_id, changed, at=self._now())
            self._note(db, updated, Operation.UPDATE, by=by, fields=tuple(changed))
            return updated

        return await self._db.write(work)

    async def archive(self, row_id: int, *, by: str) -> Row:
        """Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Row:
            self._current(db, row_id)
            row = self._table.set_archived(db, row_id, archived=True, at=self._now())
            self._note(db, row, Operation.ARCHIVE, by=by)
            return row

        return await self._db.write(work)

    async def restore(self, row_id: int, *, by: str) -> Row:
        """Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Row:
            if self._existing(db, row_id)["archived_at"] is None:
                raise Conflict(f"The {self._entity.singular} is not archived. Nothing is left to do.")
            row = self._table.set_archived(db, row_id, archived=False, at=self._now())
            self._note(db, row, Operation.RESTORE, by=by)
            return row

        return await self._db.write(work)

    async def purge(self, row_id: int, *, by: str) -> Row:
        """Take a row away for good; its history stays. Answers with the row as it was. Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Row:
            row = self._existing(db, row_id)
            if row["archived_at"] is None:
                raise Conflict(f"The {self._entity.singular} is in use. Archive it first.")
            if any(table.refers_to(db, field, row_id) for table, field in self._referring):
                raise Conflict(f"Something still refers to the {self._entity.singular}. Purge that first.")
            self._table.delete(db, row_id)
            self._note(db, row, Operation.PURGE, by=by)
            return row

        return await self._db.write(work)

    # --- the rules -----------------------------------------------------------------------------------------------

    def _existing(self, db: sqlite3.Connection, row_id: int) -> Row:
        row = self._table.find(db, row_id)
        if row is None:
            raise NotFound(self._entity.singular)
        return row

    def _current(self, db: sqlite3.Connection, row_id: int) -> Row:
        row = self._existing(db, row_id)
        if row["archived_at"] is not None:
            raise Conflict(f"The {self._entity.singular} is archived. Restore it first.")
        return row

    def _require_free_name(self, db: sqlite3.Connection, name: Value) -> None:
        if self._table.has_name(db, name):
            raise Conflict(f"There is a {self._entity.singular} of this name already. Choose another name.")

    def _require_targets(self, db: sqlite3.Connection, values: Row) -> None:
        for name, (table, singular) in self._targets.items():
            target = values.get(name)
            if isinstance(target, int) and table.find(db, target) is None:
                raise NotFound(singular)

    def _note(
        self, db: sqlite3.Connection, row: Row, what: Operation, *, by: str, fields: tuple[str, ...] = ()
    ) -> None:
        assert isinstance(row["id"], int)
        entity_events.add(db, self._entity.table, row["id"], EntityEvent(self._now(), by, what, fields))
