"""The tables of accounts and of their ledger. A balance is what the ledger adds up to, and is stored nowhere else."""

import sqlite3
from datetime import datetime

from backoffice.domain.budget import Account, Entry, EntryKind, Summary
from backoffice.persistence.columns import moment_text, read_moment
from backoffice.persistence.pages import read_page

TABLES = """
CREATE TABLE IF NOT EXISTS accounts (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    is_closed INTEGER NOT NULL DEFAULT 0,
    opened_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS ledger (
    id INTEGER PRIMARY KEY,
    account TEXT NOT NULL REFERENCES accounts (id),
    kind TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    purpose TEXT NOT NULL,
    by TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS ledger_by_account ON ledger (account, at);
"""

_ACCOUNTS = """
SELECT accounts.*, coalesce((SELECT sum(amount_cents) FROM ledger WHERE account = accounts.id), 0) AS balance_cents
FROM accounts
"""
_ENTRIES = """
SELECT * FROM ledger
WHERE account = :account AND at >= :since AND at < :until
ORDER BY id
"""
_SUMMARY = """
SELECT count(*) AS entries,
    coalesce(-sum(min(amount_cents, 0)), 0) AS spent_cents,
    coalesce(sum(max(amount_cents, 0)), 0) AS received_cents
FROM ledger
WHERE account = :account AND at >= :since AND at < :until
"""


def page(db: sqlite3.Connection, *, offset: int, limit: int) -> tuple[list[Account], int]:
    return read_page(db, f"{_ACCOUNTS} ORDER BY id", {}, offset=offset, limit=limit, read=_account)


def find(db: sqlite3.Connection, account_id: str) -> Account | None:
    row = db.execute(f"{_ACCOUNTS} WHERE id = ?", (account_id,)).fetchone()
    return None if row is None else _account(row)


def insert(db: sqlite3.Connection, account_id: str, *, title: str, at: datetime) -> None:
    db.execute("INSERT INTO accounts (id, title, opened_at) VALUES (?, ?, ?)", (account_id, title, moment_text(at)))


def close(db: sqlite3.Connection, account_id: str) -> None:
    db.execute("UPDATE accounts SET is_closed = 1 WHERE id = ?", (account_id,))


def book(
    db: sqlite3.Connection, account_id: str, *, kind: EntryKind, amount_cents: int, purpose: str, by: str, at: datetime
) -> Entry:
    cursor = db.execute(
        "INSERT INTO ledger (account, kind, amount_cents, purpose, by, at) VALUES (?, ?, ?, ?, ?, ?) RETURNING *",
        (account_id, kind, amount_cents, purpose, by, moment_text(at)),
    )
    return _entry(cursor.fetchone())


def entries(
    db: sqlite3.Connection, account_id: str, *, since: datetime, until: datetime, offset: int, limit: int
) -> tuple[list[Entry], int]:
    values = _window(account_id, since, until)
    return read_page(db, _ENTRIES, values, offset=offset, limit=limit, read=_entry)


def summary(db: sqlite3.Connection, account_id: str, *, since: datetime, until: datetime) -> Summary:
    row = db.execute(_SUMMARY, _window(account_id, since, until)).fetchone()
    return Summary(account_id, since, until, row["entries"], row["spent_cents"], row["received_cents"])


def _window(account_id: str, since: datetime, until: datetime) -> dict[str, str]:
    return {"account": account_id, "since": moment_text(since), "until": moment_text(until)}


def _account(row: sqlite3.Row) -> Account:
    return Account(
        id=row["id"],
        title=row["title"],
        balance_cents=row["balance_cents"],
        is_closed=bool(row["is_closed"]),
        opened_at=read_moment(row, "opened_at"),
    )


def _entry(row: sqlite3.Row) -> Entry:
    return Entry(
        id=row["id"],
        account=row["account"],
        kind=EntryKind(row["kind"]),
        amount_cents=row["amount_cents"],
        purpose=row["purpose"],
        by=row["by"],
        at=read_moment(row, "at"),
    )
