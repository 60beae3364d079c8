"""Task ids of all servers in one space: each wrapped with its server's name on the way out, unwrapped on the way in.

Pure. Ids stand in answers that are a task, in answers to `tasks/…`, in `notifications/tasks`, in the filter of a
subscription, and in the `_meta` that ties a message to a task.
"""

from typing import Final

import msgspec

from handfast.gateway.callers.opaque import Seal
from handfast.wire.members import level_of, member, text_member
from handfast.wire.message import Members, Message
from handfast.wire.methods import MODERN_TASK_REQUESTS
from handfast.wire.splice import Path, replace_values

META_RELATED: Final = "io.modelcontextprotocol/related-task"


class TaskIds:
    """The task ids of one caller: an id is good only for the caller that received it."""

    def __init__(self, seal: Seal, caller: str) -> None:
        self._seal = seal
        self._bound = ("task", caller)

    def wrap(self, server: str, own: str) -> str:
        return self._seal.wrap(self._bound, (server, own))

    def unwrap(self, public: str) -> tuple[str, str]:
        """The server and its own id. Raises: Tampered."""
        return self._seal.unwrap(self._bound, public, tuple[str, str])

    def answer_edits(self, result: Members, method: str, server: str) -> dict[Path, bytes]:
        """Returns the edits that the result of a request needs."""
        edits = self._related(result, "result", server)
        if method in MODERN_TASK_REQUESTS or text_member(result, "resultType") == "task":
            edits |= self._wrapped(result, ("result", "taskId"), server)
        return edits

    def wrap_in_notification(self, raw: bytes, message: Message, server: str) -> bytes:
        """The notification with the ids that clients know. Raises: AmbiguousKeys, NotJson."""
        if not message.may_mention("taskId"):
            return raw
        edits = self._related(message.params(), "params", server)
        if (message.method or "").startswith("notifications/tasks"):
            edits |= self._wrapped(message.params(), ("params", "taskId"), server)
        return replace_values(raw, edits) if edits else raw

    def _related(self, members: Members, at: str, server: str) -> dict[Path, bytes]:
        related = level_of(member(level_of(member(members, "_meta")), META_RELATED))
        return self._wrapped(related, (at, "_meta", META_RELATED, "taskId"), server)

    def _wrapped(self, members: Members, path: Path, server: str) -> dict[Path, bytes]:
        own = text_member(members, "taskId")
        return {} if own is None else {path: msgspec.json.encode(self.wrap(server, own))}
