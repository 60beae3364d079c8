"""The table of approvals."""

import sqlite3
from datetime import datetime

from backoffice.domain.approvals import Approval, ApprovalStatus
from backoffice.persistence.columns import moment_text, read_moment, read_optional_moment
from backoffice.persistence.pages import read_page

TABLES = """
CREATE TABLE IF NOT EXISTS approvals (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- a number is never given out twice
    title TEXT NOT NULL,
    account TEXT NOT NULL REFERENCES accounts (id),
    amount_cents INTEGER NOT NULL,
    status TEXT NOT NULL,
    requested_by TEXT NOT NULL,
    requested_at TEXT NOT NULL,
    decided_by TEXT,
    decided_at TEXT,
    comment TEXT NOT NULL DEFAULT ''
);
"""

_PAGE = "SELECT * FROM approvals WHERE (:status IS NULL OR status = :status) ORDER BY id"


def page(
    db: sqlite3.Connection, *, status: ApprovalStatus | None, offset: int, limit: int
) -> tuple[list[Approval], int]:
    return read_page(db, _PAGE, {"status": status}, offset=offset, limit=limit, read=_approval)


def find(db: sqlite3.Connection, approval_id: int) -> Approval | None:
    row = db.execute("SELECT * FROM approvals WHERE id = ?", (approval_id,)).fetchone()
    return None if row is None else _approval(row)


def insert(db: sqlite3.Connection, *, title: str, account: str, amount_cents: int, by: str, at: datetime) -> Approval:
    cursor = db.execute(
        "INSERT INTO approvals (title, account, amount_cents, status, requested_by, requested_at)"
        " VALUES (?, ?, ?, ?, ?, ?) RETURNING *",
        (title, account, amount_cents, ApprovalStatus.PENDING, by, moment_text(at)),
    )
    return _approval(cursor.fetchone())


def decide(
    db: sqlite3.Connection, approval_id: int, *, status: ApprovalStatus, by: str, at: datetime, comment: str
) -> Approval:
    cursor = db.execute(
        "UPDATE approvals SET status = ?, decided_by = ?, decided_at = ?, comment = ? WHERE id = ? RETURNING *",
        (status, by, moment_text(at), comment, approval_id),
    )
    return _approval(cursor.fetchone())


def delete(db: sqlite3.Connection, approval_id: int) -> None:
    db.execute("DELETE FROM approvals WHERE id = ?", (approval_id,))


def count_pending(db: sqlite3.Connection, account: str) -> int:
    query = "SELECT count(*) FROM approvals WHERE account = ? AND status = ?"
    count: int = db.execute(query, (account, ApprovalStatus.PENDING)).fetchone()[0]
    return count


def _approval(row: sqlite3.Row) -> Approval:
    return Approval(
        id=row["id"],
        title=row["title"],
        account=row["account"],
        amount_cents=row["amount_cents"],
        status=ApprovalStatus(row["status"]),
        requested_by=row["requested_by"],
        requested_at=read_moment(row, "requested_at"),
        decided_by=row["decided_by"],
        decided_at=read_optional_moment(row, "decided_at"),
        comment=row["comment"],
    )
