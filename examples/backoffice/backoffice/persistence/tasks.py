"""The tables of tasks and of what happened to them."""

import sqlite3
from datetime import date, datetime

from backoffice.domain.tasks import Priority, Task, TaskEvent, TaskStatus
from backoffice.persistence.columns import moment_text, read_moment, read_optional_date, read_optional_moment
from backoffice.persistence.pages import read_page

TABLES = """
CREATE TABLE IF NOT EXISTS tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- a number is never given out twice
    title TEXT NOT NULL,
    notes TEXT NOT NULL,
    status TEXT NOT NULL,
    priority TEXT NOT NULL,
    assignee TEXT REFERENCES agents (id),
    due TEXT,
    created_by TEXT NOT NULL,
    created_at TEXT NOT NULL,
    finished_at TEXT
);
CREATE INDEX IF NOT EXISTS tasks_by_assignee ON tasks (assignee, status);
CREATE TABLE IF NOT EXISTS task_events (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    at TEXT NOT NULL,
    by TEXT NOT NULL,
    what TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS task_events_by_task ON task_events (task_id);
"""

_PAGE = """
SELECT * FROM tasks
WHERE (:status IS NULL OR status = :status) AND (:assignee IS NULL OR assignee = :assignee)
ORDER BY id
"""


def page(
    db: sqlite3.Connection, *, status: TaskStatus | None, assignee: str | None, offset: int, limit: int
) -> tuple[list[Task], int]:
    values = {"status": status, "assignee": assignee}
    return read_page(db, _PAGE, values, offset=offset, limit=limit, read=_task)


def find(db: sqlite3.Connection, task_id: int) -> Task | None:
    row = db.execute("SELECT * FROM tasks WHERE id = ?", (task_id,)).fetchone()
    return None if row is None else _task(row)


def insert(
    db: sqlite3.Connection, *, title: str, notes: str, priority: Priority, due: date | None, by: str, at: datetime
) -> int:
    cursor = db.execute(
        "INSERT INTO tasks (title, notes, status, priority, due, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (title, notes, TaskStatus.OPEN, priority, due.isoformat() if due else None, by, moment_text(at)),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def save(db: sqlite3.Connection, task: Task) -> None:
    db.execute(
        "UPDATE tasks SET title = ?, notes = ?, status = ?, priority = ?, assignee = ?, due = ?, finished_at = ?"
        " WHERE id = ?",
        (
            task.title,
            task.notes,
            task.status,
            task.priority,
            task.assignee,
            task.due.isoformat() if task.due else None,
            moment_text(task.finished_at) if task.finished_at else None,
            task.id,
        ),
    )


def delete(db: sqlite3.Connection, task_id: int) -> None:
    db.execute("DELETE FROM tasks WHERE id = ?", (task_id,))


def add_event(db: sqlite3.Connection, task_id: int, *, at: datetime, by: str, what: str) -> None:
    db.execute(
        "INSERT INTO task_events (task_id, at, by, what) VALUES (?, ?, ?, ?)", (task_id, moment_text(at), by, what)
    )


def events(db: sqlite3.Connection, task_id: int, *, offset: int, limit: int) -> tuple[list[TaskEvent], int]:
    query = "SELECT * FROM task_events WHERE task_id = :task_id ORDER BY id"
    return read_page(db, query, {"task_id": task_id}, offset=offset, limit=limit, read=_event)


def count_by_status(db: sqlite3.Connection, assignee: str) -> dict[TaskStatus, int]:
    rows = db.execute("SELECT status, count(*) AS n FROM tasks WHERE assignee = ? GROUP BY status", (assignee,))
    return {TaskStatus(row["status"]): row["n"] for row in rows}


def _task(row: sqlite3.Row) -> Task:
    return Task(
        id=row["id"],
        title=row["title"],
        notes=row["notes"],
        status=TaskStatus(row["status"]),
        priority=Priority(row["priority"]),
        assignee=row["assignee"],
        due=read_optional_date(row, "due"),
        created_by=row["created_by"],
        created_at=read_moment(row, "created_at"),
        finished_at=read_optional_moment(row, "finished_at"),
    )


def _event(row: sqlite3.Row) -> TaskEvent:
    return TaskEvent(at=read_moment(row, "at"), by=row["by"], what=row["what"])
