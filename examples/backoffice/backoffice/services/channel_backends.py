"""What stands behind a channel: a board can take a message back, mail cannot."""

import sqlite3
from datetime import datetime
from typing import Protocol, runtime_checkable

from backoffice.domain.communication import Channel, Message
from backoffice.persistence import communication as message_table
from backoffice.persistence.mail_spool import MailSpool


class ChannelBackend(Protocol):
    """What every kind of channel can do."""

    def send(self, db: sqlite3.Connection, channel: Channel, *, author: str, body: str, at: datetime) -> Message: ...


@runtime_checkable
class Recalling(Protocol):
    """What only some of them can do besides."""

    def recall(self, db: sqlite3.Connection, message: Message) -> Message: ...


class BoardBackend:
    """Messages that are read where they are kept."""

    def send(self, db: sqlite3.Connection, channel: Channel, *, author: str, body: str, at: datetime) -> Message:
        return message_table.send(db, channel.id, author=author, body=body, at=at)

    def recall(self, db: sqlite3.Connection, message: Message) -> Message:
        return message_table.recall(db, message.id)


class MailBackend:
    """Messages that are handed on; nobody can take them back, so there is no `recall` here."""

    def __init__(self, spool: MailSpool) -> None:
        self._spool = spool

    def send(self, db: sqlite3.Connection, channel: Channel, *, author: str, body: str, at: datetime) -> Message:
        message = message_table.send(db, channel.id, author=author, body=body, at=at)
        self._spool.put(message.id, sender=author, subject=channel.name, body=body)
        return message
