"""The database: one SQLite file, and the one thread that speaks to it, so that no query holds up the event loop."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from backoffice.domain.errors import Unavailable

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_BUSY_SECONDS = 5.0  # another process may be writing to the same file
# What may be gone in a moment, or by the hand of an operator. Everything else is a fault of ours and stays one.
_PASSING = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
}


class Database:
    """Runs pieces of work, each in a transaction of its own: all of it happens, or none."""

    def __init__(self, path: Path, tables: Iterable[str]) -> None:
        # One thread: SQLite writes one transaction at a time anyway, and a connection stays with its thread.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="backoffice-database")
        try:
            self._connection = self._thread.submit(_open, path, tuple(tables)).result()
        except BaseException:
            self._thread.shutdown()
            raise

    async def read(self, work: Work[T]) -> T:
        """Look at one state of the database: nothing changes between the queries of one piece of work."""
        return await self._run("BEGIN", work)

    async def write(self, work: Work[T]) -> T:
        """Change the database. What `work` raises undoes what it did. Raises: Unavailable."""
        return await self._run("BEGIN IMMEDIATE", work)

    async def _run(self, begin: str, work: Work[T]) -> T:
        # A caller that is cancelled leaves; its transaction still ends, as a whole.
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._transact, begin, work)

    def _transact(self, begin: str, work: Work[T]) -> T:
        try:
            self._connection.execute(begin)
            try:
                answer = work(self._connection)
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF in _PASSING:  # the low byte is the kind, the rest says more
                raise Unavailable from problem
            raise
        return answer

    def close(self) -> None:
        """Finish what is under way and let go of the file."""
        self._thread.submit(self._connection.close).result()
        self._thread.shutdown()


def _open(path: Path, tables: tuple[str, ...]) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_SECONDS)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")
    for statement in tables:
        connection.executescript(statement)
    return connection
