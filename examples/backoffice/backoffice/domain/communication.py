"""Communication: channels of different kinds, and the messages that were sent through them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ChannelKind(StrEnum):
    BOARD = "board"
    MAIL = "mail"


@dataclass(frozen=True, slots=True)
class Channel:
    id: int
    name: str
    kind: ChannelKind
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Message:
    id: int
    channel_id: int
    author: str
    body: str
    sent_at: datetime
    is_recalled: bool
