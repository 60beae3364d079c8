"""Tasks: what is to be done, by whom, and what became of it."""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum


class TaskStatus(StrEnum):
    OPEN = "open"
    IN_PROGRESS = "in_progress"
    DONE = "done"


class Priority(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Task:
    id: int
    title: str
    notes: str
    status: TaskStatus
    priority: Priority
    assignee: str | None
    due: date | None
    created_by: str
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """One thing that happened to a task."""

    at: datetime
    by: str
    what: str
