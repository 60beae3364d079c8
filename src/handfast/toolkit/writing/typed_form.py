"""The typed form: makes a tool from a function's signature, types and docstring."""

import inspect
from collections.abc import Callable
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

from handfast.core.call.guardrails import GUARDRAIL_PROPERTIES
from handfast.toolkit.writing.blocking import BLOCKING
from handfast.toolkit.writing.call import Call, NoArgs
from handfast.toolkit.writing.reply import Reply, ToolResult
from handfast.toolkit.writing.schemas import (
    FOR_TYPED_DICT,
    OLD_TYPED_DICT,
    ContractError,
    Json,
    adapter_of,
    input_schema_of,
    output_schema_of,
)
from handfast.toolkit.writing.spec import Kind, Run, ToolSpec

_HOW = "Write `async def tool(args: Model, call: Call) -> Result`; args and call may be left out."
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def spec_of_function(
    function: Callable[..., Any],  # Any: the author's own signature is read here
    kind: Kind,
    *,
    name: str = "",
    title: str = "",
    returns: Any = None,  # Any: a type, if the annotation cannot express it
    timeout_s: float | None = None,
    is_idempotent: bool = False,
    is_open_world: bool = False,
    is_listed: bool = True,
    in_pieces: bool | None = None,
    piece_bytes: int | None = None,
) -> ToolSpec:
    """Makes a tool from a function. Raises: ContractError."""
    tool = name or function.__name__
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ContractError(f"'{tool}' yields, and a call has one result; return it whole.")
    hints = _hints(function, tool)
    args_name, model, call_name = _parameters(function, hints, tool)
    adapter, schema = _result(hints, returns, tool)
    return ToolSpec(
        tool,
        inspect.getdoc(function) or "",
        guarded_schema(input_schema_of(model, tool), kind),
        function,
        kind=kind,
        output_schema=schema,
        args_model=model,
        returns=adapter,
        run=_run_of(function, args_name, call_name),
        title=title,
        timeout_s=timeout_s,
        is_idempotent=is_idempotent,
        is_open_world=is_open_world,
        is_listed=is_listed,
        in_pieces=in_pieces,
        piece_bytes=piece_bytes,
    )


def require_function(function: object) -> None:
    """Checks that the object is a function. Raises: ContractError, also for a sync wrapper of an async function."""
    if not inspect.isroutine(function):
        raise ContractError(f"{function!r:.100} is not a function; write `async def` or `def` and decorate that.")
    within = inspect.unwrap(function)
    if inspect.iscoroutinefunction(within) and not inspect.iscoroutinefunction(function):
        name = within.__name__
        raise ContractError(f"'{name}' is async, and what it is wrapped in is not; make the wrapper `async def`.")


def guarded_schema(schema: Json, kind: Kind) -> Json:
    """The input schema; an admin tool's with confirm and reason."""
    if kind is not Kind.ADMIN:
        return schema
    taken = GUARDRAIL_PROPERTIES.keys() & schema.get("properties", {}).keys()
    if taken:
        raise ContractError(f"Admin tools get {', '.join(sorted(taken))} from the builder; take it out of the model.")
    properties = {**schema.get("properties", {}), **GUARDRAIL_PROPERTIES}
    return {**schema, "properties": properties, "required": [*schema.get("required", ()), *GUARDRAIL_PROPERTIES]}


def _hints(function: Callable[..., Any], tool: str) -> dict[str, Any]:  # Any: types
    try:
        return get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as problem:
        message = f"The types of '{tool}' cannot be read ({problem}); import or define them where it stands."
        raise ContractError(message) from None


def _parameters(
    function: Callable[..., Any], hints: dict[str, Any], tool: str
) -> tuple[str | None, type[BaseModel], str | None]:
    args_name: str | None = None
    call_name: str | None = None
    model: type[BaseModel] = NoArgs
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if hint is not None and parameter.kind not in _BY_NAME:
            raise ContractError(f"The parameter '{parameter.name}' of '{tool}' cannot be given by its name. {_HOW}")
        if hint is Call and call_name is None:
            call_name = parameter.name
        elif isinstance(hint, type) and issubclass(hint, BaseModel) and args_name is None:
            args_name, model = parameter.name, hint
        else:
            raise ContractError(f"The parameter '{parameter.name}' of '{tool}' is neither a model nor a Call. {_HOW}")
    return args_name, model, call_name


def _result(hints: dict[str, Any], returns: Any, tool: str) -> tuple[TypeAdapter[Any], Json | None]:
    kind = returns if returns is not None else hints.get("return", inspect.Parameter.empty)
    if kind is inspect.Parameter.empty:
        raise ContractError(f"'{tool}' does not say what it returns, so its result cannot be judged. {_HOW}")
    if get_origin(kind) is Reply:
        (kind,) = get_args(kind)
    if kind is ToolResult or kind is Reply:
        raise ContractError(f"'{tool}' hides what it returns in a {kind.__name__}; add returns=Model beside it.")
    try:
        adapter = adapter_of(kind)
    except (PydanticSchemaGenerationError, PydanticUserError) as problem:
        is_old = getattr(problem, "code", None) == OLD_TYPED_DICT
        remedy = FOR_TYPED_DICT if is_old else "return a model, or plain JSON types."
        raise ContractError(f"What '{tool}' returns cannot be described by a schema; {remedy}") from None
    return adapter, output_schema_of(adapter, f"The result of '{tool}'")


def _run_of(function: Callable[..., Any], args_name: str | None, call_name: str | None) -> Run:
    is_async = inspect.iscoroutinefunction(function)

    async def run(model: Any, _arguments: dict[str, Any], call: Call) -> Any:  # Any: the tool's own types
        given: dict[str, Any] = {}
        if args_name is not None:
            given[args_name] = model
        if call_name is not None:
            given[call_name] = call
        if is_async:
            return await function(**given)
        return await BLOCKING.run(function, **given)  # a blocking tool must not stop other calls

    return run
