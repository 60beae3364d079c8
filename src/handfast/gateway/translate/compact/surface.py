"""The surface that a server shows: all of its tools, or one for all of them, as its settings say at that moment."""

from collections.abc import Callable

from handfast.core.call.caller import Caller
from handfast.gateway.settings.blocks import Surface
from handfast.gateway.translate.backend import Backend, Requester, leave
from handfast.wire.message import Message


class ChosenSurface:
    def __init__(self, full: Backend, compact: Backend, surface: Callable[[], Surface]) -> None:
        self._full = full
        self._compact = compact
        self._surface = surface

    async def request(self, message: Message, origin: Requester) -> Message:
        backend = self._compact if self._surface() is Surface.COMPACT else self._full
        return await backend.request(message, origin)

    def leave(self, caller: Caller) -> None:
        leave(self._full, caller)
