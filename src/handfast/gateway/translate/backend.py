"""What answers requests in the modern form: one server behind handfast, or all of them at once.

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
    """Where a request comes from, and how to reach whoever waits for its answer."""

    caller: Caller
    """Whose it is. Sessions with servers, calls held for an answer and subscriptions are kept under its name, and never
    shared between two."""

    send: Callable[[bytes], None]
    """Takes a notification that belongs to the request, in the client's own terms (its id, its progress token)."""

    params: Headers | None = None
    """The Mcp-Param-* headers that came with the request; None where the client has no way to send them."""
    flow: Flow | None = None
    """Held while the client reads more slowly than messages come; None where nobody can tell."""

    takes_logs: bool = False
    """Whether log messages are welcome although the request names no level, as they are to clients of 2025."""


class Backend(Protocol):
    async def request(self, message: Message, origin: Requester) -> Message:
        """The answer to a modern request, under the id that it came with; errors are answers too.

        What is sent to `origin` comes before. Cancelling this coroutine cancels the request. A `subscriptions/listen`
        ends when it is cancelled, or the server ends it.
        """


class Choice(Backend, Protocol):
    """A Backend of several servers, of which an address may choose some."""

    @property
    def only(self) -> frozenset[str] | None:
        """The chosen servers; None where all are meant."""


@runtime_checkable
class Leavable(Protocol):
    """A Backend that keeps something for its callers."""

    def leave(self, caller: Caller) -> None:
        """This caller will not come again: what was kept for it alone is closed."""


def leave(backend: Backend, caller: Caller) -> None:
    if isinstance(backend, Leavable):
        backend.leave(caller)


def ignore(_notification: bytes) -> None:
    """For a Requester that has nobody to tell."""


async def ask(
    backend: Backend,
    method: str,
    params: Mapping[str, object] | None = None,
    *,
    caller: Caller = ANYONE,
    capabilities: object = _NONE,
) -> Message:
    """A request of handfast's own, for a caller that can do this much."""
    whole = {**(params or {}), "_meta": {**MODERN_META, META_CAPABILITIES: capabilities}}
    message = read_message(request("handfast", method, whole))
    return await backend.request(message, Requester(caller, ignore))
