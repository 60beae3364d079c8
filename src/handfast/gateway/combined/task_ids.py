"""Task ids of all servers in one space: each wrapped with its server's name on the way out, unwrapped on the way in.

Pure. Ids stand in answers that are a task, in answers to `tasks/…`, in `notifications/tasks`, in the filter of a
subscription, and in the `_meta` that ties a message to a task.
"""

from typing import Final

import msgspec

from handfast.gateway.combined.opaque import unwrap, wrap
from handfast.gateway.combined.reading import level_of
from handfast.wire.members import member, text_member
from handfast.wire.message import Members, Message
from handfast.wire.splice import Path, replace_values

TASK_METHODS: Final = frozenset(("tasks/get", "tasks/update", "tasks/cancel"))
META_RELATED: Final = "io.modelcontextprotocol/related-task"
_PURPOSE: Final = "task"


def wrap_task_id(server: str, own: str) -> str:
    return wrap(_PURPOSE, (server, own))


def unwrap_task_id(public: str) -> tuple[str, str]:
    """The server and its own id. Raises: Tampered."""
    return unwrap(_PURPOSE, public, tuple[str, str])


def answer_edits(result: Members, method: str, server: str) -> dict[Path, bytes]:
    """What must change in the result of a request."""
    edits = _related(result, "result", server)
    if method in TASK_METHODS or text_member(result, "resultType") == "task":
        edits |= _wrapped(result, ("result", "taskId"), server)
    return edits


def wrap_in_notification(raw: bytes, message: Message, server: str) -> bytes:
    """The notification with the ids that clients know. Raises: AmbiguousKeys, NotJson."""
    if not message.may_mention("taskId"):
        return raw
    edits = _related(message.params(), "params", server)
    if (message.method or "").startswith("notifications/tasks"):
        edits |= _wrapped(message.params(), ("params", "taskId"), server)
    return replace_values(raw, edits) if edits else raw


def _related(members: Members, at: str, server: str) -> dict[Path, bytes]:
    related = level_of(member(level_of(member(members, "_meta")), META_RELATED))
    return _wrapped(related, (at, "_meta", META_RELATED, "taskId"), server)


def _wrapped(members: Members, path: Path, server: str) -> dict[Path, bytes]:
    own = text_member(members, "taskId")
    return {} if own is None else {path: msgspec.json.encode(wrap_task_id(server, own))}
