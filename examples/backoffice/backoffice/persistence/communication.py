"""The tables of channels and of their messages."""

import sqlite3
from datetime import datetime

from backoffice.domain.communication import Channel, ChannelKind, Message
from backoffice.persistence.columns import moment_text, read_moment
from backoffice.persistence.pages import read_page

TABLES = """
CREATE TABLE IF NOT EXISTS channels (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    opened_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- a number is never given out twice
    channel_id INTEGER NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    author TEXT NOT NULL,
    body TEXT NOT NULL,
    sent_at TEXT NOT NULL,
    is_recalled INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS messages_by_channel ON messages (channel_id, sent_at);
"""

_MESSAGES = """
SELECT * FROM messages
WHERE channel_id = :channel_id
    AND (:since IS NULL OR sent_at >= :since) AND (:until IS NULL OR sent_at < :until)
ORDER BY id
"""


def page(db: sqlite3.Connection, *, offset: int, limit: int) -> tuple[list[Channel], int]:
    return read_page(db, "SELECT * FROM channels ORDER BY id", {}, offset=offset, limit=limit, read=_channel)


def find(db: sqlite3.Connection, channel_id: int) -> Channel | None:
    row = db.execute("SELECT * FROM channels WHERE id = ?", (channel_id,)).fetchone()
    return None if row is None else _channel(row)


def has_name(db: sqlite3.Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM channels WHERE name = ?", (name,)).fetchone() is not None


def insert(db: sqlite3.Connection, *, name: str, kind: ChannelKind, at: datetime) -> Channel:
    query = "INSERT INTO channels (name, kind, opened_at) VALUES (?, ?, ?) RETURNING *"
    return _channel(db.execute(query, (name, kind, moment_text(at))).fetchone())


def messages(
    db: sqlite3.Connection,
    channel_id: int,
    *,
    since: datetime | None,
    until: datetime | None,
    offset: int,
    limit: int,
) -> tuple[list[Message], int]:
    values = {
        "channel_id": channel_id,
        "since": moment_text(since) if since else None,
        "until": moment_text(until) if until else None,
    }
    return read_page(db, _MESSAGES, values, offset=offset, limit=limit, read=_message)


def find_message(db: sqlite3.Connection, message_id: int) -> Message | None:
    row = db.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
    return None if row is None else _message(row)


def send(db: sqlite3.Connection, channel_id: int, *, author: str, body: str, at: datetime) -> Message:
    query = "INSERT INTO messages (channel_id, author, body, sent_at) VALUES (?, ?, ?, ?) RETURNING *"
    return _message(db.execute(query, (channel_id, author, body, moment_text(at))).fetchone())


def recall(db: sqlite3.Connection, message_id: int) -> Message:
    query = "UPDATE messages SET body = '', is_recalled = 1 WHERE id = ? RETURNING *"
    return _message(db.execute(query, (message_id,)).fetchone())


def purge(db: sqlite3.Connection, channel_id: int, *, since: datetime, until: datetime) -> int:
    query = "DELETE FROM messages WHERE channel_id = ? AND sent_at >= ? AND sent_at < ?"
    return db.execute(query, (channel_id, moment_text(since), moment_text(until))).rowcount


def _channel(row: sqlite3.Row) -> Channel:
    return Channel(row["id"], row["name"], ChannelKind(row["kind"]), read_moment(row, "opened_at"))


def _message(row: sqlite3.Row) -> Message:
    return Message(
        id=row["id"],
        channel_id=row["channel_id"],
        author=row["author"],
        body=row["body"],
        sent_at=read_moment(row, "sent_at"),
        is_recalled=bool(row["is_recalled"]),
    )
