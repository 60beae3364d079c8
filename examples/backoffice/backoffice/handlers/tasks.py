"""Tasks, in the explicit form with a model for the arguments: definitions here, handlers there, joined by name."""

from collections.abc import Mapping
from datetime import date
from types import MappingProxyType
from typing import Final

from backoffice.app_state import AppState
from backoffice.domain.tasks import Priority, Task, TaskEvent, TaskStatus
from backoffice.handlers.answering import Arguments, answering, page_of
from backoffice.handlers.fields import ByNumber, Key, Name, Paged, Text
from backoffice.handlers.outputs import list_schema, schema_of
from backoffice.services.tasks import TaskChanges
from handfast.toolkit import (
    Args,
    ToolHandler,
    ToolSpec,
    actor_label,
    admin_tool,
    ok,
    read_tool,
    require_admin_guardrails,
    write_tool,
)


class TasksList(Paged):
    status: TaskStatus | None = None
    """Only tasks in this state."""
    assignee: Key | None = None
    """Only tasks of this agent."""


class TasksCreate(Args):
    title: Name
    """What is to be done."""
    notes: Text = ""
    """Anything worth knowing about it."""
    priority: Priority = Priority.NORMAL
    """How urgent it is."""
    due: date | None = None
    """The last day for it, such as 2027-01-15."""


class TasksUpdate(ByNumber):
    title: Name | None = None
    """What is to be done."""
    notes: Text | None = None
    """Anything worth knowing about it."""
    priority: Priority | None = None
    """How urgent it is."""
    due: date | None = None
    """The last day for it, such as 2027-01-15."""


class TasksAssign(ByNumber):
    agent: Key
    """The id of an active agent."""


class TasksHistory(Paged, ByNumber):
    """What happened to one task."""


_TASK: Final = schema_of(Task)

TASK_TOOLS: Final[tuple[ToolSpec, ...]] = (
    read_tool("tasks_list", "List tasks, oldest first.", args_model=TasksList, output_schema=list_schema(Task)),
    read_tool("tasks_get", "Show one task.", args_model=ByNumber, output_schema=_TASK),
    read_tool(
        "tasks_history",
        "List what happened to a task, oldest first.",
        args_model=TasksHistory,
        output_schema=list_schema(TaskEvent),
    ),
    write_tool("tasks_create", "Create a task that is open.", args_model=TasksCreate, output_schema=_TASK),
    write_tool("tasks_update", "Change a task that is not done.", args_model=TasksUpdate, output_schema=_TASK),
    write_tool(
        "tasks_assign", "Give a task to an active agent, who starts on it.", args_model=TasksAssign, output_schema=_TASK
    ),
    write_tool("tasks_complete", "Say that a task is done.", args_model=ByNumber, output_schema=_TASK),
    admin_tool(
        "tasks_delete",
        "Delete a task and its history for good; answers with the task as it was.",
        args_model=ByNumber,
        output_schema=_TASK,
    ),
)


@answering
async def _tasks_list(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    args = TasksList.model_validate(arguments)
    items, total = await app_state.tasks.page(
        status=args.status, assignee=args.assignee, offset=args.offset, limit=args.limit
    )
    return page_of(items, total, offset=args.offset, limit=args.limit)


@answering
async def _tasks_get(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    return ok(await app_state.tasks.get(arguments["id"]))


@answering
async def _tasks_history(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    args = TasksHistory.model_validate(arguments)
    items, total = await app_state.tasks.history(args.id, offset=args.offset, limit=args.limit)
    return page_of(items, total, offset=args.offset, limit=args.limit)


@answering
async def _tasks_create(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    args = TasksCreate.model_validate(arguments)
    task = await app_state.tasks.create(
        title=args.title, notes=args.notes, priority=args.priority, due=args.due, by=actor_label(actor)
    )
    return ok(task)


@answering
async def _tasks_update(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    args = TasksUpdate.model_validate(arguments)
    changes = TaskChanges(title=args.title, notes=args.notes, priority=args.priority, due=args.due)
    return ok(await app_state.tasks.update(args.id, changes, by=actor_label(actor)))


@answering
async def _tasks_assign(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    args = TasksAssign.model_validate(arguments)
    return ok(await app_state.tasks.assign(args.id, args.agent, by=actor_label(actor)))


@answering
async def _tasks_complete(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    return ok(await app_state.tasks.complete(arguments["id"], by=actor_label(actor)))


@answering
async def _tasks_delete(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
    require_admin_guardrails(arguments, actor)
    return ok(await app_state.tasks.delete(arguments["id"]))


TASK_HANDLERS: Final[Mapping[str, ToolHandler]] = MappingProxyType(
    {
        "tasks_list": _tasks_list,
        "tasks_get": _tasks_get,
        "tasks_history": _tasks_history,
        "tasks_create": _tasks_create,
        "tasks_update": _tasks_update,
        "tasks_assign": _tasks_assign,
        "tasks_complete": _tasks_complete,
        "tasks_delete": _tasks_delete,
    }
)
