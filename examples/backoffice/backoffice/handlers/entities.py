"""Ten tools for every described entity, in the explicit form; each does real work on a table of its own."""

from collections.abc import Iterable, Iterator, Mapping

from backoffice.app_state import AppState
from backoffice.domain.entities import Entity, EntityCount, EntityEvent, Operation, Row
from backoffice.handlers.answering import Arguments, Handler, answering, page_of
from backoffice.handlers.entity_models import create_arguments, row_model, update_arguments
from backoffice.handlers.fields import ByNumber, Name, Paged
from backoffice.handlers.outputs import list_schema, schema_of
from backoffice.services.entities import EntityService
from handfast.toolkit import (
    ToolHandler,
    ToolSpec,
    actor_label,
    admin_tool,
    build_handler_map,
    ok,
    read_tool,
    require_actor_id,
    require_admin_guardrails,
    write_tool,
)


class EntityList(Paged):
    archived: bool = False
    """The ones that were archived, instead of the others."""


class EntitySearch(Paged):
    words: Name
    """Words that a row must hold, in one piece."""


class EntityHistory(Paged, ByNumber):
    """What happened to one row."""


def tool_name(entity: Entity, operation: Operation) -> str:
    return f"{entity.table}_{operation}"


class EntityTools:
    """The definitions of one entity's tools, and their handlers."""

    def __init__(self, entity: Entity) -> None:
        self._entity = entity

    def definitions(self) -> tuple[ToolSpec, ...]:
        return (*self._that_look(), *self._that_change(), self._that_destroys())

    def handlers(self) -> dict[str, ToolHandler]:
        own: dict[Operation, Handler] = {
            Operation.LIST: self._list,
            Operation.GET: self._get,
            Operation.SEARCH: self._search,
            Operation.COUNT: self._count,
            Operation.HISTORY: self._history,
            Operation.CREATE: self._create,
            Operation.UPDATE: self._update,
            Operation.ARCHIVE: self._archive,
            Operation.RESTORE: self._restore,
            Operation.PURGE: self._purge,
        }
        names = {operation: tool_name(self._entity, operation) for operation in own}
        return {names[operation]: answering(handler, tool=names[operation]) for operation, handler in own.items()}

    def _name(self, operation: Operation) -> str:
        return tool_name(self._entity, operation)

    def _that_look(self) -> Iterator[ToolSpec]:
        one, many = self._entity.singular, self._entity.plural
        row, rows = schema_of(row_model(self._entity)), list_schema(row_model(self._entity))
        about = f"List the {many}, oldest first. {self._entity.description}"
        yield read_tool(self._name(Operation.LIST), about, args_model=EntityList, output_schema=rows)
        yield read_tool(self._name(Operation.GET), f"Show one {one}.", args_model=ByNumber, output_schema=row)
        about = f"Find {many} that hold the given words."
        yield read_tool(self._name(Operation.SEARCH), about, args_model=EntitySearch, output_schema=rows)
        yield read_tool(self._name(Operation.COUNT), f"Count the {many}.", output_schema=schema_of(EntityCount))
        about, events = f"List what happened to one {one}, oldest first.", list_schema(EntityEvent)
        yield read_tool(self._name(Operation.HISTORY), about, args_model=EntityHistory, output_schema=events)

    def _that_change(self) -> Iterator[ToolSpec]:
        one, row = self._entity.singular, schema_of(row_model(self._entity))
        new, changed = create_arguments(self._entity), update_arguments(self._entity)
        yield write_tool(self._name(Operation.CREATE), f"Create one {one}.", args_model=new, output_schema=row)
        about = f"Change one {one}; what is left out stays as it is."
        yield write_tool(self._name(Operation.UPDATE), about, args_model=changed, output_schema=row)
        about = f"Put one {one} away; it can be restored."
        yield write_tool(self._name(Operation.ARCHIVE), about, args_model=ByNumber, output_schema=row)
        about = f"Bring one {one} back out of the archive."
        yield write_tool(self._name(Operation.RESTORE), about, args_model=ByNumber, output_schema=row)

    def _that_destroys(self) -> ToolSpec:
        return admin_tool(
            self._name(Operation.PURGE),
            f"Delete one archived {self._entity.singular} for good; its history stays.",
            args_model=ByNumber,
            output_schema=schema_of(row_model(self._entity)),
            handler=self._purge,  # named here as well, so that handfast lint sees what it asks first
        )

    def _service(self, app_state: AppState) -> EntityService:
        return app_state.entities[self._entity.table]

    async def _list(self, *, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
        args = EntityList.model_validate(arguments)
        items, total = await self._service(app_state).page(archived=args.archived, offset=args.offset, limit=args.limit)
        return page_of(items, total, offset=args.offset, limit=args.limit)

    async def _get(self, *, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
        return ok(await self._service(app_state).get(arguments["id"]))

    async def _search(self, *, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
        args = EntitySearch.model_validate(arguments)
        items, total = await self._service(app_state).search(args.words, offset=args.offset, limit=args.limit)
        return page_of(items, total, offset=args.offset, limit=args.limit)

    async def _count(self, *, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
        return ok(await self._service(app_state).count())

    async def _history(self, *, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
        args = EntityHistory.model_validate(arguments)
        items, total = await self._service(app_state).history(args.id, offset=args.offset, limit=args.limit)
        return page_of(items, total, offset=args.offset, limit=args.limit)

    async def _create(self, *, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
        return ok(await self._service(app_state).create(arguments, by=actor_label(actor)))

    async def _update(self, *, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
        changes: Row = {name: arguments[name] for name in self._entity.columns if arguments.get(name) is not None}
        row = await self._service(app_state).update(
            arguments["id"], changes, revision=arguments.get("revision"), by=actor_label(actor)
        )
        return ok(row)

    async def _archive(self, *, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
        return ok(await self._service(app_state).archive(arguments["id"], by=actor_label(actor)))

    async def _restore(self, *, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
        return ok(await self._service(app_state).restore(arguments["id"], by=actor_label(actor)))

    async def _purge(self, *, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
        require_admin_guardrails(arguments, actor)
        return ok(await self._service(app_state).purge(arguments["id"], by=require_actor_id(actor)))


def definitions_of(entities: Iterable[Entity]) -> list[ToolSpec]:
    return [spec for entity in entities for spec in EntityTools(entity).definitions()]


def handlers_of(entities: Iterable[Entity]) -> Mapping[str, ToolHandler]:
    """The handlers of several entities, read-only."""
    return build_handler_map(*(EntityTools(entity).handlers() for entity in entities))
