"""Large results that are kept in the project's database, so that any of its processes can hand out the rest."""

import logging
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from django.db import DatabaseError, router, transaction
from django.db.models import QuerySet, Sum

from handfast.core.call.policy import OutputPolicy
from handfast.toolkit.running.kept_results import CutResult

if TYPE_CHECKING:
    from handfast.django.models import KeptResult as Row

_MOST_BYTES: Final = 16 * 1024 * 1024  # of one caller: three results of the largest size that may leave a tool
_SECONDS: Final = 900.0  # an agent that has not come back for the next piece after a quarter of an hour has gone on
_LENGTH: Final = 4  # bytes that say how long a piece is

_log = logging.getLogger("handfast.django")


class DatabaseResults:
    """A ResultStore in a table: bounded for each caller, dropping the oldest first; expired results are not found.

    Its coroutines never wait, so that they can be driven in a thread without an event loop, where Django's queries may
    be made. An error of the database does not fail the call: the result is then not kept.
    """

    def __init__(
        self, *, most_bytes: int = _MOST_BYTES, seconds: float = _SECONDS, now: Callable[[], float] = time.time
    ) -> None:
        """Raises: ValueError, where not even one result would fit."""
        if most_bytes < OutputPolicy().max_bytes:
            raise ValueError(f"Kept results need room for one: at least {OutputPolicy().max_bytes} bytes.")
        self._most_bytes = most_bytes
        self._milliseconds = int(seconds * 1000)
        self._now = now

    async def keep(self, key: str, kept: CutResult) -> None:
        try:
            with transaction.atomic(using=_database()):
                _stored().create(**_columns(kept), digest=_digest(key), expires=self._moment() + self._milliseconds)
            # In a transaction of its own: if the cleanup fails, the result is still kept.
            with transaction.atomic(using=_database()):
                _stored().filter(expires__lte=self._moment()).delete()
                self._make_room(kept.owner, newest=_digest(key))
        except DatabaseError as error:
            _note(error)

    async def find(self, key: str) -> CutResult | None:
        try:
            with transaction.atomic(using=_database()):
                row = _stored().filter(digest=_digest(key), expires__gt=self._moment()).first()
        except DatabaseError as error:
            _note(error)
            return None
        return None if row is None else _kept(row)

    def _moment(self) -> int:
        return int(self._now() * 1000)

    def _make_room(self, owner: str, *, newest: str) -> None:
        theirs = _stored().filter(owner=owner)
        too_much = (theirs.aggregate(size=Sum("size"))["size"] or 0) - self._most_bytes
        if too_much <= 0:
            return
        others = theirs.exclude(digest=newest)
        last = 0
        for expires, size in others.order_by("expires").values_list("expires", "size"):
            last, too_much = expires, too_much - size
            if too_much <= 0:
                break
        others.filter(expires__lte=last).delete()


def _database() -> str:
    """The database that writes go to, for reading too: a replica may lag behind an agent that asks for the rest."""
    from handfast.django.models import KeptResult as Row

    return router.db_for_write(Row)


def _stored() -> "QuerySet[Row]":
    from handfast.django.models import KeptResult as Row

    return Row.objects.using(_database())


def _digest(key: str) -> str:
    """What is stored for a key: a reader of the table, or of a backup, cannot make tokens from it."""
    return sha256(key.encode()).hexdigest()


def _columns(kept: CutResult) -> dict[str, object]:
    return {
        "owner": kept.owner,
        "tool": kept.tool,
        "arguments": kept.arguments,
        "pieces": b"".join(len(piece).to_bytes(_LENGTH, "big") + piece for piece in kept.pieces),
        "beside": kept.beside,
        "items_key": kept.items_key,
        "total_items": kept.total_items,
        "size": kept.size,
    }


def _kept(row: "Row") -> CutResult:
    return CutResult(
        owner=row.owner,
        tool=row.tool,
        arguments=row.arguments,
        pieces=tuple(_cut(bytes(row.pieces))),
        total_items=row.total_items,
        beside=bytes(row.beside),
        items_key=row.items_key,
    )


def _cut(joined: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(joined):
        start = place + _LENGTH
        place = start + int.from_bytes(joined[place:start], "big")
        yield joined[start:place]


def _note(error: DatabaseError) -> None:
    _log.warning(
        "kept_results.refused: %s. Look at the database, and whether `manage.py migrate` has run.", type(error).__name__
    )
    _log.debug("kept_results.refused", exc_info=True)
