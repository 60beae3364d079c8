"""The interface of activity stores, and `open_store`, the only function that knows the kinds of stores."""

import hmac
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from secrets import token_bytes
from typing import Protocol

from handfast.activity.chain import Head
from handfast.activity.query import RecordFilter
from handfast.activity.walk import ChainWalk
from handfast.core.call.exchange import Record

_log = logging.getLogger("handfast.activity")


class StoreError(Exception):
    """The store cannot be opened, read or written; the message says in one line what happened, then what to do."""


class StoreMissing(StoreError):
    """There is no store in the state folder yet, or only an empty file in its place."""

    def __init__(self, message: str, *, empty_file: Path | None = None) -> None:
        super().__init__(message)
        self.empty_file = empty_file


class RecordNotFound(StoreError):
    """No single record has this id or prefix."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record and its place in the chain."""

    seq: int
    record: Record
    previous: str
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The bounds of the history; None means unlimited."""

    keep_days: float | None = None
    keep_bytes: int | None = None


class WritableStore(Protocol):
    """What a recorder needs of a store. Every method raises StoreError if the store fails."""

    def append(self, records: Sequence[Record]) -> Head:
        """Appends the records to the chain in order and makes them durable, all or none."""

    def prune(self, retention: Retention, *, now: datetime) -> int:
        """Makes one small step of retention; returns how much was done, 0 if nothing is left to do."""

    def digest(self, value: bytes) -> str:
        """A keyed hash, comparable within this store only."""

    def derive_key(self, purpose: str) -> bytes:
        """A key for another purpose, the same for every process and every start with this store."""

    def close(self) -> None:
        """Closes the store. May be called twice."""


class ActivityStore(WritableStore, Protocol):
    """One chain of records. Every method raises StoreError if the store fails."""

    def head(self) -> Head:
        """The end of the chain."""

    def query(self, wanted: RecordFilter, *, oldest_first: bool = False) -> Iterator[StoredRecord]:
        """The records that match, in order of sequence; holds neither lock nor snapshot between records."""

    def read(self, id_or_prefix: str) -> StoredRecord:
        """The record with this id or prefix. Raises: RecordNotFound."""

    def follow(self, after: int, wanted: RecordFilter) -> tuple[list[StoredRecord], int]:
        """The matching records committed after a sequence, and the sequence to pass next time."""

    def walk(self, *, noted: str = "") -> Iterator[ChainWalk]:
        """Checks the whole chain as it is now; yields progress, and the outcome last."""


class LateStore:
    """Stands in for a store that cannot be opened yet: each append tries again. Until then its keys are its own."""

    def __init__(self, open_it: Callable[[], WritableStore]) -> None:
        self._open_it = open_it
        self._opened: WritableStore | None = None
        self._key = token_bytes(32)

    def append(self, records: Sequence[Record]) -> Head:
        if self._opened is None:
            self._opened = self._open_it()
        return self._opened.append(records)

    def prune(self, retention: Retention, *, now: datetime) -> int:
        return 0 if self._opened is None else self._opened.prune(retention, now=now)

    def digest(self, value: bytes) -> str:
        opened = self._opened
        return hmac.digest(self._key, value, "sha256").hex() if opened is None else opened.digest(value)

    def derive_key(self, purpose: str) -> bytes:
        """The same before and after the store is opened: ids given out under it stay valid."""
        return hmac.digest(self._key, purpose.encode(), "sha256")

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


def open_store_late(folder: Path, kind: str = "sqlite") -> WritableStore:
    """The store, or a stand-in until it can be opened, where the operator chose to continue without records."""
    try:
        return open_store(folder, kind)
    except StoreError as problem:
        text = (
            "%s Starting all the same, as activity.on_failure is continue: calls pass unrecorded until it can be used."
        )
        _log.error(text, problem)
        return LateStore(lambda: open_store(folder, kind))


def open_store(folder: Path, kind: str = "sqlite", *, read_only: bool = False) -> ActivityStore:
    """Opens the store of a state folder; creates it unless `read_only`. Raises: StoreMissing, StoreError."""
    if kind != "sqlite":
        raise StoreError('activity.store can only be "sqlite" in this version; change the setting and start again.')
    from handfast.activity.sqlite import SqliteStore  # stores import this module, and only the chosen one is loaded

    return SqliteStore.open_existing(folder) if read_only else SqliteStore.open(folder)
