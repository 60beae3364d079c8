"""Calls that were answered with a task, kept on disk until their results have come, with what their tools promised."""

import asyncio
import sqlite3
from dataclasses import dataclass
from hashlib import sha256

from handfast.catalog.store import ContractStore
from handfast.core.contract import ToolContract

_MOST = 10_000  # of one server; each takes about 300 bytes, and the oldest make way


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTask:
    """One call whose result comes later."""

    key: str
    tool: str
    request_id: str  # of the call, so that its result is recorded under the same one
    actor: str
    contract: ToolContract | None  # as it was when the tool was called
    created: float  # seconds since 1970
    expires: float
    outcome: str = ""  # what is on record about its result; empty as long as nothing is


def task_key(task_id: str) -> str:
    """What a task is kept under: an id may be all that is needed to fetch a result, so ids themselves stay off disk."""
    return sha256(task_id.encode(errors="surrogatepass")).hexdigest()


class KeptTasks:
    """The tasks of one server. Two servers of one name never share, as with contracts."""

    def __init__(self, store: ContractStore, server: str, source: str, *, most: int = _MOST) -> None:
        self._store = store
        self._most = most
        self._server = server
        self._source = source

    async def keep(self, task: KeptTask) -> None:
        """Return once it would be found after a restart."""
        writing = self._store.write(_save, self._server, self._source, task, self._most)
        # A caller that leaves must not take the write along.
        await asyncio.shield(asyncio.wrap_future(writing))

    async def find(self, key: str) -> KeptTask | None:
        return await asyncio.wrap_future(self._store.read(_find, self._server, self._source, key))

    def note_outcome(self, key: str, outcome: str) -> None:
        """Remember what was recorded, behind the caller's back."""
        self._store.write(_note_outcome, self._server, self._source, key, outcome)


def _save(connection: sqlite3.Connection, server: str, source: str, task: KeptTask, most: int) -> None:
    promised = task.contract
    fingerprint = promised.fingerprint if promised is not None else ""
    row = (server, source, task.key, task.tool, task.request_id, task.actor, fingerprint)
    connection.execute(
        "INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, task.created, task.expires, task.outcome),
    )
    if promised is not None:
        connection.execute(
            "INSERT OR IGNORE INTO task_contracts VALUES (?, ?, ?, ?)",
            (fingerprint, promised.input_schema, promised.output_schema, promised.annotations),
        )
    _prune(connection, server, source, now=task.created, most=most)


def _prune(connection: sqlite3.Connection, server: str, source: str, *, now: float, most: int) -> None:
    connection.execute("DELETE FROM tasks WHERE expires < ?", (now,))
    connection.execute(
        "DELETE FROM tasks WHERE server = ? AND source = ? AND key IN"
        " (SELECT key FROM tasks WHERE server = ? AND source = ? ORDER BY created DESC LIMIT -1 OFFSET ?)",
        (server, source, server, source, most),
    )
    connection.execute("DELETE FROM task_contracts WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE contract = fingerprint)")


def _find(connection: sqlite3.Connection, server: str, source: str, key: str) -> KeptTask | None:
    row = connection.execute(
        "SELECT tool, request_id, actor, created, expires, outcome,"
        " fingerprint, input_schema, output_schema, annotations"
        " FROM tasks LEFT JOIN task_contracts ON contract = fingerprint WHERE server = ? AND source = ? AND key = ?",
        (server, source, key),
    ).fetchone()
    if row is None:
        return None
    tool, request_id, actor, created, expires, outcome, fingerprint, *schemas = row
    return KeptTask(
        key=key,
        tool=tool,
        request_id=request_id,
        actor=actor,
        contract=None if fingerprint is None else ToolContract(tool, *schemas),
        created=created,
        expires=expires,
        outcome=outcome,
    )


def _note_outcome(connection: sqlite3.Connection, server: str, source: str, key: str, outcome: str) -> None:
    connection.execute(
        "UPDATE tasks SET outcome = ? WHERE server = ? AND source = ? AND key = ?", (outcome, server, source, key)
    )
