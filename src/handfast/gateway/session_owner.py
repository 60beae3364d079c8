"""A session belongs to the caller that opened it: to everybody else it is not there, and their attempt is on record."""

from typing import NoReturn

from handfast.core.exchange import RecordType, Status
from handfast.gateway.http_exchange import HttpProblem
from handfast.gateway.server_side import ServerSide

# The same words for both, so that nobody learns which ids exist.
UNKNOWN_SESSION = "This session is not known or has ended. Send initialize to begin a new one."


def refuse_stranger(server: ServerSide, actor: str) -> NoReturn:
    """Somebody used a session that another caller opened. Raises: HttpProblem 404."""
    server.journal.note(
        RecordType.AUTH_FAILURE,
        Status.BLOCKED,
        server=server.name,
        rule="session.stranger",
        reason="A session was used by another caller than the one that opened it.",
        actor=actor,
    )
    raise HttpProblem(404, UNKNOWN_SESSION)
