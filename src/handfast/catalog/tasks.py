"""Calls that were answered with a task, kept on disk until their results have come, with what their tools promised."""

import asyncio
import sqlite3
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from handfast.catalog.store import ContractStore
from handfast.core.call.contract import ToolContract

_MOST = 10_000  # of one server; each takes about 400 bytes, and the oldest of the caller with the most make way


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptTask:
    """One call whose result comes later."""

    key: str  # its id, as its caller knows it
    named: str  # its id alone
    holder: str  # whose room it takes
    tool: str
    request_id: str  # of the call, so that its result is recorded under the same one
    actor: str
    contract: ToolContract | None  # as it was when the tool was called
    created: float  # seconds since 1970
    expires: float
    outcome: str = ""  # what is on record about its result; empty as long as nothing is


def task_key(task_id: str, given_to: str = "") -> str:
    """What a task is kept under: an id may be all that is needed to fetch a result, so ids themselves stay off disk.

    Each process of a server may count its tasks, so an id says little without the caller or session it was given to.
    """
    text = f"{given_to}\0{task_id}" if given_to else task_id
    return sha256(text.encode(errors="surrogatepass")).hexdigest()


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

    async def find(self, key: str, named: str = "") -> KeptTask | None:
        """The task of this key, else the only one of this name, of any caller."""
        return await asyncio.wrap_future(self._store.read(_find, self._server, self._source, key, named))

    def note_outcome(self, key: str, outcome: str) -> None:
        """Remember what was recorded, behind the caller's back."""
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
    # Which of several is meant cannot be known.
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
