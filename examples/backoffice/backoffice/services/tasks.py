"""The rules for tasks: who may get one, and that a finished one stays as it is."""

import sqlite3
from dataclasses import dataclass, replace
from datetime import date

from backoffice.domain.agents import AgentStatus
from backoffice.domain.errors import Conflict, NotFound
from backoffice.domain.tasks import Priority, Task, TaskEvent, TaskStatus
from backoffice.persistence import tasks as task_table
from backoffice.persistence.database import Database
from backoffice.services.agents import existing_agent
from backoffice.services.clock import Now


@dataclass(frozen=True, slots=True)
class TaskChanges:
    """What is to become of a task; what is None stays."""

    title: str | None = None
    notes: str | None = None
    priority: Priority | None = None
    due: date | None = None


class TaskService:
    def __init__(self, db: Database, *, now: Now) -> None:
        self._db = db
        self._now = now

    async def page(
        self, *, status: TaskStatus | None = None, assignee: str | None = None, offset: int, limit: int
    ) -> tuple[list[Task], int]:
        return await self._db.read(
            lambda db: task_table.page(db, status=status, assignee=assignee, offset=offset, limit=limit)
        )

    async def get(self, task_id: int) -> Task:
        """Raises: NotFound."""
        return await self._db.read(lambda db: _existing(db, task_id))

    async def history(self, task_id: int, *, offset: int, limit: int) -> tuple[list[TaskEvent], int]:
        """Raises: NotFound."""

        def look(db: sqlite3.Connection) -> tuple[list[TaskEvent], int]:
            _existing(db, task_id)
            return task_table.events(db, task_id, offset=offset, limit=limit)

        return await self._db.read(look)

    async def create(
        self, *, title: str, notes: str = "", priority: Priority = Priority.NORMAL, due: date | None = None, by: str
    ) -> Task:
        def work(db: sqlite3.Connection) -> Task:
            now = self._now()
            task_id = task_table.insert(db, title=title, notes=notes, priority=priority, due=due, by=by, at=now)
            task_table.add_event(db, task_id, at=now, by=by, what="created")
            return _existing(db, task_id)

        return await self._db.write(work)

    async def update(self, task_id: int, changes: TaskChanges, *, by: str) -> Task:
        """Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Task:
            task = _unfinished(db, task_id)
            changed = replace(
                task,
                title=task.title if changes.title is None else changes.title,
                notes=task.notes if changes.notes is None else changes.notes,
                priority=changes.priority or task.priority,
                due=changes.due or task.due,
            )
            return task if changed == task else self._save(db, changed, by=by, what="updated")

        return await self._db.write(work)

    async def assign(self, task_id: int, agent: str, *, by: str) -> Task:
        """Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Task:
            task = _unfinished(db, task_id)
            if existing_agent(db, agent).status is not AgentStatus.ACTIVE:
                raise Conflict("The agent is not active. Resume it, or assign the task to another one.")
            assigned = replace(task, assignee=agent, status=TaskStatus.IN_PROGRESS)
            return self._save(db, assigned, by=by, what=f"assigned to {agent}")

        return await self._db.write(work)

    async def complete(self, task_id: int, *, by: str) -> Task:
        """Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Task:
            done = replace(_unfinished(db, task_id), status=TaskStatus.DONE, finished_at=self._now())
            return self._save(db, done, by=by, what="completed")

        return await self._db.write(work)

    async def delete(self, task_id: int) -> Task:
        """Answers with the task as it was. Raises: NotFound."""

        def work(db: sqlite3.Connection) -> Task:
            task = _existing(db, task_id)
            task_table.delete(db, task_id)
            return task

        return await self._db.write(work)

    def _save(self, db: sqlite3.Connection, task: Task, *, by: str, what: str) -> Task:
        task_table.save(db, task)
        task_table.add_event(db, task.id, at=self._now(), by=by, what=what)
        return _existing(db, task.id)


def _existing(db: sqlite3.Connection, task_id: int) -> Task:
    task = task_table.find(db, task_id)
    if task is None:
        raise NotFound("task")
    return task


def _unfinished(db: sqlite3.Connection, task_id: int) -> Task:
    task = _existing(db, task_id)
    if task.status is TaskStatus.DONE:
        raise Conflict("The task is done and stays as it is. Create another one for what is left.")
    return task
