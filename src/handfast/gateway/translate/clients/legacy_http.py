"""Legacy clients over HTTP in front of a Backend: sessions that belong to whoever opened them, bounded and expiring."""

import asyncio
import time
from collections.abc import Callable

from handfast.gateway.admission.draining import STOPPING
from handfast.gateway.admission.room import EVICTED, MADE_WAY, REFUSED, NoRoom, Room
from handfast.gateway.callers.identity import address_of_opener
from handfast.gateway.calls.session_owner import ENDED, UNKNOWN_SESSION
from handfast.gateway.http.event_log import EventShelf
from handfast.gateway.http.exchange import JSON, HttpExchange, HttpProblem
from handfast.gateway.settings.blocks import Limits
from handfast.gateway.translate.backend import Backend, Choice, ignore, leave
from handfast.gateway.translate.clients.http_reply import HttpReply
from handfast.gateway.translate.clients.legacy_client import Diagnose, RecordRefused, record_nothing
from handfast.gateway.translate.clients.legacy_session import LegacySession
from handfast.wire.codes import INVALID_REQUEST
from handfast.wire.eras import INTERACTIVE, LEGACY_REVISIONS
from handfast.wire.message import Message, read_message
from handfast.wire.replies import error_reply

_SESSIONS = 1000  # each of them keeps a stream open to the server


class LegacyFront:
    def __init__(
        self,
        backend: Backend,
        *,
        limits: Callable[[], Limits],
        diagnose: Diagnose,
        record_refused: RecordRefused = record_nothing,
        now: Callable[[], float] = time.monotonic,
        most_sessions: int = _SESSIONS,
    ) -> None:
        self._backend = backend
        self._limits = limits
        self._diagnose = diagnose
        self._record_refused = record_refused
        self._now = now
        self._most_sessions = most_sessions
        self._sessions: dict[str, LegacySession] = {}
        self._room: Room[LegacySession] = Room()
        self._shelf = EventShelf()
        self._sweeper: asyncio.Task[None] | None = None

    def quiesce(self) -> None:
        """The gateway is about to stop: streams that only listen end now, calls under way may finish."""
        for session in self._sessions.values():
            session.stop_listening()

    async def close(self, text: str = STOPPING) -> None:
        """Requests that are still under way get this text."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for session in list(self._sessions.values()):
            self._end(session, text)

    def knows(self, session_id: bytes) -> bool:
        """Whether it is the id of one of these sessions."""
        return session_id.decode("latin-1") in self._sessions

    # --- the three methods -----------------------------------------------------------------------------------------

    async def post(self, http: HttpExchange, message: Message, choice: Choice | None = None) -> None:
        """`choice` is what the address chose, where it can choose."""
        if message.method == "initialize" and http.header(b"mcp-session-id") is None:
            await self._initialize(http, message, choice)
            return
        session = self._session(http, choice)
        if not message.is_request:
            session.client.take(message)
            await http.respond(202, [])
            return
        session.has_called = session.has_called or message.method in INTERACTIVE
        reply = HttpReply(http, message.id, session.log, cancels_on_leave=False)
        try:
            await reply.run(session.client.request(message, reply.send, reply.flow))
        finally:
            session.last_used = self._now()

    async def get(self, http: HttpExchange, choice: Choice | None = None) -> None:
        session = self._session(http, choice)
        try:
            await session.listen(http)
        finally:
            session.last_used = self._now()

    async def delete(self, http: HttpExchange, choice: Choice | None = None) -> None:
        self._end(self._session(http, choice), ENDED)
        await http.respond(200, [])

    # --- sessions --------------------------------------------------------------------------------------------------

    def _session(self, http: HttpExchange, choice: Choice | None) -> LegacySession:
        """The caller's session. Raises: HttpProblem."""
        session_id = http.header(b"mcp-session-id")
        if session_id is None:
            raise HttpProblem(400, "There is no Mcp-Session-Id header. Send initialize first.")
        session = self._sessions.get(session_id.decode("latin-1"))
        if session is not None and session.actor != http.actor:
            self._diagnose("session.stranger", "A session was used by another caller than the one that opened it.")
            raise HttpProblem(404, UNKNOWN_SESSION, rule="")
        if session is None or (choice is not None and session.chose != choice.only):
            raise HttpProblem(404, UNKNOWN_SESSION, rule="session.unknown")
        version = http.header(b"mcp-protocol-version")
        if version is not None and version.decode("latin-1") not in LEGACY_REVISIONS:
            raise HttpProblem(400, f"This MCP-Protocol-Version is none of a session's: {', '.join(LEGACY_REVISIONS)}.")
        session.last_used = self._now()
        return session

    async def _initialize(self, http: HttpExchange, message: Message, choice: Choice | None) -> None:
        if not message.is_request:
            raise HttpProblem(400, "initialize is a request. Send it with an id.")
        address = address_of_opener(http, message)
        self._make_room(address)
        session = LegacySession(
            choice or self._backend,
            self._shelf,
            actor=http.actor,
            address=address,
            now=self._now,
            diagnose=self._diagnose,
            record_refused=self._record_refused,
            # Whoever has not answered by then will not: their session would have expired.
            question_seconds=self._limits().session_idle_s,
        )
        session.chose = choice.only if choice is not None else None
        self._sessions[session.id] = session
        self._room.add(session)
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep())
        is_open = False
        try:
            greeting = await session.client.request(message, ignore)
            is_open = greeting is not None and not read_message(greeting).has_error
        finally:
            if not is_open:
                self._end(session)
        greeting = greeting or error_reply(message.id, INVALID_REQUEST, STOPPING)
        headers = [(b"mcp-session-id", session.id.encode())] if is_open else []
        await http.respond(200, [JSON, *headers], greeting)

    def _make_room(self, address: str) -> None:
        """Raises: HttpProblem 503."""
        try:
            leaver = self._room.find_leaver(address, self._most_sessions)
        except NoRoom as problem:
            raise HttpProblem(503, str(problem), rule=REFUSED) from None
        if leaver is not None:
            self._diagnose(EVICTED, MADE_WAY)
            self._end(leaver)

    def _end(self, session: LegacySession, reason: str = "") -> None:
        self._sessions.pop(session.id, None)
        self._room.remove(session)
        session.close(reason)
        leave(session.backend, session.id)

    async def _sweep(self) -> None:
        while True:
            seconds = self._limits().session_idle_s
            await asyncio.sleep(min(30.0, seconds / 2))
            now = self._now()
            for session in list(self._sessions.values()):
                session.log.forget_delivered()
                if session.is_idle and now - session.last_used > seconds:
                    self._end(session)
