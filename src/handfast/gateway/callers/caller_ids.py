"""Keyed task ids and states: what a shared server gives to one caller is good for that caller alone.

A server whose process or connection serves several callers cannot tell them apart. So handfast binds each id and state
to the caller that receives it, and gives it back to the server in its original form. It binds them to the process as
well: many servers count, and `task-1` of the next process may belong to another caller.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from handfast.gateway.callers.opaque import Seal, Tampered
from handfast.gateway.callers.task_ids import META_RELATED
from handfast.wire.codes import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from handfast.wire.members import level_of, member, text_member
from handfast.wire.message import AmbiguousKeys, Members, Message, read_message
from handfast.wire.scan import NotJson
from handfast.wire.splice import Path, replace_values

_NO_TASK: Final = (
    "There is no task of this id for this caller. Use the id that its call gave, as the client that made the call."
)
_NO_LIST: Final = (
    "Callers share this server's process, and a list would show the tasks of others. Use the id that a call gave."
)
_NO_STATE: Final = (
    "The requestState was not given to this caller for this request. Send it back exactly as it came, or begin again."
)
_AMBIGUOUS: Final = "The request can be read in more than one way. Send each key once."
_TASKS: Final = "tasks/"
_GIVEN: Final = frozenset(("taskId", "task", "requestState", "_meta"))
_TASK_NOTICE: Final = "notifications/tasks"
_IDS: Final = ("notifications", "taskIds")  # of a subscription's filter and of its acknowledgement
TaskId = str | int  # some servers count
Owner = tuple[str, ...]  # the caller's name and, over stdio, the process that gave out the id
_Owner = Callable[[], Owner]
_Edits = dict[Path, bytes]


class Foreign(Exception):
    """A request that names an id or state that was not given to its caller."""

    def __init__(self, text: str, code: int = INVALID_PARAMS) -> None:
        super().__init__(text)
        self.code = code


def names_ids(raw: bytes) -> bool:
    """Whether a message can name a task or a state, checked on its bytes to avoid parsing. Escapes may spell both."""
    if raw.find(b"taskId") >= 0 or raw.find(b"requestState") >= 0:
        return True
    return raw.find(b"\\") >= 0 and raw.find(b"\\u") >= 0


def brings_ids(found: Message) -> bool:
    """Whether an answer or a notification can name a task or a state."""
    return (not found.is_answer or found.result_may_have(_GIVEN)) and names_ids(found.raw)


def asks_with_ids(message: Message) -> bool:
    """Whether a request can be about a task or a state, or about all of them."""
    method = message.method or ""
    if method.startswith(_TASKS) or method == "subscriptions/listen":
        return True
    try:
        params = message.params()  # parsed by now, and a lookup costs a tenth of a search through the bytes
        return "requestState" in params or ("_meta" in params and META_RELATED in message.meta())
    except (AmbiguousKeys, NotJson):
        return names_ids(message.raw)


class CallerIds:
    """The task ids and states of one server, as its callers see them."""

    def __init__(self, seal: Seal, server: str) -> None:
        self._seal = seal
        self._server = server

    def ask(self, message: Message, owner: _Owner) -> "SharedRequest":
        """Returns the request as the server gets it. Calls `owner` only for requests that carry ids or states.

        Raises: Foreign.
        """
        try:
            return self._ask(message, owner)
        except (AmbiguousKeys, NotJson):
            raise Foreign(_AMBIGUOUS, INVALID_REQUEST) from None

    def _ask(self, message: Message, owner: _Owner) -> "SharedRequest":
        params, method = message.params(), message.method or ""
        edits: _Edits = {}
        if "requestState" in params and member(params, "requestState") is not None:
            edits["params", "requestState"] = msgspec.json.encode(self._own_state(message, owner()))
        if method.startswith(_TASKS):
            if "taskId" not in params:
                raise Foreign(_NO_LIST, METHOD_NOT_FOUND)
            edits["params", "taskId"] = msgspec.json.encode(self._own_id(params["taskId"], owner()))
        if META_RELATED in message.meta():
            related = level_of(bytes(message.meta()[META_RELATED]))
            own = self._own_id(related.get("taskId"), owner())
            edits["params", "_meta", META_RELATED, "taskId"] = msgspec.json.encode(own)
        listened = self._own_filter(message, owner) if method == "subscriptions/listen" else None
        if listened:
            edits["params", *_IDS] = msgspec.json.encode(listened)
        asked = read_message(replace_values(message.raw, edits)) if edits else message
        return SharedRequest(self, message, asked, owner=owner, listened=listened)

    def _own_filter(self, message: Message, owner: _Owner) -> list[TaskId]:
        ids = member(level_of(member(message.params(), _IDS[0])), _IDS[1])
        return [self._own_id(found, owner()) for found in _items(ids)] if ids is not None else []

    def _own_id(self, public: msgspec.Raw | None, owner: Owner) -> TaskId:
        text = _task_id(public)
        try:
            (own,) = self._seal.unwrap(self._bound_task(owner), text if isinstance(text, str) else None, tuple[TaskId])
        except Tampered:
            raise Foreign(_NO_TASK) from None
        return own

    def _own_state(self, message: Message, owner: Owner) -> str:
        text = text_member(message.params(), "requestState")
        try:
            return self._seal.unwrap(self._bound_state(message, owner), text, str)
        except Tampered:
            raise Foreign(_NO_STATE) from None

    def _bound_task(self, owner: Owner) -> tuple[str, ...]:
        return "task", self._server, *owner

    def _bound_state(self, message: Message, owner: Owner) -> tuple[str, ...]:
        method = message.method or ""
        about = text_member(message.params(), "uri" if method == "resources/read" else "name") or ""
        return "state", self._server, method, about, *owner

    # --- what the server gives out ---------------------------------------------------------------------------------

    def public_id(self, own: msgspec.Raw, owner: Owner) -> bytes:
        """Maps raw JSON to raw JSON. An id that is neither text nor a whole number cannot be requested: it stays."""
        found = _task_id(own)
        return bytes(own) if found is None else msgspec.json.encode(self._seal.wrap(self._bound_task(owner), [found]))

    def public_state(self, state: str, message: Message, owner: Owner) -> bytes:
        return msgspec.json.encode(self._seal.wrap(self._bound_state(message, owner), state))


class SharedRequest:
    """One caller's request to a server that others share."""

    def __init__(
        self,
        ids: CallerIds,
        message: Message,
        asked: Message,
        *,
        owner: _Owner,
        listened: list[TaskId] | None,
    ) -> None:
        """`listened`: the server's own ids of the tasks that a subscription is for."""
        self._ids = ids
        self._message = message
        self._owner = owner
        self._listened = listened
        self.asked = asked

    def receive(self, found: Message) -> bool:
        """Rewrites an answer or a notification for the caller. Returns False if it belongs to another caller."""
        if not brings_ids(found):
            return True
        try:
            edits = self._answer_edits(found) if found.is_answer else self._notice_edits(found)
        except (AmbiguousKeys, NotJson):
            return found.is_answer  # judging refuses such an answer; a notification can be dropped
        if edits:
            found.raw = replace_values(found.raw, edits)
            found.reread()
        return edits is not None

    def _answer_edits(self, found: Message) -> _Edits:
        result = found.result() or {}
        kind = text_member(result, "resultType")
        edits = self._id_at(level_of(member(result, "task")), ("result", "task"))
        if kind == "task" or (self._message.method or "").startswith(_TASKS):
            edits |= self._id_at(result, ("result",))
        edits |= self._related(result, "result")
        state = text_member(result, "requestState")
        if state is not None and kind not in (None, "complete"):
            edits["result", "requestState"] = self._ids.public_state(state, self._message, self._owner())
        return edits

    def _notice_edits(self, found: Message) -> _Edits | None:
        params = found.params()
        edits = self._related(params, "params")
        if (found.method or "").startswith(_TASK_NOTICE):
            if self._listened is not None and _task_id(params.get("taskId")) not in self._listened:
                return None
            edits |= self._id_at(params, ("params",))
        ids = member(level_of(member(params, _IDS[0])), _IDS[1])
        if ids is not None:
            public = [self._ids.public_id(own, self._owner()) for own in _items(ids)]
            edits["params", *_IDS] = b"[%b]" % b",".join(public)
        return edits

    def _related(self, members: Members, at: str) -> _Edits:
        related = level_of(member(level_of(member(members, "_meta")), META_RELATED))
        return self._id_at(related, (at, "_meta", META_RELATED))

    def _id_at(self, members: Members, at: Path) -> _Edits:
        own = members.get("taskId")
        return {} if own is None else {(*at, "taskId"): self._ids.public_id(own, self._owner())}


def _task_id(raw: msgspec.Raw | None) -> TaskId | None:
    try:
        found: TaskId | None = msgspec.json.decode(raw or b"null", type=TaskId | None)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found


def _items(array: bytes) -> list[msgspec.Raw]:
    try:
        return msgspec.json.decode(array, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
