"""The interface of activity stores, and `open_store`, the only function that knows the kinds of stores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from handfast.activity.chain import Head
from handfast.activity.query import RecordFilter
from handfast.activity.walk import ChainWalk
from handfast.core.call.exchange import Record


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


class ActivityStore(Protocol):
    """One chain of records. Every method raises StoreError if the store fails."""

    def append(self, records: Sequence[Record]) -> Head:
        """Appends the records to the chain in order and makes them durable, all or none."""

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

    def prune(self, retention: Retention, *, now: datetime) -> int:
        """Makes one small step of retention; returns how much was done, 0 if nothing is left to do."""

    def digest(self, value: bytes) -> str:
        """A keyed hash, comparable within this store only."""

    def derive_key(self, purpose: str) -> bytes:
        """A key for another purpose, the same for every process and every start with this store."""

    def close(self) -> None:
        """Closes the store. May be called twice."""


def open_store(folder: Path, kind: str = "sqlite", *, read_only: bool = False) -> ActivityStore:
    """Opens the store of a state folder; creates it unless `read_only`. Raises: StoreMissing, StoreError."""
    if kind != "sqlite":
        raise StoreError('activity.store can only be "sqlite" in this version; change the setting and start again.')
    from handfast.activity.sqlite import SqliteStore  # stores import this module, and only the chosen one is loaded

    return SqliteStore.open_existing(folder) if read_only else SqliteStore.open(folder)
