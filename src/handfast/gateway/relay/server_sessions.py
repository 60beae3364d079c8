"""Sessions that an HTTP server gave to clients: the caller and the open requests of each."""

from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakValueDictionary

from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.gateway.calls.conversation import Conversation
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.http.exchange import HttpExchange, HttpProblem
from handfast.gateway.sessions.session_table import LONGEST_ID, RELAYED_SESSIONS, SessionTable, Sweeper
from handfast.gateway.settings.blocks import Limits


@dataclass(slots=True, eq=False)
class _ServerSession:
    """A session that the server keeps and the gateway only remembers."""

    id: bytes
    caller: Caller
    conversation: Conversation
    opened: float
    last_used: float
    is_given: bool  # the gateway saw the server give it; a server without sessions takes any invented id
    streams: int = 0  # listening streams of its client

    @property
    def address(self) -> str:
        return self.caller.address

    @property
    def has_called(self) -> bool:
        return self.conversation.has_called

    @property
    def is_idle(self) -> bool:
        return not self.conversation.open_requests and not self.streams


class ServerSessions:
    def __init__(self, server: ServerSide, limits: Callable[[], Limits]) -> None:
        self._server = server
        self._limits = limits
        self._table: SessionTable[_ServerSession] = SessionTable(
            server.journal, server.name, now=server.now, most=RELAYED_SESSIONS
        )
        # Conversations of sessions that are not in the table, for as long as their requests keep them.
        self._unknown: WeakValueDictionary[tuple[bytes, str], Conversation] = WeakValueDictionary()
        self._sweeper = Sweeper(self._sweep, lambda: min(limits().call_timeout_s, limits().call_total_s))

    def __contains__(self, session: bytes) -> bool:
        return session in self._table

    def peek(self, session: bytes) -> _ServerSession | None:
        return self._table.peek(session)

    def get(self, session: bytes, http: HttpExchange) -> _ServerSession | None:
        """Raises: HttpProblem 404 where another caller opened it."""
        return self._table.get(session, http)

    def attend(self, session: bytes, conversation: Conversation) -> None:
        """Lets the caller's next requests find those under way in a session that the server has yet to accept."""
        self._unknown[session, conversation.caller.peer] = conversation

    def under_way(self, session: bytes, caller: Caller) -> Conversation | None:
        """The conversation of such a session, while the caller has requests under way in it."""
        found = self._unknown.get((session, caller.peer))
        return found if found is not None and found.open_requests else None

    def remember(self, session: bytes, conversation: Conversation, *, is_new: bool) -> bool:
        """Remembers a session that the server has accepted, so that invented ids cannot evict real sessions.

        False where it cannot be remembered: then no stream of this conversation can be resumed.
        """
        known = self._table.peek(session)
        if known is not None and known.conversation is conversation:
            return True
        if known is not None and not is_new:
            return False  # first requests of the session came from two addresses at once; the other was answered before
        if known is not None:
            self._end(session)  # the server has given the same id a second time
        if len(session) > LONGEST_ID:
            self._note_forgotten(f"its id is over the limit of {LONGEST_ID} bytes.")
            return False
        now = self._server.now()
        caller = conversation.caller = conversation.caller.in_session(session.decode("latin-1"))
        try:
            leaver = self._table.admit(
                _ServerSession(session, caller, conversation, opened=now, last_used=now, is_given=is_new)
            )
        except HttpProblem as problem:
            self._note_forgotten(str(problem))
            return False
        if leaver is not None:
            leaver.conversation.session = None  # nothing in it can be resumed
        self._sweeper.start()
        return True

    def _note_forgotten(self, why: str) -> None:
        self._server.journal.diagnose(self._server.name, rules.SESSION_NO_ROOM, f"A session is not remembered: {why}")

    def lose(self, session: bytes) -> None:
        """Forgets a session that the server no longer knows. The server may have restarted, with other tools.

        It may also have refused only that one request, so answers that are being relayed go on.
        """
        known = self._end(session)
        if known is not None and known.is_given:
            self._server.learner.restart()
        else:
            self._server.journal.diagnose(
                self._server.name, rules.SESSION_UNKNOWN, "The server does not know the session."
            )

    def _end(self, session: bytes) -> _ServerSession | None:
        known = self.forget(session)
        if known is not None:
            known.conversation.close_unattended("The server ended the session before the answer came.")
        return known

    def forget(self, session: bytes) -> _ServerSession | None:
        known = self._table.peek(session)
        if known is not None:
            self._table.remove(known)
            known.conversation.session = None  # nothing in it can be resumed
        return known

    async def _sweep(self, _seconds: float) -> None:
        """Ends requests that were not resumed in time, and forgets sessions that were idle for too long."""
        for conversation in [known.conversation for known in self._table]:
            for request_id, pending, text in conversation.take_overdue(self._server.now(), self._limits()):
                conversation.fail(request_id, pending, text, rule=rules.UPSTREAM_TIMEOUT)
        for known in self._table.idle_for(self._limits().session_idle_s):
            self.forget(known.id)

    def stop(self) -> None:
        """Stops the periodic sweep."""
        self._sweeper.stop()

    def close(self, reason: str) -> None:
        """Ends all open requests with this reason."""
        for known in self._table:
            known.conversation.close(reason)
