"""How explicit handlers end: with data, a page of it, or what went wrong, logged and as an envelope."""

import functools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from backoffice.app_state import AppState
from backoffice.domain.errors import CapabilityMissing, ServiceError
from backoffice.handlers.refusals import code_of
from handfast.toolkit import (
    ArgumentValidationError,
    GuardrailViolationError,
    PaginationMeta,
    ToolError,
    capability_gap,
    err,
    log_handler_argument_invalid,
    log_handler_guardrail_violated,
    log_handler_invoke_failed,
    ok,
)

Arguments = dict[str, Any]  # Any: JSON values
Handler = Callable[..., Coroutine[Any, Any, str]]  # Any: what awaiting it sends and takes, which is nothing of ours


def answering(handler: Handler, *, tool: str = "") -> Handler:
    """A handler whose service, arguments or caller may be at fault. Everything else that it raises stays what it is."""
    name = tool or handler.__name__.removeprefix("_")

    @functools.wraps(handler)
    async def answered(*, app_state: AppState, arguments: Arguments, actor: object = None) -> str:
        try:
            return await handler(app_state=app_state, arguments=arguments, actor=actor)
        except ArgumentValidationError as problem:
            log_handler_argument_invalid(name, problem)
            return err(problem)
        except GuardrailViolationError as problem:
            log_handler_guardrail_violated(name, problem)
            return err(problem)
        except CapabilityMissing as gap:
            return capability_gap(name, str(gap))
        except ServiceError as objection:
            log_handler_invoke_failed(name, objection)
            return err(ToolError(code_of(objection), str(objection)))

    return answered


def page_of(items: Sequence[object], total: int, *, offset: int, limit: int) -> str:
    return ok(items, pagination=PaginationMeta(total=total, offset=offset, limit=limit))
