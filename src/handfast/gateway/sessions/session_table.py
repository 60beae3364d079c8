"""The sessions of clients: found by id, used by their owner alone, bounded by address, and ended when idle for long."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Generic, NoReturn, Protocol, TypeVar

from handfast.core.access.identity import Identity
from handfast.core.access.permissions import covers
from handfast.core.access.scopes import Scope
from handfast.core.call import rules
from handfast.core.call.caller import Caller
from handfast.core.call.exchange import RecordType, Status
from handfast.gateway.admission.room import MADE_WAY, H, Held, NoRoom, Room
from handfast.gateway.calls.journal import Journal
from handfast.gateway.http.exchange import HttpExchange, HttpProblem
from handfast.wire.codes import INVALID_REQUEST
from handfast.wire.message import Message
from handfast.wire.replies import error_reply

# Of one server, at /mcp/<server> where the eras fit: a session costs a kilobyte.
RELAYED_SESSIONS = 10_000
# Of one server, or at /mcp with all its servers: each session keeps a stream open to the server.
TRANSLATED_SESSIONS = 1000
# The same text for unknown and foreign sessions, so that callers do not learn which ids exist.
UNKNOWN_SESSION = "This session is not known or has ended. Send initialize to begin a new one."
INITIALIZED = "This session has had its initialize. Open another one."
ENDED = "The client ended the session before the answer came."
LONGEST_ID = 1024  # bytes, of a session that a server gives; a signed token has some 500
_LONGEST_PAUSE = 30.0


_FEWER_RIGHTS = (
    "The session was used with scopes that this token does not have, and its stream may show what they allow. Open"
    " another session, or send a token with all of them."
)


@dataclass(slots=True)
class _Rights:
    """What the requests of a session were allowed so far."""

    last: Identity | None  # of the latest request
    scopes: set[Scope]


class ClientSession(Held, Protocol):
    id: bytes
    last_used: float

    @property
    def caller(self) -> Caller:
        """The caller that opened the session."""


S = TypeVar("S", bound=ClientSession)


class SessionTable(Generic[S]):
    def __init__(self, journal: Journal, server: str, *, now: Callable[[], float], most: int) -> None:
        """`server` is empty at /mcp, where a session is with all servers."""
        self._journal = journal
        self._server = server
        self._now = now
        self._most = most
        self._by_id: dict[bytes, S] = {}
        self._room: Room[S] = Room()
        self._rights: dict[bytes, _Rights] = {}  # of sessions whose callers have signed in

    def __iter__(self) -> Iterator[S]:
        return iter(list(self._by_id.values()))

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, session_id: bytes) -> bool:
        return session_id in self._by_id

    def find(self, http: HttpExchange) -> S:
        """Returns the session that the request names. Raises: HttpProblem 400 and 404."""
        session_id = http.header(b"mcp-session-id")
        if session_id is None:
            raise HttpProblem(400, "There is no Mcp-Session-Id header. Send initialize first.")
        session = self.get(session_id, http)
        if session is None:
            refuse_unknown()
        return session

    def peek(self, session_id: bytes) -> S | None:
        """Returns the session with this id without checking who opened it."""
        return self._by_id.get(session_id)

    def get(self, session_id: bytes, http: HttpExchange) -> S | None:
        """Returns the session with this id, if there is one. Raises: HttpProblem 404 if another actor opened it."""
        session = self._by_id.get(session_id)
        if session is None:
            return None
        if session.caller.actor != http.caller.actor:
            self._refuse_stranger(http.caller)
        if http.caller.identity is not None:
            self._check_rights(session, http, http.caller.identity)
        session.last_used = self._now()
        return session

    def _check_rights(self, session: S, http: HttpExchange, identity: Identity) -> None:
        """Keeps what a session's requests may do; a stream shows their answers, so it needs as much.

        Raises: HttpProblem 403.
        """
        rights = self._rights.get(session.id)
        if rights is None:
            opener = session.caller.identity
            rights = self._rights[session.id] = _Rights(opener, set(() if opener is None else opener.scopes))
        if http.method == "GET":
            if not covers(identity, rights.scopes):
                raise HttpProblem(403, _FEWER_RIGHTS, rule=rules.ACCESS_SCOPE)
        elif rights.last is not identity:
            rights.last = identity
            rights.scopes.update(identity.scopes)

    def _refuse_stranger(self, caller: Caller) -> NoReturn:
        self._journal.note(
            RecordType.AUTH_FAILURE,
            Status.BLOCKED,
            server=self._server,
            rule=rules.SESSION_STRANGER,
            reason="A session was used by another caller than the one that opened it.",
            caller=caller,
            is_refusal=True,
        )
        raise HttpProblem(404, UNKNOWN_SESSION, rule="")

    def admit(self, session: S) -> S | None:
        """Adds a session. Returns the one that was removed to make room for it, which has yet to be ended.

        Raises: HttpProblem 503.
        """
        leaver = self.find_leaver(self._room, session.address, self._most)
        if leaver is not None:
            self.remove(leaver)
        self.add(session)
        self._room.add(session)
        return leaver

    def add(self, session: S) -> None:
        """Adds a session whose room is counted elsewhere."""
        self._by_id[session.id] = session

    def idle_for(self, seconds: float) -> list[S]:
        """Returns the sessions that were idle for longer than this."""
        now = self._now()
        return [one for one in self._by_id.values() if one.is_idle and now - one.last_used > seconds]

    def free_room(self, session: S) -> None:
        """Keeps the session, whose room is counted elsewhere from here on."""
        self._room.remove(session)

    def remove(self, session: S) -> None:
        """Removes a session. Does nothing if it is not in the table."""
        self._by_id.pop(session.id, None)
        self._rights.pop(session.id, None)
        self._room.remove(session)

    def find_leaver(self, room: Room[H], address: str, most: int) -> H | None:
        """Returns which one makes way for another of this address, and records that. Raises: HttpProblem 503."""
        try:
            leaver = room.find_leaver(address, most)
        except NoRoom as problem:
            raise HttpProblem(503, str(problem), rule=rules.SESSION_NO_ROOM) from None
        if leaver is not None:
            note_evicted(self._journal, self._server)
        return leaver


def refuse_unknown() -> NoReturn:
    """Raises: HttpProblem 404."""
    raise HttpProblem(404, UNKNOWN_SESSION, rule=rules.SESSION_UNKNOWN)


def refuse_initialize(journal: Journal, server: str, message: Message) -> bytes:
    """Refuses an initialize in an open session: another one would change what is judged in it."""
    journal.diagnose(server, rules.SESSION_INITIALIZED, f"initialize was refused. {INITIALIZED}")
    return error_reply(message.id, INVALID_REQUEST, INITIALIZED)


def note_evicted(journal: Journal, server: str) -> None:
    journal.diagnose(server, rules.SESSION_EVICTED, MADE_WAY)


class Sweeper:
    """Looks now and then for what was idle for too long, once it was started."""

    def __init__(self, look: Callable[[float], Awaitable[None]], seconds: Callable[[], float]) -> None:
        """`look` receives the seconds after which idle is too long."""
        self._look = look
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def stop(self) -> None:
        self._is_stopped = True
        if self._task is not None:
            self._task.cancel()

    async def finish(self) -> None:
        """Stops, and returns once nothing more is ended by this sweeper."""
        self.stop()
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        while not self._is_stopped:  # a session that was being ended may have taken the cancellation for its own
            seconds = self._seconds()
            await asyncio.sleep(min(_LONGEST_PAUSE, seconds / 2))
            await self._look(seconds)
