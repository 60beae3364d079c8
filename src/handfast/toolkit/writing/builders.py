"""The explicit form: `read_tool`, `write_tool`, `admin_tool`, and handlers `(*, app_state, arguments, actor=None)`."""

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol

from pydantic import BaseModel

from handfast.core.call import rules
from handfast.core.call.guardrails import GUARDRAIL_PROPERTIES
from handfast.core.call.policy import Violation
from handfast.tool_call import UnusableResult
from handfast.toolkit.writing.call import Call, NoArgs
from handfast.toolkit.writing.reply import Reply, ToolResult
from handfast.toolkit.writing.schemas import ContractError, Json, input_schema_of, require_movable
from handfast.toolkit.writing.spec import Kind, Run, ToolSpec
from handfast.toolkit.writing.status_envelope import not_supported
from handfast.toolkit.writing.typed_form import guarded_schema

_HOW = "write `async def handler(*, app_state, arguments, actor=None)`"
NOT_WIRED = "it is announced and has no handler yet"


class ToolHandler(Protocol):
    """The signature of an explicit handler: `arguments` are its own copy, and it answers with ok() or err()."""

    def __call__(self, *, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> Awaitable[Any]: ...


def read_tool(name: str, description: str, **more: Any) -> ToolSpec:  # Any: the keywords of `_defined`
    """Defines a tool that only reads."""
    return _defined(Kind.READ, name, description, **more)


def write_tool(name: str, description: str, **more: Any) -> ToolSpec:  # Any: as above
    """Defines a tool that changes something that can be undone."""
    return _defined(Kind.WRITE, name, description, **more)


def admin_tool(name: str, description: str, **more: Any) -> ToolSpec:  # Any: as above
    """Defines a tool that destroys or overrides: it requires an actor, `confirm: true` and a reason."""
    return _defined(Kind.ADMIN, name, description, **more)


def _defined(
    kind: Kind,
    name: str,
    description: str,
    *,
    args_model: type[BaseModel] | None = None,
    input_schema: Mapping[str, Any] | None = None,  # Any: JSON Schema
    output_schema: Mapping[str, Any] | None = None,  # Any: as above
    handler: Callable[..., Any] | None = None,  # Any: a ToolHandler
    title: str = "",
    timeout_s: float | None = None,
    is_idempotent: bool = False,
    is_open_world: bool = False,
    is_listed: bool = True,
    in_pieces: bool | None = None,
    piece_bytes: int | None = None,
) -> ToolSpec:
    """The definition of a tool, with its handler if there is one. Raises: ContractError."""
    require_movable(output_schema or {}, name)
    spec = ToolSpec(
        name,
        description,
        guarded_schema(_schema(args_model, input_schema, name), kind),
        handler or _nobody,
        kind=kind,
        output_schema=output_schema,
        args_model=args_model,
        title=title,
        timeout_s=timeout_s,
        is_idempotent=is_idempotent,
        is_open_world=is_open_world,
        is_listed=is_listed,
        in_pieces=in_pieces,
        piece_bytes=piece_bytes,
    )
    return spec if handler is None else with_handler(spec, handler)


def _schema(model: type[BaseModel] | None, given: Mapping[str, Any] | None, name: str) -> Json:
    if model is not None and given is not None:
        raise ContractError(f"'{name}' has an args_model and an input_schema; keep one of the two.")
    if given is not None:
        return dict(given)
    return input_schema_of(model or NoArgs, name)


async def _nobody(**_: Any) -> str:  # Any: as a handler takes them
    raise ContractError("This tool has no handler.")


def with_handler(spec: ToolSpec, handler: Callable[..., Any]) -> ToolSpec:  # Any: a ToolHandler
    """The tool with this handler. Raises: ContractError."""
    if handler is _nobody:
        raise ContractError(f"'{spec.name}' has no handler; give it one with handler= or with_handlers().")
    if not inspect.iscoroutinefunction(handler):
        raise ContractError(f"The handler of '{spec.name}' is not async; write `async def`.")
    try:
        inspect.signature(handler).bind(app_state=None, arguments={}, actor=None)
    except TypeError as problem:
        raise ContractError(f"The handler of '{spec.name}' cannot be called; {_HOW}: {problem}.") from None
    return replace(spec, handler=handler, run=run_of_handler(spec, handler))


def with_handlers(
    specs: Iterable[ToolSpec],
    handlers: Mapping[str, Callable[..., Any]],  # Any: as above
) -> list[ToolSpec]:
    """Each definition with its handler; names must match on both sides. Raises: ContractError."""
    specs = list(specs)
    defined = {spec.name: spec for spec in specs}
    if len(defined) < len(specs):
        twice = sorted(name for name, count in Counter(spec.name for spec in specs).items() if count > 1)
        raise ContractError(f"Two definitions of the same tool: {', '.join(twice[:5])}. Rename one of them.")
    odd = sorted(defined.keys() ^ handlers.keys())
    if odd:
        raise ContractError(f"Definitions and handlers do not match; look at {', '.join(odd[:5])}.")
    return [with_handler(spec, handlers[name]) for name, spec in defined.items()]


def run_of_handler(spec: ToolSpec, handler: Callable[..., Any]) -> Run:  # Any: a ToolHandler
    async def run(model: Any, arguments: dict[str, Any], call: Call) -> Any:  # Any: a model or None; JSON; an answer
        if isinstance(model, BaseModel):
            arguments = _dumped(model, arguments, spec)
        answer = await handler(app_state=call.app, arguments=arguments, actor=call.actor)
        if isinstance(answer, str | Reply | ToolResult):
            return answer
        kind = "nothing" if answer is None else f"a value of the type {type(answer).__name__}"
        told = f"its handler returned {kind}, where the text of ok() or err() is promised"
        raise UnusableResult(Violation(rules.RESULT_SCHEMA, told))

    return run


def _dumped(model: BaseModel, arguments: dict[str, Any], spec: ToolSpec) -> dict[str, Any]:
    """A copy of the model's values; keeps the guardrail arguments of an admin tool, which its handler checks too."""
    guards = {key: arguments[key] for key in GUARDRAIL_PROPERTIES if spec.kind is Kind.ADMIN}
    return deepcopy({**model.model_dump(mode="python"), **guards})


def build_handler_map(*maps: Mapping[str, ToolHandler]) -> Mapping[str, ToolHandler]:
    """Joins several maps into one read-only map.

    Raises:
        ValueError: two of them have a tool of the same name.
    """
    joined: dict[str, ToolHandler] = {}
    for handlers in maps:
        twice = sorted(joined.keys() & handlers.keys())
        if twice:
            raise ValueError(f"Two handlers for the same tool: {', '.join(twice)}. Give each tool one.")
        joined.update(handlers)
    return MappingProxyType(joined)


def make_placeholder_handler(tool: str, reason: str = NOT_WIRED) -> ToolHandler:
    """A handler for a tool without one; it answers that the tool is not supported."""

    async def answer_not_supported(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:  # noqa: ARG001  # Any: of the protocol
        return not_supported(tool, reason)

    return answer_not_supported


def make_handlers_for_tools(names: Iterable[str], reason: str = NOT_WIRED) -> Mapping[str, ToolHandler]:
    """Such a handler for each of these tools.

    Raises:
        ValueError: a name appears twice.
    """
    return build_handler_map(*({name: make_placeholder_handler(name, reason)} for name in names))
