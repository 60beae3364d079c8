"""Opening activity.db: created by the first process, private to its owner, refused if its format is newer."""

import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from handfast.activity.chain import GENESIS
from handfast.activity.state_folder import check_folder, check_readable, prepare_database
from handfast.activity.store import StoreError, StoreMissing

FILE_NAME = "activity.db"
SCHEMA_VERSION = 2
BESIDE = ("-wal", "-shm")  # what SQLite keeps beside the file while it is open
_APPLICATION_ID = 0x68666173  # "hfas": identifies the database to file(1) and to handfast
# Commits take milliseconds, so this only ends a wait for a process that hangs; the recorder then tries again.
_BUSY_SECONDS = 10.0

# Since format 2: stretches from which retention removed records. `last` and `first` are sequences, and `hashes` those
# of the removed records, until retention removes them as well.
_REMOVED = (
    "CREATE TABLE IF NOT EXISTS removed"
    " (last INTEGER PRIMARY KEY, first INTEGER NOT NULL, last_hash TEXT NOT NULL, hashes BLOB)"
)
_SCHEMA = f"""
CREATE TABLE records (
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL, time TEXT NOT NULL, type TEXT NOT NULL, status TEXT NOT NULL,
  server TEXT NOT NULL, tool TEXT NOT NULL, rule TEXT, request_id TEXT, payload TEXT NOT NULL, hash TEXT NOT NULL);
CREATE INDEX records_id ON records (id);
CREATE INDEX records_time ON records (time);
CREATE INDEX records_type ON records (type);
CREATE INDEX records_status ON records (status);
CREATE INDEX records_tool ON records (server, tool);
CREATE INDEX records_rule ON records (rule) WHERE rule IS NOT NULL;
CREATE INDEX records_request ON records (request_id) WHERE request_id IS NOT NULL;
CREATE TABLE head (only INTEGER PRIMARY KEY CHECK (only = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL);
INSERT INTO head VALUES (1, 0, '{GENESIS}');
CREATE TABLE secret (only INTEGER PRIMARY KEY CHECK (only = 1), digest_key BLOB NOT NULL);
{_REMOVED};
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""  # noqa: S608 - only our own constants

# SQLite's error codes, each with its meaning for the operator and what to do.
_EXPLAINED = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_NOTADB: "it is not a database; move it aside to start a new one",
    sqlite3.SQLITE_CORRUPT: "it is damaged; move it aside to start a new one, and keep it for inspection",
    sqlite3.SQLITE_BUSY: "another process holds it; stop that process if it hangs",
    sqlite3.SQLITE_READONLY: "it may not be written; check who owns it and its mode",
    sqlite3.SQLITE_PERM: "access was denied; check who owns it and its mode",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; check that the state folder exists and is yours",
    sqlite3.SQLITE_IOERR: "the disk reported an error; check the disk",
}


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns errors of SQLite and the system into one clear line. Raises: StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)  # absent if the Python module raised the error
        cause = _EXPLAINED.get(code & 0xFF) if isinstance(code, int) else None
        raise StoreError(f"The activity store {path} failed: {cause or error}.") from error
    except OSError as error:
        raise StoreError(f"The activity store {path} failed: {error.strerror or error}.") from error


def open_for_writing(folder: Path) -> sqlite3.Connection:
    """Opens the store, and creates folder and file on first use. Raises: StoreError."""
    path = folder / FILE_NAME
    with explained(path):
        # Created here because SQLite would make it readable for all users; its -wal and -shm get the same mode.
        prepare_database(folder, FILE_NAME)
        _check_log(path)
        connection = _connect(f"{path.absolute().as_uri()}?mode=rw")
        return _prepared(connection, path)


def open_for_reading(folder: Path) -> sqlite3.Connection:
    """Opens an existing store without changing it. Raises: StoreMissing, StoreError."""
    path = folder / FILE_NAME
    with explained(path):
        if not _is_present(path):
            check_folder(folder)
            raise StoreMissing(f"There is no activity store in {folder} yet.")
        check_readable(path)
        _check_log(path)
        connection = _connect(f"{path.absolute().as_uri()}?mode=ro")
        try:
            if _version(connection, path) == 0:
                raise StoreMissing(f"There is no activity store in {folder} yet.", empty_file=path)
        except BaseException:
            connection.close()
            raise
        return connection


def _check_log(path: Path) -> None:
    """Refuses an empty file beside a log, which SQLite would discard with what is left of the history."""
    log = Path(f"{path}{BESIDE[0]}")
    if log.exists() and log.stat().st_size and not path.stat().st_size:
        raise StoreError(
            f"The activity store {path} is empty beside its log {log.name}, which a history never is;"
            " move both aside to start a new one, and keep them for inspection."
        )


def _is_present(path: Path) -> bool:
    """Whether the file exists. Unlike Path.exists it raises an error if the folder may not be read."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _connect(uri: str) -> sqlite3.Connection:
    # One thread at a time uses a connection, but not always the one that opened it.
    return sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _prepared(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only takes effect before the first table is created
        switch_to_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")
        if _version(connection, path) < SCHEMA_VERSION:
            _create_or_upgrade(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switches to WAL. Waits itself, as SQLite ignores its busy timeout if two processes switch a new file at once."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if owner not in (0, _APPLICATION_ID):
        raise StoreError(f"{path} belongs to another program; choose another state folder.")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"The activity store {path} was written by a newer handfast (format {version}, this one reads up to"
            f" {SCHEMA_VERSION}); upgrade handfast."
        )
    if version <= 0 and connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise StoreError(
            f"The activity store {path} is damaged: it holds tables but no format of a history;"
            " move it aside to start a new one, and keep it for inspection."
        )
    return version


def _create_or_upgrade(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while this one waited for the lock.
        version = _version(connection, path)
        if version == 1:
            connection.execute(_REMOVED)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif version == 0:
            for statement in _SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute("INSERT INTO secret VALUES (1, ?)", (secrets.token_bytes(32),))
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
