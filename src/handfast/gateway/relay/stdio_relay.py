"""A stdio MCP server behind `/mcp/<server>`: sessions in front, children behind, shared only where that is safe."""

import asyncio
from collections.abc import Callable
from functools import partial

import msgspec

from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.gateway.admission.server_era import EraRefused, ServerEra
from handfast.gateway.admission.server_health import ServerHealth, UpstreamResting
from handfast.gateway.callers.caller_ids import CallerIds
from handfast.gateway.callers.identity import opener_of
from handfast.gateway.calls.conversation import Conversation
from handfast.gateway.calls.param_headers import refuse_mismatch, refuse_param_mismatch
from handfast.gateway.calls.refused_requests import note_refused
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.http.exchange import JSON, ClientLeft, Headers, HttpExchange, HttpProblem
from handfast.gateway.process.channel import Channel
from handfast.gateway.process.children import MODERN, Children
from handfast.gateway.process.pipe import PipeFailed, Reach
from handfast.gateway.relay.child_sessions import ChildSession, ChildSessions
from handfast.gateway.relay.list_notices import ListNotices, is_list_notice
from handfast.gateway.relay.post_answer import PostAnswer
from handfast.gateway.sessions.session_table import ENDED, refuse_initialize
from handfast.gateway.settings.blocks import Isolation, Limits
from handfast.wire.codes import METHOD_NOT_FOUND, UPSTREAM_FAILED
from handfast.wire.eras import LEGACY_REVISION, LEGACY_REVISIONS, is_modern
from handfast.wire.headers import check_envelope, check_modern_headers
from handfast.wire.message import AmbiguousKeys, BadMessage, Message
from handfast.wire.methods import FOR_SESSION, INTERACTIVE, NEEDS_OWN_PROCESS
from handfast.wire.replies import error_reply, request
from handfast.wire.scan import NotJson
from handfast.wire.splice import replace_values

_DEAF = "The server does not read what it is sent. Try again later, or restart it."


class ServerDeaf(Exception):
    """The child's input is full and stays so; nothing of the message was sent."""


# Why a process cannot take a message.
_UNREACHABLE = (PipeFailed, UpstreamResting, ServerDeaf, ConnectionError, TimeoutError)


class StdioRelay:
    is_process = True

    def __init__(
        self,
        server: ServerSide,
        reach: Reach,
        *,
        health: ServerHealth,
        isolation: Callable[[], Isolation],
        limits: Callable[[], Limits],
        version: str,
        ids: CallerIds | None = None,
    ) -> None:
        """`ids` keeps the callers of a shared process apart; None where there is only one caller."""
        self._server = server
        self._ids = ids
        self.health = health
        self._isolation = isolation
        self._limits = limits
        self.children = Children(server, reach, self, health=health, limits=limits, version=version)
        self._era: ServerEra | None = None
        self._on_list_changed: Callable[[Message], None] = _hear_nothing
        self._sessions = ChildSessions(server, self.children, limits)
        self._waiting_for_room = 0
        self._closing_text = ""
        self._notices = ListNotices(self._tell_clients)

    def attach_era(self, era: ServerEra, on_list_changed: Callable[[Message], None]) -> None:
        """Sets the object that knows the server's era and probes its processes, and its listener for changed lists."""
        self._era = era
        self._on_list_changed = on_list_changed

    def quiesce(self) -> None:
        """The gateway is about to stop: streams that only listen end now, calls under way may finish."""
        self._sessions.stop_listening()

    def dismiss(self, text: str) -> None:
        """Called before `close`: requests under way end with this text, which says why."""
        self._closing_text = text
        self.children.dismiss(text)

    def stop(self) -> None:
        """Ends the sessions of clients."""
        self._sessions.close()

    async def close(self) -> None:
        await self.children.close()

    def has_sessions(self, channel: Channel) -> bool:
        """Whether clients are relayed to this process."""
        return bool(self._sessions.on(channel))

    # --- the three methods -----------------------------------------------------------------------------------------

    async def post(self, http: HttpExchange, message: Message, *, may_refuse: bool = False) -> None:
        """Relays a POST. Raises: EraRefused, with `may_refuse`, for a handshake that the server does not accept."""
        try:
            await self._post(http, message, may_refuse=may_refuse)
        except _UNREACHABLE as problem:
            await self.refuse(http, message, _explain(problem))

    async def refuse(self, http: HttpExchange, message: Message, text: str) -> None:
        """Answers with an error because no process can take the message; a call is judged and recorded all the same."""
        reply = error_reply(message.id, UPSTREAM_FAILED, text)
        if message.method == "tools/call" and message.id is not None:
            conversation = Conversation(self._server._replace(places=None), _list_nothing, http.caller)
            step = await conversation.from_client(message)
            pending = conversation.open_requests.pop(message.id, None)
            if step.to_client is not None:
                reply = step.to_client
            elif pending is not None:
                reply = conversation.fail(message.id, pending, text)
        await http.respond(200, [JSON], reply)

    def abandon(self, http: HttpExchange, message: Message) -> None:
        """Records a call whose client left before the call could reach the server."""
        Conversation(self._server, _list_nothing, http.caller).abandon(message)

    async def _post(self, http: HttpExchange, message: Message, *, may_refuse: bool) -> None:
        session_id = http.header(b"mcp-session-id")
        if is_modern(message, http.header(b"mcp-protocol-version"), session_id):
            await self._post_modern(http, message)
            return
        if session_id is None and message.method == "initialize":
            await self._initialize(http, message, may_refuse=may_refuse)
            return
        session = self._sessions.find(http)
        if message.method == "initialize":
            refused = refuse_initialize(self._server.journal, self._server.name, message)
            await http.respond(200, [JSON], refused)
            return
        await self._post_in_session(http, session, message)

    async def get(self, http: HttpExchange) -> None:
        await self._sessions.find(http).listen(http)

    async def delete(self, http: HttpExchange) -> None:
        session = self._sessions.find(http)
        await self._sessions.end(session, ENDED)
        await http.respond(200, [])

    # --- sessions --------------------------------------------------------------------------------------------------

    def _may_isolate(self) -> bool:
        return self._isolation() is not Isolation.SHARED

    async def _initialize(self, http: HttpExchange, message: Message, *, may_refuse: bool) -> None:
        try:
            params = message.params()
            capabilities = bytes(params.get("capabilities", msgspec.Raw(b"{}")))
            version = msgspec.json.decode(params.get("protocolVersion", msgspec.Raw(b'""')), type=str)
        except (AmbiguousKeys, NotJson, msgspec.DecodeError):
            raise HttpProblem(400, "The params of initialize cannot be read.") from None
        opener = opener_of(http, message)
        isolation = self._isolation()
        # Capabilities are fixed at initialize: a client that declares any needs a process that knows them.
        is_own = isolation is Isolation.SESSION or (isolation is Isolation.AUTO and not _is_empty(capabilities))
        if is_own:
            async with self._sessions.room_for_own(opener.address):
                channel = await self.children.start(headers=http.headers)
                conversation = self._new_conversation(channel, opener)
                session = self._sessions.open(opener, channel, conversation, message, owns_channel=True)
            await self._open_own(http, session, message, may_refuse=may_refuse)
            return
        if version not in LEGACY_REVISIONS:
            version = (
                LEGACY_REVISION  # a server answers an unknown revision with its newest, too; a client may name any
            )
        channel = await self.children.shared(version)
        assert channel.greeting is not None
        raw = replace_values(channel.greeting.raw, {("id",): msgspec.json.encode(message.id)})
        if channel.greeting.has_error:
            # The server refuses this revision; the next client may ask for another.
            self.children.forget(version)
            await self.children.stop(channel)
            await self._pass_on_refusal(http, raw, may_refuse=may_refuse)
            return
        conversation = self._new_conversation(channel, opener)
        session = self._sessions.open(opener, channel, conversation, message, owns_channel=False)
        session.version = version
        await http.respond(200, [JSON, _session_header(session)], raw)

    async def _open_own(self, http: HttpExchange, session: ChildSession, message: Message, *, may_refuse: bool) -> None:
        """Performs the client's own handshake with its own process."""
        conversation = session.conversation
        step = await conversation.from_client(message)
        assert step.to_server is not None
        client_id = msgspec.json.encode(message.id)
        try:
            greeting = await self.children.initialize(
                session.channel, lambda own_id: replace_values(message.raw, {("id",): b"%d" % own_id})
            )
        except BaseException:
            await self._sessions.end(session)
            raise
        greeting.raw = replace_values(greeting.raw, {("id",): client_id})
        greeting.id = message.id
        reply = await conversation.from_server(greeting)
        assert reply is not None
        if greeting.has_error:
            await self._sessions.end(session)
            await self._pass_on_refusal(http, reply, may_refuse=may_refuse)
            return
        await http.respond(200, [JSON, _session_header(session)], reply)

    async def _pass_on_refusal(self, http: HttpExchange, reply: bytes, *, may_refuse: bool) -> None:
        """Answers with the server's refusal. Raises: EraRefused, with `may_refuse`, where the server is modern."""
        assert self._era is not None
        if may_refuse:
            self._era.note_refused_handshake()
            if await self._era.is_modern():
                raise EraRefused
        await http.respond(200, [JSON], reply)

    def _new_conversation(self, channel: Channel, caller: Caller) -> Conversation:
        async def ask_for_page(conversation: Conversation, cursor: bytes | None) -> Message:
            # The session may have moved to another process, or needs one in place of a dead one.
            asked = await self._sessions.living_channel(conversation) or channel
            return await asked.ask(lambda own_id: conversation.list_request(own_id, cursor))

        return Conversation(self._server, ask_for_page, caller)

    async def _post_in_session(self, http: HttpExchange, session: ChildSession, message: Message) -> None:
        if message.method == "notifications/initialized" and not session.owns_channel:
            await session.conversation.from_client(message)
            await http.respond(202, [])  # the shared child had its handshake
            return
        await self._wait_for_room(session.channel)
        if message.is_request:
            session.has_called = session.has_called or message.method in INTERACTIVE
            await self._relay(http, session, message)
            return
        await self._give_what_it_needs(session, message, http.headers)
        step = await session.conversation.from_client(message)
        if step.to_server is not None and session.channel.is_alive:
            self._send_plain(session, message, step.to_server, http.headers)
        await http.respond(202, [])

    async def _give_what_it_needs(self, session: ChildSession, message: Message, headers: Headers) -> None:
        """Gives the session a process of its own, if the message needs one. Raises: as give_own_child."""
        if not session.owns_channel and self._may_isolate() and _needs_own_child(message):
            await self._sessions.give_own_child(session, headers)

    def _send_plain(self, session: ChildSession, message: Message, body: bytes, headers: Headers) -> None:
        if message.method != "notifications/cancelled":
            session.channel.send(body, headers)
            return
        client_id = session.conversation.cancelled_id(message)
        for answer in session.answers:
            answer.cancel(message, client_id)

    async def _relay(self, http: HttpExchange, session: ChildSession, message: Message) -> None:
        if not session.channel.is_alive:
            session.headers = http.headers
        step = await session.conversation.from_client(message, http)
        if step.to_server is None:
            await http.respond(200 if step.to_client else 202, [JSON], step.to_client or b"")
            return
        answer = PostAnswer(
            http,
            session.conversation,
            self._server,
            message,
            health=self.health,
            log=session.log,
            other_channel=lambda: self._sessions.move_to_next(session),
            ids=self._ids,
        )
        session.answers.append(answer)
        try:
            await self._find_process(session, message, answer, http.headers)
            await answer.run(session.channel, self._limits())
        finally:
            session.answers.remove(answer)
            session.last_used = self._server.now()

    async def _find_process(
        self, session: ChildSession, message: Message, answer: PostAnswer, headers: Headers
    ) -> None:
        """Sees that the session has a process that can take the request; else the answer fails.

        The request is open by now, so it can be cancelled meanwhile, or end with its session.
        """
        try:
            if not session.channel.is_alive:
                await self._sessions.revive(session)  # many clients take a 404 for the end for good
            await self._give_what_it_needs(session, message, headers)
            if message.method in FOR_SESSION:
                session.note_asked(message)
            if self._closing_text:
                raise ConnectionError("the server is being closed")
        except HttpProblem as problem:
            answer.fail(problem.text)
        except _UNREACHABLE as problem:
            answer.fail(self._closing_text or _explain(problem))
        if session.owns_channel:
            answer.ids, answer.hold_back = None, session.channel.hold_back

    # --- modern clients: no session, one child for all -------------------------------------------------------------

    async def _post_modern(self, http: HttpExchange, message: Message) -> None:
        problem = check_envelope(message) if message.is_request else None
        if problem is None and (mismatch := refuse_mismatch(self._server, http, message)):
            await http.respond(400, [JSON], mismatch)  # it is on record already
            return
        problem = problem or check_modern_headers(http.headers, message)
        if problem is not None:
            note_refused(partial(self._server.journal.diagnose, self._server.name), message, problem)
            await http.respond(400, [JSON], problem)
            return
        if message.method in FOR_SESSION:
            text = f"There is no {message.method} in this revision. Send initialize without _meta to use an older one."
            await http.respond(404, [JSON], error_reply(message.id, METHOD_NOT_FOUND, text))
            return
        if message.is_notification:
            await http.respond(202, [])  # a modern client cancels by leaving, and has nothing else to notify of
            return
        channel = self.children.running(MODERN)
        if channel is None:
            try:
                channel = await http.while_present(self.children.shared(MODERN))
            except ClientLeft:
                self.abandon(http, message)
                return
        await self._wait_for_room(channel)
        conversation = self._new_conversation(channel, http.caller)
        step = await conversation.from_client(message, http)
        if step.to_server is None:
            await http.respond(200 if step.to_client else 202, [JSON], step.to_client or b"")
            return
        mismatch = refuse_param_mismatch(self._server, conversation, http.headers, message)
        if mismatch is not None:  # the child cannot see headers
            await http.respond(400, [JSON], mismatch)
            return
        answer = PostAnswer(
            http,
            conversation,
            self._server,
            message,
            health=self.health,
            other_channel=lambda: self.children.shared(MODERN),
            ids=self._ids,
        )
        await answer.run(channel, self._limits())

    async def _wait_for_room(self, channel: Channel) -> None:
        """Waits, at most as long as a call may, for a process that does not read its input. Raises: ServerDeaf."""
        if channel.has_room:
            return
        limits = self._limits()
        if self._waiting_for_room >= limits.concurrent_calls:
            raise ServerDeaf(_DEAF)
        self._waiting_for_room += 1
        try:
            async with asyncio.timeout(limits.call_timeout_s):
                await channel.room()
        except TimeoutError:
            self.health.note_error(_DEAF)
            raise ServerDeaf(_DEAF) from None
        finally:
            self._waiting_for_room -= 1

    # --- as the owner of channels ----------------------------------------------------------------------------------

    def uncorrelated(self, channel: Channel, message: Message) -> bool:
        """Takes what a session's own process sends; from a shared one only changed lists, since they concern all."""
        if message.is_answer:  # to no open request: it must not stand in for the answer to another
            self._server.journal.diagnose(
                self._server.name, rules.MESSAGE_UNPAIRED, "An answer from the server belongs to no open request."
            )
            return True
        sessions = self._sessions.on(channel)
        for session in sessions:
            if session.owns_channel:
                session.take(message)
                return True
        if is_list_notice(message):
            if message.method == "notifications/tools/list_changed":
                self._server.learner.refresh(
                    lambda cursor: channel.ask(lambda own_id: self._plain_list(own_id, cursor))
                )
            self._notices.take(channel, message)
            return True
        if message.is_request:
            reason = "A request from a shared server was refused: it cannot be known whose it is."
            self._server.journal.diagnose(self._server.name, rules.MESSAGE_UNOWNED, reason)
        return False

    def _tell_clients(self, channel: Channel, message: Message) -> None:
        """Delivers to every session on the process, and to the listener that `attach_era` set."""
        for session in self._sessions.on(channel):
            session.take(message)
        self._on_list_changed(message)

    def _plain_list(self, own_id: int, cursor: bytes | None) -> bytes:
        return request(own_id, "tools/list", None if cursor is None else {"cursor": msgspec.Raw(cursor)})

    def unreadable(self, problem: BadMessage) -> None:
        self._server.journal.diagnose_unreadable(self._server.name, problem)

    def overlong(self, limit: int) -> None:
        reason = f"A message over the limit of {limit} bytes was dropped."
        self._server.journal.diagnose(self._server.name, rules.MESSAGE_TOO_LARGE, reason)

    def exited(self, channel: Channel, code: int) -> None:
        for session in self._sessions.on(channel):
            session.lose_process()
        self.children.exited(channel, code)


def _explain(problem: Exception) -> str:
    if isinstance(problem, PipeFailed):
        return f"The server {problem}"
    if isinstance(problem, UpstreamResting | ServerDeaf):
        return str(problem)
    return "The server did not complete its handshake. Look at its messages in the gateway's output."


def _hear_nothing(_message: Message) -> None:
    """Stands in until `attach_era` sets a listener."""


async def _list_nothing(_conversation: Conversation, _cursor: bytes | None) -> Message:
    raise ConnectionError("the server is not running")


def _session_header(session: ChildSession) -> tuple[bytes, bytes]:
    return b"mcp-session-id", session.id


def _needs_own_child(message: Message) -> bool:
    """Whether a message sets what a shared process cannot keep apart: log levels, subscriptions and tasks."""
    if message.method != "tools/call":
        return message.method in NEEDS_OWN_PROCESS
    try:
        return "task" in message.params()
    except (AmbiguousKeys, NotJson):
        return False  # it is refused where it is read


def _is_empty(capabilities: bytes) -> bool:
    try:
        return not msgspec.json.decode(capabilities)
    except (msgspec.DecodeError, RecursionError):
        return False
