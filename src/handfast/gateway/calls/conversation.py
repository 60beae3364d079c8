"""One client's conversation with one server: answers paired with requests, calls judged, lists learnt.

Knows nothing of transports: `wrap`, a stdio child behind HTTP and an HTTP server all relay through it.
"""

import asyncio
from secrets import token_hex

import msgspec

from handfast.catalog.contracts import short_key
from handfast.core.access.permissions import Denied
from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.exchange import Status
from handfast.gateway.calls.call_time import find_overdue
from handfast.gateway.calls.judged_calls import LEFT, NOTHING, AskForPage, Client, JudgedCalls, Step
from handfast.gateway.calls.learnt_lists import learn_list
from handfast.gateway.calls.pending import Pending
from handfast.gateway.calls.rights import deny_request, hide_items, note_denied, note_hidden
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.calls.task_results import read_task_id
from handfast.gateway.settings.blocks import Limits
from handfast.wire.alias import Alias
from handfast.wire.codes import INVALID_REQUEST, UPSTREAM_FAILED
from handfast.wire.eras import META_CAPABILITIES, META_CLIENT, META_VERSION
from handfast.wire.message import AmbiguousKeys, BadMessage, Message, RequestId, id_in_head, read_message
from handfast.wire.methods import LIST_KINDS, TASK_NOTIFICATIONS, TASK_REQUESTS
from handfast.wire.replies import error_reply, request
from handfast.wire.scan import NotJson
from handfast.wire.splice import replace_values

_OPEN_REQUESTS = 10_000  # of one conversation; a client with more open than this is broken


class Conversation(JudgedCalls):
    def __init__(self, server: ServerSide, ask_for_page: AskForPage, caller: Caller) -> None:
        super().__init__(server, ask_for_page, caller)
        self.open_requests: dict[RequestId, Pending] = {}
        self._questions: dict[RequestId, RequestId] = {}  # the server's open ones: as the client knows it → its own id
        self._lost_questions: set[RequestId] = set()  # of a process that has ended; the client may answer them yet
        self.has_lost_session = False  # the server no longer knew the session when it was asked for its tools

    def list_request(self, request_id: RequestId, cursor: bytes | None) -> bytes:
        """A tools/list of handfast's own, in the era that this client and server speak."""
        params: dict[str, object] = {}
        if cursor is not None:
            params["cursor"] = msgspec.Raw(cursor)
        if self._meta:
            params["_meta"] = self._meta
        return request(request_id, "tools/list", params or None)

    def stop_waiting(self) -> None:
        """Lets calls that wait for the greeting go on: it has come, or never will."""
        if self._greeting is not None:
            self._greeting.cancel()  # its result is not used: it only has to be over
            self._greeting = None

    def close(self, reason: str) -> None:
        """Ends every open request with this reason, for its client and on record: no answer can come any longer."""
        ended, self.open_requests = self.open_requests, {}
        for pending in ended.values():
            self._end(pending, reason)

    def close_unattended(self, reason: str) -> None:
        """Ends only requests that were sent and whose answer nothing relays; the others go on."""
        for key in [key for key, pending in self.open_requests.items() if pending.alias and not pending.is_attended]:
            self._end(self.open_requests.pop(key), reason)

    def _end(self, pending: Pending, reason: str) -> None:
        pending.ended = reason if pending.place is None else f"{reason} It never reached the server."
        if pending.call is not None:
            self._server.path.conclude(pending.call, Status.CANCELLED, rule=rules.SESSION_ENDED, reason=pending.ended)
        if pending.place is not None:
            pending.place.dismiss(pending.ended)
        if pending.when_over is not None:
            pending.when_over()

    def dismiss(self, text: str) -> None:
        """Ends the calls that still wait in line for the server."""
        for pending in self.open_requests.values():
            if pending.place is not None:
                pending.place.dismiss(text)

    def take_overdue(self, now: float, limits: Limits) -> list[tuple[RequestId, Pending, str]]:
        """Takes out requests that wait too long for an answer or progress, or take too long in total, and says why.

        Requests in line, calls that were not opened yet, and subscriptions stay.
        """
        found = [
            (key, pending, text)
            for key, pending in self.open_requests.items()
            if not pending.is_attended
            and (pending.call or pending.method not in ("tools/call", "subscriptions/listen"))
            and (text := find_overdue(pending, now, limits))
        ]
        for key, _, _ in found:
            del self.open_requests[key]
        return found

    def cancelled_id(self, message: Message) -> RequestId:
        """Returns the id of the request that a notifications/cancelled names."""
        return _request_id(message.params().get("requestId"))

    def cancellation(self, message: Message) -> bytes | None:
        """Renders a notifications/cancelled with the id that the server knows; None if it was not sent the request."""
        pending = self.open_requests.get(self.cancelled_id(message))
        if pending is None or pending.alias is None:
            return None
        return replace_values(message.raw, {("params", "requestId"): b"%d" % pending.alias.number})

    # --- from the client -----------------------------------------------------------------------------------------

    async def from_client(self, message: Message, client: Client | None = None) -> Step:
        """Decides about one message of the client's. A call may wait here until the server has a place for it."""
        if message.is_answer:
            return self._answer_from_client(message)
        try:
            if message.is_notification:
                return self._notification_from_client(message)
            return await self._request_from_client(message, client)
        except (AmbiguousKeys, NotJson) as problem:
            self._server.journal.diagnose(
                self._server.name, rules.MESSAGE_AMBIGUOUS, f"A request was refused: {problem}."
            )
            text = f"The request is ambiguous: {problem}. Send each key once."
            if isinstance(problem, NotJson):
                text = f"The request cannot be read: {problem}"
            return Step(to_client=error_reply(message.id, INVALID_REQUEST, text) if message.is_request else None)

    def _answer_from_client(self, message: Message) -> Step:
        if message.id not in self._questions:
            self.note_unpaired("client")
            return NOTHING
        return Step(to_server=message.with_id(self._questions.pop(message.id)).raw)

    def lose_questions(self) -> None:
        """The process that asked them has ended. The next one may use the same ids, as many servers count."""
        self._lost_questions.update(self._questions)
        self._questions.clear()

    def _ask_client(self, message: Message) -> bytes:
        assert message.id is not None
        shown = message
        if message.id in self._lost_questions or message.id in self._questions:
            # A late answer to the other one must not answer this one.
            shown = message.with_id(f"handfast-{token_hex(8)}")
        if len(self._questions) + len(self._lost_questions) < _OPEN_REQUESTS and shown.id is not None:
            self._questions[shown.id] = message.id
        return shown.raw

    def _withdrawal(self, message: Message) -> bytes:
        """Renders the server's notifications/cancelled with the id that the client knows."""
        asked = self.cancelled_id(message)
        for shown, own in self._questions.items():
            if own == asked and shown != own:
                return replace_values(message.raw, {("params", "requestId"): msgspec.json.encode(shown)})
        return message.raw

    def _notification_from_client(self, message: Message) -> Step:
        if message.method == "notifications/cancelled":
            pending = self.open_requests.get(self.cancelled_id(message))
            if pending is not None:
                pending.is_cancelled = True
                if pending.call is not None:
                    self._server.path.conclude(pending.call, Status.CANCELLED, reason="The client cancelled the call.")
                if pending.when_over is not None:
                    pending.when_over()
        elif message.method == "notifications/initialized":
            self._discover()
        return Step(to_server=message.raw)

    async def _request_from_client(self, message: Message, client: Client | None) -> Step:
        assert message.id is not None
        assert message.method is not None
        if message.id in self.open_requests:
            return self.turn_away(message, rules.MESSAGE_ID_IN_USE, "This id is in use. Use a fresh id.")
        if len(self.open_requests) >= _OPEN_REQUESTS:
            text = f"{_OPEN_REQUESTS} requests are open. Wait for answers before sending more."
            return self.turn_away(message, rules.CALLS_FULL, text)
        pending = self._open(message, message.method)
        if client is not None:
            pending.caller = self.caller.with_rights_of(client.caller)
        if message.method == "tools/list":
            pending.cursor = _cursor(message)
        self.open_requests[message.id] = pending  # after all that may refuse the request, or its id would stay in use
        if message.method != "tools/call":
            denied = deny_request(self._server.name, message, pending.caller.identity)
            if denied is None and pending.task_id and pending.caller.identity is not None:
                denied = await self._server.tasks.deny(pending.task_id, pending.caller)
            return Step(to_server=message.raw) if denied is None else self._deny(message.id, pending, denied)
        try:
            step = await self.admit_call(message, pending, client)
        except BaseException:
            self.open_requests.pop(message.id, None)
            if pending.call is not None:
                self._server.path.conclude(pending.call, Status.CANCELLED, rule=rules.CLIENT_LEFT, reason=LEFT)
            raise
        if step.to_server is None:
            self.open_requests.pop(message.id, None)
            if pending.ended:
                return Step(to_client=error_reply(message.id, UPSTREAM_FAILED, pending.ended))
        return step

    def _deny(self, request_id: RequestId, pending: Pending, denied: Denied) -> Step:
        """Refuses a request that its caller has no right to, on record."""
        del self.open_requests[request_id]
        note_denied(self._server, pending.method, pending.caller, denied)
        return Step(to_client=error_reply(request_id, INVALID_REQUEST, denied.text))

    def _discover(self) -> None:
        self._server.learner.discover(self._list_page, self._view, asker=self.caller.key)

    def _open(self, message: Message, method: str) -> Pending:
        meta = message.meta() if message.may_mention("_meta") else {}
        now = self._server.now()
        pending = Pending(method, META_VERSION in meta, self.caller, touched=now, began=now)
        if pending.is_modern:
            self._view = _view(meta.get(META_CAPABILITIES))
            self.caller = pending.caller = self.caller.introduced(bytes(meta.get(META_CLIENT, b"")))
            self._meta = {key: meta[key] for key in (META_VERSION, META_CAPABILITIES, META_CLIENT) if key in meta}
            if method != "server/discover" and not self._server.learner.has_discovered:
                # Only a probe so far: a legacy server would refuse a modern tools/list, or answer with half of one.
                self._discover()
        elif method == "initialize":
            self._meta = {}  # the client tried the modern way and fell back
            self._view = _view(message.params().get("capabilities"))
            self._greeting = asyncio.get_running_loop().create_future()
        if "progressToken" in meta:
            pending.progress_token = _request_id(meta["progressToken"])
        if method in TASK_REQUESTS:
            pending.task_id = read_task_id(message.params()) or ""  # a result without an id is still put on record
        return pending

    # --- from the server -----------------------------------------------------------------------------------------

    async def from_server(self, message: Message) -> bytes | None:
        """Returns what the client gets for one message of the server; None for nothing."""
        if message.is_request:
            return self._ask_client(message)
        if message.is_notification:
            if message.method == "notifications/tools/list_changed":
                self._server.learner.refresh(self._list_page, self._view)
            elif message.method == "notifications/progress":
                self._progressed(message)
            elif message.method == "notifications/cancelled" and self._lost_questions:
                return self._withdrawal(message)
            elif message.method in TASK_NOTIFICATIONS:
                return await self._server.tasks.settle_notification(message, self.caller)
            return message.raw
        pending = self.open_requests.pop(message.id, None) if message.id is not None else None
        if pending is None:
            self.note_unpaired("server")
            return None
        if pending.method == "initialize":
            self.stop_waiting()
        if pending.call is not None:
            return await self.settle_call(pending.call, pending, message)
        if pending.task_id is not None:
            return await self._server.tasks.settle_answer(
                message, pending.task_id, pending.method, self.caller, is_modern=pending.is_modern
            )
        if pending.method in LIST_KINDS and not message.has_error:
            return await self._answer_list(pending, message)
        return message.raw

    async def _answer_list(self, pending: Pending, message: Message) -> bytes:
        raw = message.raw
        if pending.method == "tools/list":
            raw = await learn_list(self._server, message, cursor=pending.cursor, view=self._view)
        return raw if pending.caller.identity is None else self._shown(pending, message, raw)

    def _shown(self, pending: Pending, message: Message, raw: bytes) -> bytes:
        """A list without what its caller may not use."""
        assert pending.caller.identity is not None
        if raw is not message.raw:
            message = read_message(raw)
        try:
            raw, hidden = hide_items(
                self._server.name, pending.method, message.result() or {}, raw, pending.caller.identity
            )
        except (AmbiguousKeys, NotJson) as problem:
            return self.fail(message.id or "", pending, f"The server's list could not be used: {problem}")
        if hidden:
            note_hidden(self._server, pending.method, pending.caller, hidden)
        return raw

    def find_sent(self, number: RequestId | None) -> Alias | None:
        """The open request that an HTTP server knows by this number."""
        for pending in self.open_requests.values():
            if pending.alias is not None and pending.alias.number == number:
                return pending.alias
        return None

    def note_unreadable(self, problem: BadMessage) -> None:
        self._server.journal.diagnose_unreadable(self._server.name, problem)

    async def refuse_answer(self, problem: BadMessage) -> bytes | None:
        """Records an unreadable message of the server; returns an error for the request that it names, if any."""
        self.note_unreadable(problem)
        pending = self.open_requests.pop(problem.id, None) if problem.id is not None else None
        if pending is None or problem.id is None:
            return None
        return self.fail(problem.id, pending, f"The server's answer could not be used: {problem.reason}")

    def refuse_overlong(self, head: bytes, limit: int) -> bytes | None:
        """As `note_overlong`; returns an error for the request it would have answered, if it can be known which one."""
        self.note_overlong(limit)
        request_id = id_in_head(head)
        if request_id is None and len(self.open_requests) == 1:
            (request_id,) = self.open_requests
        pending = self.open_requests.pop(request_id, None) if request_id is not None else None
        if pending is None or request_id is None:
            return None
        return self.fail(request_id, pending, overlong_text(limit))

    def note_overlong(self, limit: int) -> None:
        """Records a message of the server that is too large to be read, and is dropped."""
        reason = f"A message over the limit of {limit} bytes was dropped."
        self._server.journal.diagnose(self._server.name, rules.MESSAGE_TOO_LARGE, reason)

    def _progressed(self, message: Message) -> None:
        try:
            token = _request_id(message.params().get("progressToken"))
        except (AmbiguousKeys, NotJson):
            return
        for pending in self.open_requests.values():
            if pending.progress_token == token:
                pending.touched = self._server.now()

    def note_unpaired(self, side: str) -> None:
        reason = f"An answer from the {side} belongs to no open request and was dropped."
        self._server.journal.diagnose(self._server.name, rules.MESSAGE_UNPAIRED, reason)


def is_sign_of_life(message: Message, pending: Pending) -> bool:
    """Whether a message shows that a call proceeds: its own progress, or a question to the client; others do not."""
    if message.is_request:
        return True
    if message.method != "notifications/progress" or pending.progress_token is None:
        return False
    try:
        return _request_id(message.params().get("progressToken")) == pending.progress_token
    except (AmbiguousKeys, NotJson):
        return False


def overlong_text(limit: int) -> str:
    return f"The server's answer is over the limit of {limit} bytes and was dropped. Ask for less at a time."


def _view(capabilities: msgspec.Raw | None) -> bytes:
    found = b"" if capabilities is None else bytes(capabilities)
    return b"" if found == b"{}" else short_key(found)


def _cursor(message: Message) -> bytes | None:
    cursor = message.params().get("cursor")
    return None if cursor is None or bytes(cursor) == b"null" else bytes(cursor)


def _request_id(text: msgspec.Raw | None) -> RequestId:
    try:
        value: RequestId = msgspec.json.decode(text or b'""', type=str | int | float)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    return value
