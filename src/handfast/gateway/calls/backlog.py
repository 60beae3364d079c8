"""Messages that wait for a client to take them: in order, and bounded in number and in bytes."""

from collections import deque

from handfast.wire.message import Message

_MESSAGES = 1000
_BYTES = 4 * 1024 * 1024  # the messages of one read, and some more: a client that keeps reading never comes near


class Backlog:
    """Where the source cannot be made to wait, the oldest messages are dropped; the newest is always kept."""

    def __init__(self) -> None:
        self._waiting: deque[Message] = deque()
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def is_full(self) -> bool:
        return len(self._waiting) > _MESSAGES or self._bytes > _BYTES

    @property
    def is_low(self) -> bool:
        """Whether so little waits that the source may go on."""
        return len(self._waiting) <= _MESSAGES // 2 and self._bytes <= _BYTES // 2

    def append(self, message: Message) -> None:
        self._waiting.append(message)
        self._bytes += len(message.raw)

    def popleft(self) -> Message:
        message = self._waiting.popleft()
        self._bytes -= len(message.raw)
        return message

    def drop_questions(self) -> None:
        """Drops the server's requests, because their answers have nowhere to go."""
        self._waiting = deque(message for message in self._waiting if not message.is_request)
        self._bytes = sum(len(message.raw) for message in self._waiting)

    def drop_oldest(self) -> int:
        """Drops the oldest messages until the rest fits; returns how many."""
        dropped = 0
        while self.is_full and len(self._waiting) > 1:
            self.popleft()
            dropped += 1
        return dropped
