"""What services object to, as the codes that callers branch on: the same ones in both forms of handlers."""

import functools
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from backoffice.domain.errors import Conflict, Forbidden, NotFound, ServiceError, Unavailable
from handfast.toolkit import ErrorCode, ToolError

P = ParamSpec("P")
T = TypeVar("T")

_CODES: dict[type[ServiceError], ErrorCode] = {
    NotFound: ErrorCode.NOT_FOUND,
    Conflict: ErrorCode.CONFLICT,
    Forbidden: ErrorCode.PERMISSION_ERROR,
    Unavailable: ErrorCode.UNAVAILABLE,
}


def code_of(objection: ServiceError) -> ErrorCode:
    return _CODES[type(objection)]


def refusing(tool: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """A typed tool whose service may object. Everything else that it raises stays what it is."""

    @functools.wraps(tool)
    async def told(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await tool(*args, **kwargs)
        except ServiceError as objection:
            raise ToolError(code_of(objection), str(objection)) from objection

    return told
