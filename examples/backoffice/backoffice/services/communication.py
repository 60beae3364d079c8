"""The rules for messages: authors take back only their own, and only where the channel can do it."""

import sqlite3
from collections.abc import Mapping
from datetime import datetime

from backoffice.domain.communication import Channel, ChannelKind, Message
from backoffice.domain.errors import CapabilityMissing, Conflict, Forbidden, NotFound
from backoffice.persistence import communication as message_table
from backoffice.persistence.database import Database
from backoffice.services.channel_backends import ChannelBackend, Recalling
from backoffice.services.clock import Now


class CommunicationService:
    def __init__(self, db: Database, *, now: Now, backends: Mapping[ChannelKind, ChannelBackend]) -> None:
        self._db = db
        self._now = now
        self._backends = backends

    async def channels(self, *, offset: int, limit: int) -> tuple[list[Channel], int]:
        return await self._db.read(lambda db: message_table.page(db, offset=offset, limit=limit))

    async def open_channel(self, *, name: str, kind: ChannelKind) -> Channel:
        """Raises: Conflict."""

        def work(db: sqlite3.Connection) -> Channel:
            if message_table.has_name(db, name):
                raise Conflict("A channel of this name exists already. Choose another name.")
            return message_table.insert(db, name=name, kind=kind, at=self._now())

        return await self._db.write(work)

    async def messages(
        self, channel_id: int, *, since: datetime | None, until: datetime | None, offset: int, limit: int
    ) -> tuple[list[Message], int]:
        """Raises: NotFound."""

        def look(db: sqlite3.Connection) -> tuple[list[Message], int]:
            _existing(db, channel_id)
            return message_table.messages(db, channel_id, since=since, until=until, offset=offset, limit=limit)

        return await self._db.read(look)

    async def send(self, channel_id: int, *, body: str, by: str) -> Message:
        """Raises: NotFound."""

        def work(db: sqlite3.Connection) -> Message:
            channel = _existing(db, channel_id)
            return self._backends[channel.kind].send(db, channel, author=by, body=body, at=self._now())

        return await self._db.write(work)

    async def recall(self, message_id: int, *, by: str) -> Message:
        """Raises: NotFound, Conflict, Forbidden, CapabilityMissing."""

        def work(db: sqlite3.Connection) -> Message:
            message = message_table.find_message(db, message_id)
            if message is None:
                raise NotFound("message")
            backend = self._backends[_existing(db, message.channel_id).kind]
            if not isinstance(backend, Recalling):
                raise CapabilityMissing("mail that was sent cannot be taken back")
            if message.author != by:
                raise Forbidden("Only its author recalls a message. Ask the author to do it.")
            if message.is_recalled:
                raise Conflict("The message was recalled already. Nothing is left to do.")
            return backend.recall(db, message)

        return await self._db.write(work)

    async def purge(self, channel_id: int, *, since: datetime, until: datetime) -> int:
        """Take the messages between two moments away and say how many there were. Raises: NotFound."""

        def work(db: sqlite3.Connection) -> int:
            _existing(db, channel_id)
            return message_table.purge(db, channel_id, since=since, until=until)

        return await self._db.write(work)


def _existing(db: sqlite3.Connection, channel_id: int) -> Channel:
    channel = message_table.find(db, channel_id)
    if channel is None:
        raise NotFound("channel")
    return channel
