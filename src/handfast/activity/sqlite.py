"""The SQLite store: one file, one chain, shared by every process on the state folder."""

import hmac
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

from handfast.activity.chain import PRUNED_RULE, ChainWalk, Head, Link, link_record, searchable, walk_chain
from handfast.activity.query import RecordFilter
from handfast.activity.sqlite_file import FILE_NAME, explained, open_for_reading, open_for_writing
from handfast.activity.store import RecordNotFound, Retention, StoredRecord, StoreError
from handfast.clock import Clock, time_text
from handfast.core.exchange import Record, RecordType, Status

_PAGE = 2_000  # rows per read: each read is short, so a slow reader never keeps the write-ahead log from shrinking
_PRUNE_STEP = 500  # rows per transaction, so that nobody waits for retention longer than for a batch
_VACUUM_PAGES = 256
_ROW = "(?, ?, ?, ?, ?, ?, ?, nullif(?, ''), nullif(?, ''), ?, ?)"
# Many rows by one statement: the interpreter's lock is let go and taken back once for all of them and not for each.
_INSERTS = {rows: f"INSERT INTO records VALUES {', '.join([_ROW] * rows)}" for rows in (64, 16, 4, 1)}  # noqa: S608 - ours
_SELECT = "SELECT seq, payload, hash FROM records"
_LINKS = "SELECT seq, payload, hash, id, time, type, status, server, tool, rule, request_id FROM records ORDER BY seq"

Row = tuple[int, str, str]


class SqliteStore:
    """`activity.db` in a state folder. Fit for one thread at a time."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        try:
            with explained(path):
                self._inode = path.stat().st_ino
                key = bytes(connection.execute("SELECT digest_key FROM secret").fetchone()[0])
        except StoreError:
            connection.close()
            raise
        self._mac = hmac.new(key, digestmod="sha256")

    @classmethod
    def open(cls, folder: Path) -> "SqliteStore":
        """The store of a state folder, made if need be. Raises: StoreError."""
        return cls(open_for_writing(folder), folder / FILE_NAME)

    @classmethod
    def open_existing(cls, folder: Path) -> "SqliteStore":
        """The store of a state folder, to read only. Raises: StoreMissing, StoreError."""
        return cls(open_for_reading(folder), folder / FILE_NAME)

    def append(self, records: Sequence[Record]) -> Head:
        with self._writing():
            return self._chain(records)

    def head(self) -> Head:
        with explained(self._path):
            row = self._connection.execute("SELECT seq, hash FROM head").fetchone()
        if row is None:
            raise StoreError(f"The activity store {self._path} has lost its head; run `handfast activity verify`.")
        return Head(*row)

    def query(self, wanted: RecordFilter, *, oldest_first: bool = False) -> Iterator[StoredRecord]:
        low, high = self._bounds(wanted)
        conditions, values = _conditions(wanted)
        order = "ASC" if oldest_first else "DESC"
        where = " AND ".join(["seq > ? AND seq < ?", *conditions])
        statement = f"{_SELECT} WHERE {where} ORDER BY seq {order} LIMIT ?"
        left = wanted.limit
        while left is None or left > 0:
            count = _PAGE if left is None else min(_PAGE, left)
            rows = self._rows(statement, (low, high, *values, count))
            yield from map(self._stored, rows)
            if len(rows) < count:
                return
            left = None if left is None else left - count
            low, high = (rows[-1][0], high) if oldest_first else (low, rows[-1][0])

    def read(self, id_or_prefix: str) -> StoredRecord:
        rows = self._rows(f"{_SELECT} WHERE id = ? LIMIT 2", (id_or_prefix,))
        if not rows and id_or_prefix:
            beyond = id_or_prefix + "\U0010ffff"
            rows = self._rows(f"{_SELECT} WHERE id >= ? AND id < ? LIMIT 2", (id_or_prefix, beyond))
        if not rows:
            raise RecordNotFound("No record has this id; `handfast activity list` shows the ids.")
        if len(rows) > 1:
            raise RecordNotFound("Several records begin with this id; give more of it.")
        return self._stored(rows[0])

    def follow(self, after: int, wanted: RecordFilter) -> tuple[list[StoredRecord], int]:
        # The head is read first: what is committed in between is for the next time, and nothing is skipped.
        end = self.head().seq
        if end <= after:
            return [], after
        conditions, values = _conditions(wanted)
        where = " AND ".join(["seq > ? AND seq <= ?", *conditions])
        statement = f"{_SELECT} WHERE {where} ORDER BY seq LIMIT ?"
        rows = self._rows(statement, (after, end, *values, _PAGE))
        return [self._stored(row) for row in rows], rows[-1][0] if len(rows) == _PAGE else end

    def walk(self, *, noted: str = "") -> Iterator[ChainWalk]:
        # One snapshot for head and records: what is appended or pruned meanwhile must not look like damage.
        with explained(self._path):
            self._connection.execute("BEGIN")
            try:
                row = self._connection.execute("SELECT seq, hash FROM head").fetchone()
                head = Head(*row) if row else Head(-1, "")
                yield from walk_chain(_links(self._connection.execute(_LINKS)), head, noted=noted)
            finally:
                self._connection.execute("ROLLBACK")

    def prune(self, retention: Retention, *, now: datetime) -> int:
        if not self._has_surplus(retention, now):
            return 0
        with self._writing():
            # Looked at again under the lock: another process may just have done the same.
            count = self._remove_front(retention, now)
        if count:
            with explained(self._path):
                self._connection.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()
        return count

    def digest(self, value: bytes) -> str:
        # A prepared HMAC is copied: making one anew costs several times what hashing a call's arguments does.
        mac = self._mac.copy()
        mac.update(value)
        return mac.hexdigest()

    def derive_key(self, purpose: str) -> bytes:
        # Digests are of JSON texts, which never begin with NUL: no digest on record is a key.
        mac = self._mac.copy()
        mac.update(b"\0" + purpose.encode())
        return mac.digest()

    def close(self) -> None:
        with explained(self._path):
            self._connection.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with explained(self._path):
            if os.stat(self._path).st_ino != self._inode:
                raise StoreError(f"The activity store {self._path} was replaced while in use; restart handfast.")
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # what failed first is what is reported
                    self._connection.execute("ROLLBACK")
                raise

    def _chain(self, records: Iterable[Record]) -> Head:
        """Append inside the open transaction; the head is taken from its own row, so a cut-off end stays visible."""
        head: Head | Link = self.head()
        rows: list[tuple[int | str, ...]] = []
        for record in records:
            head = link = link_record(record, head)
            indexed = link.indexed if "".join(link.indexed).isascii() else map(searchable, link.indexed)
            rows.append((link.seq, *indexed, link.payload, link.hash))
        self._insert(rows)
        self._connection.execute("UPDATE head SET seq = ?, hash = ?", (head.seq, head.hash))
        return Head(head.seq, head.hash)

    def _insert(self, rows: list[tuple[int | str, ...]]) -> None:
        begin = 0
        for count, statement in _INSERTS.items():
            while len(rows) - begin >= count:
                self._connection.execute(statement, tuple(chain.from_iterable(rows[begin : begin + count])))
                begin += count

    def _has_surplus(self, retention: Retention, now: datetime) -> bool:
        if retention.keep_bytes is not None and self._used_bytes() > retention.keep_bytes:
            return True
        if retention.keep_days is None:
            return False
        oldest = self._rows(f"{_SELECT} ORDER BY seq LIMIT 1", ())
        return bool(oldest) and self._stored(oldest[0]).record.time < _cutoff(retention.keep_days, now)

    def _remove_front(self, retention: Retention, now: datetime) -> int:
        front = self._front(retention, now)
        # Only notes of earlier pruning left: removing them would only make another.
        if all(rule == PRUNED_RULE for _, _, rule, _ in front):
            return 0
        through, _, _, last_hash = front[-1]
        self._connection.execute("DELETE FROM records WHERE seq <= ?", (through,))
        self._chain([_pruned(len(front), through, last_hash, now)])
        return len(front)

    def _front(self, retention: Retention, now: datetime) -> list[tuple[int, str, str | None, str]]:
        """The oldest records that are to go, at most one step of them."""
        statement = "SELECT seq, time, rule, hash FROM records ORDER BY seq LIMIT ?"
        front = self._connection.execute(statement, (_PRUNE_STEP,)).fetchall()
        if retention.keep_bytes is not None and self._used_bytes() > retention.keep_bytes:
            return front
        cutoff = "" if retention.keep_days is None else _cutoff(retention.keep_days, now)
        kept = next((place for place, row in enumerate(front) if row[1] >= cutoff), len(front))
        return front[:kept]

    def _used_bytes(self) -> int:
        pages, free, size = (self._number(f"PRAGMA {name}") for name in ("page_count", "freelist_count", "page_size"))
        return (pages - free) * size

    def _number(self, statement: str, *values: str) -> int:
        with explained(self._path):
            return int(self._connection.execute(statement, values).fetchone()[0] or 0)

    def _bounds(self, wanted: RecordFilter) -> tuple[int, int]:
        """Sequences around what is wanted; times become sequences, so that every walk follows one order."""
        low, high = wanted.after, (1 << 62) if wanted.before is None else wanted.before
        if wanted.since:
            first = self._number("SELECT min(seq) FROM records WHERE time >= ?", wanted.since)
            low = max(low, first - 1) if first else high
        if wanted.until:
            high = min(high, self._number("SELECT max(seq) FROM records WHERE time < ?", wanted.until) + 1)
        return low, high

    def _rows(self, statement: str, values: tuple[object, ...]) -> list[Row]:
        with explained(self._path):
            return self._connection.execute(statement, values).fetchall()

    def _stored(self, row: Row) -> StoredRecord:
        seq, text, link_hash = row
        try:
            payload = json.loads(text)
            previous = payload.pop("previous")
            del payload["seq"]
            payload["type"] = RecordType(payload["type"])
            payload["status"] = Status(payload["status"])
            return StoredRecord(seq, Record(**payload), previous, link_hash)
        except (ValueError, KeyError, TypeError, AttributeError):
            message = f"Record {seq} in {self._path} cannot be read; run `handfast activity verify`."
            raise StoreError(message) from None


def _conditions(wanted: RecordFilter) -> tuple[list[str], list[str]]:
    conditions: list[str] = []
    values: list[str] = []
    for column, choices in (("type", wanted.types), ("status", wanted.statuses)):
        if choices:
            conditions.append(f"{column} IN ({', '.join('?' * len(choices))})")
            values.extend(choices)
    # The plus keeps SQLite from walking the time index, which would mean sorting everything for every page.
    exact = (("server =", wanted.server), ("tool =", wanted.tool), ("rule =", wanted.rule))
    more = (("request_id =", wanted.request_id), ("+time >=", wanted.since), ("+time <", wanted.until))
    for test, value in (*exact, *more):
        if value:
            conditions.append(f"{test} ?")
            values.append(searchable(value))
    return conditions, values


def _links(rows: Iterable[tuple[int, str, str, str | None]]) -> Iterator[Link]:
    for seq, payload, link_hash, *indexed in rows:
        yield Link(seq, payload, link_hash, tuple(value or "" for value in indexed))


def _cutoff(keep_days: float, now: datetime) -> str:
    return time_text(now - timedelta(days=keep_days))


def _pruned(count: int, through: int, last_hash: str, now: datetime) -> Record:
    return Record(
        id=Clock().new_id(),
        time=time_text(now),
        type=RecordType.DIAGNOSTIC,
        status=Status.SUCCESS,
        rule=PRUNED_RULE,
        reason=f"{count} records past the retention limits were removed.",
        details={"count": count, "through_seq": through, "last_hash": last_hash},
    )
