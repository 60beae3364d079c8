"""Calls answered with a task, kept on disk with their tools' contracts until their results come."""

import asyncio
import sqlite3
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from handfast.catalog.store import ContractStore
from handfast.core.call.contract import ToolContract

_MOST = 10_000  # of one server, about 400 bytes each; past this the oldest of the caller with the most is dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTask:
    """One call whose result comes later."""

    key: str  # a hash of its id and of the caller or session it was given to
    named: str  # a hash of its id alone
    holder: str  # a hash of the caller's address, whose room it takes
    tool: str
    request_id: str  # of the call, so that its result is recorded under the same one
    actor: str
    contract: ToolContract | None  # as it was when the tool was called
    created: float  # seconds since 1970
    expires: float
    outcome: str = ""  # the recorded outcome of its result; empty until there is one


def task_key(task_id: str, given_to: str = "") -> str:
    """The key of a task: a hash, because an id may be all that is needed to fetch a result, so it must not be on disk.

    Processes of one server may number their tasks alike, so the key includes the caller or session it was given to.
    """
    text = f"{given_to}\0{task_id}" if given_to else task_id
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


class KeptTasks:
    """The tasks of one server. Two servers of one name do not share them, as with contracts."""

    def __init__(self, store: ContractStore, server: str, source: str, *, most: int = _MOST) -> None:
        self._store = store
        self._most = most
        self._server = server
        self._source = source

    async def keep(self, task: KeptTask) -> None:
        """Stores a task; returns once it would be found after a restart."""
        writing = self._store.write(_save, self._server, self._source, task, self._most)
        # A caller that leaves must not cancel the write.
        await asyncio.shield(asyncio.wrap_future(writing))

    async def find(self, key: str, named: str = "") -> KeptTask | None:
        """The task with this key, else the only one with this name, of any caller."""
        return await asyncio.wrap_future(self._store.read(_find, self._server, self._source, key, named))

    def note_outcome(self, key: str, outcome: str) -> None:
        """Stores the recorded outcome in the background."""
        self._store.write(_note_outcome, self._server, self._source, key, outcome)


def _save(connection: sqlite3.Connection, server: str, source: str, task: KeptTask, most: int) -> None:
    promised = task.contract
    fingerprint = promised.fingerprint if promised is not None else ""
    row = (server, source, task.key, task.tool, task.request_id, task.actor, fingerprint)
    connection.execute(
        "INSERT OR REPLACE INTO tasks"
        " (server, source, key, tool, request_id, actor, contract, created, expires, outcome, named, holder)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, task.created, task.expires, task.outcome, task.named, task.holder),
    )
    if promised is not None:
        connection.execute(
            "INSERT OR IGNORE INTO task_contracts VALUES (?, ?, ?, ?)",
            (fingerprint, promised.input_schema, promised.output_schema, promised.annotations),
        )
    _prune(connection, server, source, now=task.created, most=most)


def _prune(connection: sqlite3.Connection, server: str, source: str, *, now: float, most: int) -> None:
    connection.execute("DELETE FROM tasks WHERE expires < ?", (now,))
    of_server = "FROM tasks WHERE server = ? AND source = ?"
    held = dict(connection.execute(f"SELECT holder, COUNT(*) {of_server} GROUP BY holder", (server, source)))
    while sum(held.values()) > most:
        largest = max(held, key=lambda holder: held[holder])
        held[largest] -= 1
        connection.execute(
            f"DELETE {of_server} AND key = (SELECT key {of_server} AND holder = ? ORDER BY created LIMIT 1)",
            (server, source, server, source, largest),
        )
    connection.execute("DELETE FROM task_contracts WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE contract = fingerprint)")


def _find(connection: sqlite3.Connection, server: str, source: str, key: str, named: str) -> KeptTask | None:
    rows = connection.execute(
        "SELECT key, named, holder, tool, request_id, actor, created, expires, outcome,"
        " fingerprint, input_schema, output_schema, annotations"
        " FROM tasks LEFT JOIN task_contracts ON contract = fingerprint"
        " WHERE server = :server AND source = :source AND key IN (SELECT :key UNION"
        " SELECT key FROM tasks WHERE server = :server AND source = :source AND named = :named"
        " AND NOT EXISTS (SELECT 1 FROM tasks WHERE server = :server AND source = :source AND key = :key)) LIMIT 2",
        {"server": server, "source": source, "key": key, "named": named},
    ).fetchall()
    # Among several the right one cannot be known.
    return _task(*rows[0]) if len(rows) == 1 else None


def _task(key: str, named: str, holder: str, *row: Any) -> KeptTask:  # Any: columns of several types
    tool, request_id, actor, created, expires, outcome, fingerprint, *schemas = row
    return KeptTask(
        key=key,
        named=named,
        holder=holder,
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
