"""Tokens and the keys that sign them, in `access.db` of the state folder. The text of a token is never kept."""

import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from handfast.activity.sqlite_file import switch_to_wal
from handfast.activity.state_folder import prepare_database
from handfast.activity.store import StoreError

FILE_NAME: Final = "access.db"
_FORMAT: Final = 1
_BUSY_SECONDS: Final = 10.0
_DAY: Final = 86_400.0
# A key is used for new tokens this long, and verifies those it has signed until they end.
KEY_DAYS: Final = 90
# Ended tokens are shown this long, so that a list answers what became of one.
_SHOWN_DAYS: Final = 90

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS gateway (only INTEGER PRIMARY KEY CHECK (only = 1), audience TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS keys (
    id TEXT PRIMARY KEY, seed BLOB NOT NULL, public BLOB NOT NULL, created REAL NOT NULL, retired REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tokens (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, subject TEXT NOT NULL, scopes TEXT NOT NULL, groups TEXT NOT NULL,
    key TEXT NOT NULL, created REAL NOT NULL, expires REAL NOT NULL, revoked REAL
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEntry:
    """What is kept of a token: all but its text."""

    id: str
    name: str  # the operator's; of tokens that are in force each has another
    subject: str
    scopes: str  # separated by blanks
    groups: str  # separated by blanks
    key: str = ""
    created: float
    expires: float
    revoked: float | None = None

    def state(self, now: float) -> str:
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires <= now else "active"


@dataclass(frozen=True, slots=True)
class SigningKey:
    id: str
    seed: bytes  # 32 bytes, private


class TokenStore:
    """Opens the file at each use, because commands are short and the gateway reads only what has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is kept if the block ends well. Raises: StoreError."""
        path = self._folder / FILE_NAME
        try:
            prepare_database(self._folder, FILE_NAME)
            with closing(connect(path)) as connection:
                switch_to_wal(connection)
                connection.execute("BEGIN IMMEDIATE")
                try:
                    _prepare_tables(connection, path)
                    yield connection
                except BaseException:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else str(problem)
            raise StoreError(f"{path} cannot be used: {why}. Check who owns it and the disk.") from problem

    def audience(self) -> str:
        """The name of this gateway in its tokens; another state folder has another."""
        with self._changing() as connection:
            return str(connection.execute("SELECT audience FROM gateway").fetchone()[0])

    def replace_key(self, now: float) -> SigningKey:
        """Makes another key for new tokens. Tokens of the old keys hold until they end."""
        with self._changing() as connection:
            return _make_key(connection, now)

    def add(self, entry: TokenEntry, now: float) -> SigningKey | None:
        """Keeps a new token and returns the key that is to sign it; None if a token of its name is in force.

        The key is made on first use, and again when the last one is old.
        """
        with self._changing() as connection:
            connection.execute("DELETE FROM tokens WHERE expires < ?", (now - _SHOWN_DAYS * _DAY,))
            if _find(connection, entry.name, now) is not None:
                return None
            key = _current_key(connection, now) or _make_key(connection, now)
            values = (*astuple(entry)[:5], key.id, *astuple(entry)[6:])
            connection.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
            return key

    def entries(self) -> list[TokenEntry]:
        """All tokens, the newest first."""
        with self._changing() as connection:
            return read_entries(connection)

    def revoke(self, name: str, now: float) -> TokenEntry | None:
        """Ends the token of this name or id; returns it, or None if there is none in force."""
        with self._changing() as connection:
            found = _find(connection, name, now)
            if found is not None:
                connection.execute("UPDATE tokens SET revoked = ? WHERE id = ?", (now, found.id))
            return found

    def restore(self, token: str) -> None:
        """Puts a token in force again that was revoked a moment ago, because nothing could take its place."""
        with self._changing() as connection:
            connection.execute("UPDATE tokens SET revoked = NULL WHERE id = ?", (token,))

    def revoke_all(self, subject: str, now: float) -> list[TokenEntry]:
        """Ends all tokens of a subject; returns those that were in force."""
        with self._changing() as connection:
            ended = [one for one in read_entries(connection) if one.subject == subject and one.state(now) == "active"]
            connection.executemany("UPDATE tokens SET revoked = ? WHERE id = ?", [(now, one.id) for one in ended])
            return ended


def connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def check_version(connection: sqlite3.Connection, path: Path) -> int:
    """The format of the file; 0 where it is new. Raises: StoreError."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > _FORMAT:
        raise StoreError(f"{path} was written by a newer handfast; upgrade handfast.")
    return version


def _prepare_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Makes what is missing. Raises: StoreError if a newer handfast wrote the file."""
    if check_version(connection, path) < _FORMAT:
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute("INSERT OR IGNORE INTO gateway VALUES (1, ?)", (f"handfast:{secrets.token_hex(8)}",))
        connection.execute(f"PRAGMA user_version = {_FORMAT}")


def read_keys(connection: sqlite3.Connection) -> Mapping[str, bytes]:
    """The public part of each key that may have signed a token in force."""
    return dict(connection.execute("SELECT id, public FROM keys WHERE id IN (SELECT key FROM tokens)"))


def read_entries(connection: sqlite3.Connection) -> list[TokenEntry]:
    names = [field.name for field in fields(TokenEntry)]
    rows = connection.execute(f"SELECT {', '.join(names)} FROM tokens ORDER BY created DESC, id")  # noqa: S608 - ours
    return [TokenEntry(**dict(zip(names, row, strict=True))) for row in rows]


def _find(connection: sqlite3.Connection, name: str, now: float) -> TokenEntry | None:
    in_force = [one for one in read_entries(connection) if one.state(now) == "active"]
    return next((one for one in in_force if name in (one.id, one.name)), None)


def _current_key(connection: sqlite3.Connection, now: float) -> SigningKey | None:
    row = connection.execute(
        "SELECT id, seed FROM keys WHERE retired IS NULL AND created > ? ORDER BY created DESC",
        (now - KEY_DAYS * _DAY,),
    ).fetchone()
    return None if row is None else SigningKey(*row)


def _make_key(connection: sqlite3.Connection, now: float) -> SigningKey:
    connection.execute("UPDATE keys SET retired = ? WHERE retired IS NULL", (now,))
    connection.execute("DELETE FROM keys WHERE id NOT IN (SELECT key FROM tokens WHERE expires > ?)", (now,))
    key = SigningKey(secrets.token_hex(8), secrets.token_bytes(32))
    public = Ed25519PrivateKey.from_private_bytes(key.seed).public_key().public_bytes_raw()
    connection.execute("INSERT INTO keys VALUES (?, ?, ?, ?, NULL)", (key.id, key.seed, public, now))
    return key
