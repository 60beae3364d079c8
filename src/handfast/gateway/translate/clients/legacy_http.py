"""Legacy clients over HTTP in front of a Backend: sessions, each of the caller that opened it, bounded and expiring."""

import time
from collections.abc import Callable
from functools import partial

from handfast.core.call.caller import Caller
from handfast.gateway.admission.draining import STOPPING
from handfast.gateway.callers.identity import opener_of
from handfast.gateway.calls.journal import Journal
from handfast.gateway.http.event_log import EventShelf
from handfast.gateway.http.exchange import JSON, HttpExchange, HttpProblem
from handfast.gateway.sessions.listening_session import ListeningSession
from handfast.gateway.sessions.session_table import ENDED, SessionTable, Sweeper, refuse_unknown
from handfast.gateway.settings.blocks import Limits
from handfast.gateway.translate.backend import Backend, Choice, ignore, leave
from handfast.gateway.translate.clients.http_reply import HttpReply
from handfast.gateway.translate.clients.legacy_client import Diagnose, LegacyClient, RecordRefused, record_nothing
from handfast.wire.codes import INVALID_REQUEST
from handfast.wire.eras import LEGACY_REVISIONS
from handfast.wire.message import Message, read_message
from handfast.wire.methods import INTERACTIVE
from handfast.wire.replies import error_reply


class TranslatedSession(ListeningSession):
    def __init__(
        self,
        backend: Backend,
        shelf: EventShelf,
        *,
        opener: Caller,
        now: Callable[[], float],
        diagnose: Diagnose,
        record_refused: RecordRefused,
        question_seconds: float,
    ) -> None:
        super().__init__(shelf, opener, now=now)
        self.backend = backend
        self.chose: frozenset[str] | None = None  # the servers that the session is for; None for all of the front
        self.client = LegacyClient(
            backend,
            self.say,
            caller=self.caller,
            diagnose=diagnose,
            record_refused=record_refused,
            question_seconds=question_seconds,
        )

    @property
    def is_busy(self) -> bool:
        return self.client.is_busy

    def _end_requests(self, reason: str) -> None:
        self.client.close(reason)


class LegacyFront:
    def __init__(
        self,
        backend: Backend,
        journal: Journal,
        server: str,
        *,
        limits: Callable[[], Limits],
        record_refused: RecordRefused = record_nothing,
        now: Callable[[], float] = time.monotonic,
        most_sessions: int,
    ) -> None:
        """`server` is the name in records; empty where the backend is that of all servers."""
        self._backend = backend
        self._limits = limits
        self._diagnose = partial(journal.diagnose, server)
        self._record_refused = record_refused
        self._now = now
        self._sessions: SessionTable[TranslatedSession] = SessionTable(journal, server, now=now, most=most_sessions)
        self._shelf = EventShelf()
        self._sweeper = Sweeper(self._end_idle, lambda: limits().session_idle_s)

    def quiesce(self) -> None:
        """The gateway is about to stop: streams that only listen end now, calls under way may finish."""
        for session in self._sessions:
            session.stop_listening()

    async def close(self, text: str = STOPPING) -> None:
        """Ends all sessions; requests under way are answered with this text."""
        for session in self._sessions:
            self._end(session, text)
        await self._sweeper.finish()

    def knows(self, session_id: bytes) -> bool:
        """Whether it is the id of one of these sessions."""
        return session_id in self._sessions

    # --- the three methods -----------------------------------------------------------------------------------------

    async def post(self, http: HttpExchange, message: Message, choice: Choice | None = None) -> None:
        """`choice` has the servers that the URL chose, where it can choose."""
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
            await reply.run(
                session.client.request(
                    message, reply.send, reply.flow, caller=session.caller.with_rights_of(http.caller)
                )
            )
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

    def _session(self, http: HttpExchange, choice: Choice | None) -> TranslatedSession:
        """The caller's session. Raises: HttpProblem."""
        session = self._sessions.find(http)
        if choice is not None and session.chose != choice.only:
            refuse_unknown()
        version = http.header(b"mcp-protocol-version")
        if version is not None and version.decode("latin-1") not in LEGACY_REVISIONS:
            raise HttpProblem(400, f"This MCP-Protocol-Version is none of a session's: {', '.join(LEGACY_REVISIONS)}.")
        return session

    async def _initialize(self, http: HttpExchange, message: Message, choice: Choice | None) -> None:
        if not message.is_request:
            raise HttpProblem(400, "initialize is a request. Send it with an id.")
        session = TranslatedSession(
            choice or self._backend,
            self._shelf,
            opener=opener_of(http, message),
            now=self._now,
            diagnose=self._diagnose,
            record_refused=self._record_refused,
            # A client that has not answered by then will not: its session would have expired.
            question_seconds=self._limits().session_idle_s,
        )
        session.chose = choice.only if choice is not None else None
        leaver = self._sessions.admit(session)
        if leaver is not None:
            self._end(leaver)
        self._sweeper.start()
        is_open = False
        try:
            greeting = await session.client.request(message, ignore)
            is_open = greeting is not None and not read_message(greeting).has_error
        finally:
            if not is_open:
                self._end(session)
        greeting = greeting or error_reply(message.id, INVALID_REQUEST, STOPPING)
        headers = [(b"mcp-session-id", session.id)] if is_open else []
        await http.respond(200, [JSON, *headers], greeting)

    def _end(self, session: TranslatedSession, reason: str = "") -> None:
        self._sessions.remove(session)
        session.close(reason)
        leave(session.backend, session.caller)

    async def _end_idle(self, seconds: float) -> None:
        for session in self._sessions:
            session.log.forget_delivered()
        for session in self._sessions.idle_for(seconds):
            self._end(session)
