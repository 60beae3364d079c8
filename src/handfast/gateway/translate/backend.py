"""The inner form: requests of the modern form, and the backends that answer them, for one server or for all.

Inside the gateway everything that is not relayed as it came speaks one form, that of 2026-07-28: a request says in its
`_meta` who asks and what the client can do, and its answer is `complete`, `input_required`, or an error. Fronts turn a
client of either era into such requests; servers of either era stand behind a Backend. So every pair of eras, one server
or many, is a matter of composition.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from handfast.core.call.caller import ANYONE, Caller
from handfast.gateway.calls.flow import Flow
from handfast.wire.eras import META_CAPABILITIES, MODERN_META
from handfast.wire.message import Message, read_message
from handfast.wire.replies import request

Headers = list[tuple[bytes, bytes]]
_NONE: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class Requester:
    """The caller of a request, and the way back to the client that waits for its answer."""

    caller: Caller
    """Sessions with servers, held calls and subscriptions are kept under its name, and never shared between callers."""

    send: Callable[[bytes], None]
    """Takes a notification that belongs to the request, in the client's own terms (its id, its progress token)."""

    params: Headers | None = None
    """The Mcp-Param-* headers that came with the request; None where the client has no way to send them."""
    flow: Flow | None = None
    """Held while the client reads more slowly than messages come; None where that cannot be known."""

    takes_logs: bool = False
    """Whether the client takes log messages although its request names no level, as clients of 2025 do."""


class Backend(Protocol):
    async def request(self, message: Message, origin: Requester) -> Message:
        """The answer to a modern request, under the id that it came with; errors are answers too.

        `origin` gets the request's notifications before the answer. Cancelling this coroutine cancels the request. A
        `subscriptions/listen` ends when it is cancelled, or the server ends it.
        """


class Choice(Backend, Protocol):
    """A Backend of several servers, of which the client's URL may choose some."""

    @property
    def only(self) -> frozenset[str] | None:
        """The chosen servers; None where all are meant."""


@runtime_checkable
class Leavable(Protocol):
    """A Backend that keeps state for its callers."""

    def leave(self, caller: Caller) -> None:
        """Closes what was kept for this caller alone: the caller will not come again."""


def leave(backend: Backend, caller: Caller) -> None:
    if isinstance(backend, Leavable):
        backend.leave(caller)


def ignore(_notification: bytes) -> None:
    """Drops a notification: the request is handfast's own."""


async def ask(
    backend: Backend,
    method: str,
    params: Mapping[str, object] | None = None,
    *,
    caller: Caller = ANYONE,
    capabilities: object = _NONE,
) -> Message:
    """Sends a request of handfast's own, for a caller with these capabilities."""
    whole = {**(params or {}), "_meta": {**MODERN_META, META_CAPABILITIES: capabilities}}
    message = read_message(request("handfast", method, whole))
    return await backend.request(message, Requester(caller, ignore))
