"""Notifications that a list has changed, on their way to many clients: at most one of a kind each second."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from handfast.catalog.learning import FIRST_REST
from handfast.wire.message import Message

Source = TypeVar("Source")


def is_list_notice(message: Message) -> bool:
    return message.is_notification and message.method is not None and message.method.endswith("/list_changed")


class ListNotices(Generic[Source]):
    """Thins out list notifications: they say that something changed and not what, so one can stand for many."""

    def __init__(self, deliver: Callable[[Source, Message], None]) -> None:
        self._deliver = deliver
        # By source and method, while its second lasts: the last notification that came since.
        self._held: dict[tuple[Source, str | None], Message | None] = {}

    def take(self, source: Source, message: Message) -> None:
        """Delivers the first at once, and of those that follow within a second the last, when the second is over."""
        kind = (source, message.method)
        if kind in self._held:
            self._held[kind] = message
            return
        self._held[kind] = None
        asyncio.get_running_loop().call_later(FIRST_REST, self._end_second, kind)
        self._deliver(source, message)

    def _end_second(self, kind: tuple[Source, str | None]) -> None:
        last = self._held.pop(kind)
        if last is not None:
            self.take(kind[0], last)
