"""A session belongs to the caller that opened it: to everybody else it is not there, and their attempt is on record."""

from collections.abc import Callable
from typing import NoReturn

from handfast.core.call.exchange import RecordType, Status
from handfast.gateway.admission.room import EVICTED, MADE_WAY
from handfast.gateway.callers.held_calls import EVICTED as QUESTION_EVICTED
from handfast.gateway.callers.held_calls import GIVEN_UP, HeldCalls
from handfast.gateway.calls.server_side import ServerSide
from handfast.gateway.http.exchange import HttpProblem
from handfast.gateway.settings.blocks import Limits

# The same words for both, so that nobody learns which ids exist.
UNKNOWN_SESSION = "This session is not known or has ended. Send initialize to begin a new one."
ENDED = "The client ended the session before the answer came."


def refuse_stranger(server: ServerSide, actor: str) -> NoReturn:
    """Somebody used a session that another caller opened. Raises: HttpProblem 404."""
    server.journal.note(
        RecordType.AUTH_FAILURE,
        Status.BLOCKED,
        server=server.name,
        rule="session.stranger",
        reason="A session was used by another caller than the one that opened it.",
        actor=actor,
        caller=actor,
    )
    raise HttpProblem(404, UNKNOWN_SESSION, rule="")


def note_evicted(server: ServerSide) -> None:
    server.journal.diagnose(server.name, EVICTED, MADE_WAY)


def held_calls(server: ServerSide, limits: Callable[[], Limits]) -> HeldCalls:
    """Those of one server, with what is given up on record."""

    def on_evict() -> None:
        server.journal.diagnose(server.name, QUESTION_EVICTED, GIVEN_UP)

    return HeldCalls(lambda: limits().question_timeout_s, on_evict=on_evict)
