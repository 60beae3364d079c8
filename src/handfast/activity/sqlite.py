"""The SQLite store: one file, one chain, shared by every process on the state folder."""

import hmac
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import chain
from pathlib import Path

from handfast.activity.chain import INDEXED, Head, Link, link_record, searchable
from handfast.activity.query import RecordFilter
from handfast.activity.sqlite_file import BESIDE, FILE_NAME, explained, open_for_reading, open_for_writing
from handfast.activity.sqlite_retention import Removal, cut_front, cutoff, thin
from handfast.activity.store import RecordNotFound, Retention, StoredRecord, StoreError
from handfast.activity.walk import ChainWalk, Stretch, walk_chain
from handfast.core.call.exchange import Record, RecordType, Status

_PAGE = 2_000  # rows per read: reads are short, so that a slow reader does not keep the write-ahead log from shrinking
_VACUUM_PAGES = 1_024  # freed per step: 4 MiB, a few milliseconds
# Retention begins when the files exceed their bound and goes on until this part of the bound is free: at the default
# bound it then rests for 50 MiB of records.
_HEADROOM = 20
_ROW = "(?, ?, ?, ?, ?, ?, ?, nullif(?, ''), nullif(?, ''), ?, ?)"
# Many rows in one statement release and take the interpreter's lock once instead of once per row.
_INSERTS = {rows: f"INSERT INTO records VALUES {', '.join([_ROW] * rows)}" for rows in (64, 16, 4, 1)}  # noqa: S608 - ours
_SELECT = "SELECT seq, payload, hash FROM records"
_LINKS = f"SELECT seq, payload, hash, {', '.join(INDEXED)} FROM records ORDER BY seq"  # noqa: S608 - ours
_STRETCHES = "SELECT first, last, last_hash, hashes FROM removed ORDER BY last"
_STRETCH_TYPES = (int, int, str, bytes | None)

Row = tuple[int, str, str]


class SqliteStore:
    """`activity.db` in a state folder. For one thread at a time."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        try:
            with explained(path):
                self._inode = path.stat().st_ino
                row = connection.execute("SELECT digest_key FROM secret").fetchone()
            if row is None or not isinstance(key := row[0], bytes):
                raise StoreError(
                    f"The activity store {path} is damaged: its key is gone or changed;"
                    " move it aside to start a new one, and keep it for inspection."
                )
        except StoreError:
            connection.close()
            raise
        self._mac = hmac.new(key, digestmod="sha256")
        self._thinned_through = 0  # sequences up to here have nothing worth thinning

    @classmethod
    def open(cls, folder: Path) -> "SqliteStore":
        """Opens the store of a state folder, and creates it if needed. Raises: StoreError."""
        return cls(open_for_writing(folder), folder / FILE_NAME)

    @classmethod
    def open_existing(cls, folder: Path) -> "SqliteStore":
        """Opens the store of a state folder for reading only. Raises: StoreMissing, StoreError."""
        return cls(open_for_reading(folder), folder / FILE_NAME)

    def append(self, records: Sequence[Record]) -> Head:
        with self._writing():
            return self._chain(records)

    def head(self) -> Head:
        with explained(self._path):
            head = _head(self._connection)
        if head is None:
            raise StoreError(f"The activity store {self._path} has lost its head; run `handfast activity verify`.")
        return head

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
        # The head is read first: records committed later are left for the next call, and none is skipped.
        end = self.head().seq
        if end <= after:
            return [], after
        conditions, values = _conditions(wanted)
        where = " AND ".join(["seq > ? AND seq <= ?", *conditions])
        statement = f"{_SELECT} WHERE {where} ORDER BY seq LIMIT ?"
        rows = self._rows(statement, (after, end, *values, _PAGE))
        return [self._stored(row) for row in rows], rows[-1][0] if len(rows) == _PAGE else end

    def walk(self, *, noted: str = "") -> Iterator[ChainWalk]:
        # One snapshot for head and records, so that records appended or pruned meanwhile do not look like damage.
        with explained(self._path):
            self._connection.execute("BEGIN")
            try:
                head = _head(self._connection) or Head(-1, "")
                links = _links(self._connection.execute(_LINKS))
                yield from walk_chain(links, head, self._stretches(), noted=noted)
            finally:
                self._connection.execute("ROLLBACK")

    def prune(self, retention: Retention, *, now: datetime) -> int:
        with explained(self._path):
            oldest = self._connection.execute("SELECT time FROM records ORDER BY seq LIMIT 1").fetchone()
            if oldest and oldest[0] < cutoff(retention, now):
                done = self._remove(cut_front, before=cutoff(retention, now), now=now)
                if done:
                    self._give_back_pages()
                    return done
            return self._shrink(retention.keep_bytes, now) if retention.keep_bytes is not None else 0

    def _shrink(self, keep_bytes: int, now: datetime) -> int:
        """One step towards files within the bound: empties the log, then removes records, then frees pages."""
        if self._file_bytes() <= keep_bytes:
            return 0
        self._empty_log()
        if self._file_bytes() <= keep_bytes:
            return 0
        goal = keep_bytes - keep_bytes // _HEADROOM
        if self._used_bytes() > goal:
            done = self._remove(thin, goal=goal, keep_bytes=keep_bytes, after=self._thinned_through, now=now)
            done = done or self._remove(cut_front, goal=goal, before="", now=now)
            if done:
                return done
        return self._give_back_pages()

    def _remove(self, step: Callable[..., Removal], *, goal: int = 0, **bounds: object) -> int:
        with self._writing():
            # Checked under the lock: another process may just have done the same, and then records would go needlessly.
            if self._used_bytes() <= goal:
                return 0
            removal = step(self._connection, **bounds)
            if removal.note is not None:
                self._chain([removal.note])
        self._thinned_through = max(self._thinned_through, removal.looked_through)
        return removal.done

    def _give_back_pages(self) -> int:
        """Truncates free pages from the file; returns their number."""
        free = self._number("PRAGMA freelist_count")
        # As a script: each page is one step of the statement, and `execute` makes only the first step of a pragma.
        self._connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
        self._empty_log()
        return free - self._number("PRAGMA freelist_count")

    def _empty_log(self) -> None:
        """Moves the write-ahead log into the database and truncates it, unless a reader holds it."""
        (patience,) = self._connection.execute("PRAGMA busy_timeout").fetchone()
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {patience}")

    def digest(self, value: bytes) -> str:
        # A prepared HMAC is copied: making a new one costs several times as much as hashing a call's arguments.
        mac = self._mac.copy()
        mac.update(value)
        return mac.hexdigest()

    def derive_key(self, purpose: str) -> bytes:
        # Digests are of JSON texts, which never begin with NUL, so a digest on record is never a key.
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
                with suppress(sqlite3.Error):  # the first failure is the one to report
                    self._connection.execute("ROLLBACK")
                raise

    def _chain(self, records: Iterable[Record]) -> Head:
        """Appends inside the open transaction. The head comes from its own row, so a truncated end stays visible."""
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

    def _used_bytes(self) -> int:
        """The size that the files would have with an empty log and without free pages."""
        pages, free, size = (self._number(f"PRAGMA {name}") for name in ("page_count", "freelist_count", "page_size"))
        return (pages - free) * size + _size(f"{self._path}-shm")

    def _file_bytes(self) -> int:
        """The store's size on disk: the database, its write-ahead log and the log's index."""
        return sum(_size(f"{self._path}{end}") for end in ("", *BESIDE))

    def _stretches(self) -> Iterator[Stretch]:
        if self._number("SELECT count(*) FROM sqlite_master WHERE name = 'removed'"):  # absent in format 1
            for row in self._connection.execute(_STRETCHES):
                if not all(isinstance(value, kind) for value, kind in zip(row, _STRETCH_TYPES, strict=True)):
                    problem = "what retention noted about removed records cannot be read"
                    raise StoreError(f"The activity store {self._path} is damaged: {problem}; keep it for inspection.")
                yield Stretch(*row)

    def _number(self, statement: str, *values: str) -> int:
        with explained(self._path):
            return int(self._connection.execute(statement, values).fetchone()[0] or 0)

    def _bounds(self, wanted: RecordFilter) -> tuple[int, int]:
        """Exclusive bounds of the sequence; times become sequences, so that every page follows one order."""
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
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise StoreError(f"Record {seq} in {self._path} cannot be read; run `handfast activity verify`.") from None


def _conditions(wanted: RecordFilter) -> tuple[list[str], list[str]]:
    conditions: list[str] = []
    values: list[str] = []
    for column, choices in (("type", wanted.types), ("status", wanted.statuses)):
        if choices:
            conditions.append(f"{column} IN ({', '.join('?' * len(choices))})")
            values.extend(choices)
    # The plus keeps SQLite from using the time index, which would mean sorting all rows for every page.
    exact = (("server =", wanted.server), ("tool =", wanted.tool), ("rule =", wanted.rule))
    more = (("request_id =", wanted.request_id), ("+time >=", wanted.since), ("+time <", wanted.until))
    for test, value in (*exact, *more):
        if value:
            conditions.append(f"{test} ?")
            values.append(searchable(value))
    return conditions, values


def _head(connection: sqlite3.Connection) -> Head | None:
    """The head; None if it is absent or has wrong types, as a column takes values of any type."""
    row = connection.execute("SELECT seq, hash FROM head").fetchone()
    return Head(*row) if row and isinstance(row[0], int) and isinstance(row[1], str) else None


def _links(rows: Iterable[tuple[int, object, object, object]]) -> Iterator[Link]:
    for seq, payload, link_hash, *indexed in rows:
        # A payload that is not text becomes empty, and then fails the check of its hash.
        text = payload if isinstance(payload, str) else ""
        yield Link(seq, text, str(link_hash), tuple("" if value is None else str(value) for value in indexed))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
