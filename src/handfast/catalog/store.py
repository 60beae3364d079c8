"""Contracts on disk, so that a call can be judged before a client asks for the list."""

import logging
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from handfast.activity.sqlite_file import switch_to_wal
from handfast.activity.state_folder import prepare_database
from handfast.activity.store import StoreError
from handfast.catalog.contracts import ContractChange
from handfast.core.call.contract import ToolContract

Found = TypeVar("Found")
_log = logging.getLogger("handfast.catalog")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS contracts (
    server TEXT NOT NULL, source TEXT NOT NULL, tool TEXT NOT NULL,
    input_schema BLOB, output_schema BLOB, annotations BLOB, description TEXT NOT NULL,
    PRIMARY KEY (server, source, tool)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS diagnosed (
    server TEXT NOT NULL, tool TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (server, tool, digest)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS found (
    server TEXT NOT NULL, source TEXT NOT NULL, what TEXT NOT NULL, value BLOB NOT NULL,
    PRIMARY KEY (server, source, what)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tasks (
    server TEXT NOT NULL, source TEXT NOT NULL, key TEXT NOT NULL, tool TEXT NOT NULL, request_id TEXT NOT NULL,
    actor TEXT NOT NULL, contract TEXT NOT NULL, created REAL NOT NULL, expires REAL NOT NULL, outcome TEXT NOT NULL,
    named TEXT NOT NULL DEFAULT '', holder TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (server, source, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS task_contracts (
    fingerprint TEXT PRIMARY KEY, input_schema BLOB, output_schema BLOB, annotations BLOB
) WITHOUT ROWID;
"""
_INDEXES = """
DROP INDEX IF EXISTS tasks_by_age;
CREATE INDEX IF NOT EXISTS tasks_by_holder ON tasks (server, source, holder, created);
CREATE INDEX IF NOT EXISTS tasks_by_name ON tasks (server, source, named);
CREATE INDEX IF NOT EXISTS tasks_by_expiry ON tasks (expires);
CREATE INDEX IF NOT EXISTS tasks_by_contract ON tasks (contract);
"""


def source_of(command_or_url: Sequence[str]) -> str:
    """A fingerprint of a server's command or URL, so that two servers of one name never share contracts."""
    return sha256("\0".join(command_or_url).encode(errors="surrogatepass")).hexdigest()[:16]


class ContractStore:
    """`catalog.db` in the state folder. One thread of its own writes, so that callers never wait for the disk.

    Raises: StoreError, if folder or file is not private to its owner, or the file cannot be used.
    """

    def __init__(self, folder: Path | None) -> None:
        """Without a folder it is in memory."""
        path: Path | str = ":memory:"
        if folder is not None:
            try:
                path = prepare_database(folder, "catalog.db")
            except OSError as problem:
                raise StoreError(f"{folder} cannot be used: {problem.strerror}. Choose another with --state.") from None
        self._connection = sqlite3.connect(path, timeout=30, check_same_thread=False, isolation_level=None)
        try:
            switch_to_wal(self._connection)
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.executescript(_SCHEMA)
            _add_columns(self._connection)
            self._connection.executescript(_INDEXES)
            rows = self._connection.execute("SELECT server, tool, digest FROM diagnosed")
            self._diagnosed = {tuple(row) for row in rows}
        except sqlite3.Error as problem:
            self._connection.close()
            raise StoreError(f"{path} cannot be used: {problem}. Remove it: contracts are learnt again.") from problem
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="handfast-catalog")

    def load(self, server: str, source: str) -> list[ToolContract]:
        rows = self._connection.execute(
            "SELECT tool, input_schema, output_schema, annotations, description FROM contracts"
            " WHERE server = ? AND source = ?",
            (server, source),
        )
        return [ToolContract(*row) for row in rows]

    def save(self, server: str, source: str, changes: Sequence[ContractChange]) -> None:
        """Stores changes in the background."""
        self.write(_save_changes, server, source, tuple(changes))

    def memory(self, server: str, source: str) -> "ServerMemory":
        """What one server was found to be, by this process or an earlier one."""
        rows = self._connection.execute(
            "SELECT what, value FROM found WHERE server = ? AND source = ?", (server, source)
        )
        return ServerMemory(dict(rows), lambda what, value: self.write(_save_found, server, source, what, value))

    def is_news(self, server: str, tool: str, digest: str) -> bool:
        """Whether this schema's fault was not reported yet by this or an earlier process; marks it as reported."""
        key = (server, tool, digest)
        if key in self._diagnosed:
            return False
        self._diagnosed.add(key)
        self.write(_save_diagnosed, *key)
        return True

    def write(self, save: Callable[..., None], *what: object) -> "Future[None]":
        """Queues a write, in the order of calls; `save` gets the connection inside a transaction."""
        return self._writer.submit(self._write, save, *what)

    def read(self, find: Callable[..., Found | None], *what: object) -> "Future[Found | None]":
        """Queues a read after all earlier writes."""
        return self._writer.submit(self._read, find, *what)

    def _read(self, find: Callable[..., Found | None], *what: object) -> Found | None:
        try:
            return find(self._connection, *what)
        except sqlite3.Error as problem:
            _log.warning("The catalog could not be read: %s", problem)
            return None

    def _write(self, save: Callable[..., None], *what: object) -> None:
        """Runs on the writer's thread. A failed write must not stop later ones; lost contracts are learnt again."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            save(self._connection, *what)
            self._connection.execute("COMMIT")
        except (sqlite3.Error, UnicodeEncodeError) as problem:
            _log.warning("Contracts could not be kept and will be learnt again: %s", problem)
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._writer.shutdown(wait=True)
        self._connection.close()


class ServerMemory:
    """Facts about one server that cost time to find out: its era, and what it lists to everybody."""

    def __init__(self, found: dict[str, bytes], save: Callable[[str, bytes], object]) -> None:
        self._found = found
        self._save = save

    def get(self, what: str) -> bytes | None:
        return self._found.get(what)

    def keep(self, what: str, value: bytes) -> None:
        if self._found.get(what) != value:
            self._found[what] = value
            self._save(what, value)


def open_catalog(folder: Path, *, goes_on: bool) -> ContractStore:
    """Raises: StoreError, unless the operator would rather go on: then contracts are learnt anew at each start."""
    try:
        return ContractStore(folder)
    except StoreError:
        if not goes_on:
            raise
        return ContractStore(None)


def _add_columns(connection: sqlite3.Connection) -> None:
    """Adds columns that files of earlier versions lack, which kept tasks by their ids alone."""
    connection.execute("BEGIN IMMEDIATE")  # another process may do the same
    if all(name != "named" for _, name, *_ in connection.execute("PRAGMA table_info(tasks)")):
        for column in ("named", "holder"):
            connection.execute(f"ALTER TABLE tasks ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
        connection.execute("UPDATE tasks SET named = key")
    connection.execute("COMMIT")


def _save_changes(connection: sqlite3.Connection, server: str, source: str, changes: Sequence[ContractChange]) -> None:
    for change in changes:
        key = (server, source, change.tool)
        connection.execute("DELETE FROM contracts WHERE server = ? AND source = ? AND tool = ?", key)
        if (now := change.after) is not None:
            values = (*key, now.input_schema, now.output_schema, now.annotations, now.description)
            connection.execute("INSERT INTO contracts VALUES (?, ?, ?, ?, ?, ?, ?)", values)


def _save_found(connection: sqlite3.Connection, server: str, source: str, what: str, value: bytes) -> None:
    connection.execute("INSERT OR REPLACE INTO found VALUES (?, ?, ?, ?)", (server, source, what, value))


def _save_diagnosed(connection: sqlite3.Connection, server: str, tool: str, digest: str) -> None:
    connection.execute("INSERT OR IGNORE INTO diagnosed VALUES (?, ?, ?)", (server, tool, digest))
