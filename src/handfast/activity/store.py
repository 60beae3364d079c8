"""What every store of activity records can do, and `open_store`, which alone knows which stores there are."""

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
    """The store cannot be opened, read or written; the message is one line: what happened, then what to do."""


class StoreMissing(StoreError):
    """There is no store in the state folder yet; where one is to be, there may be an empty file."""

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
    """How much history is kept; None keeps everything."""

    keep_days: float | None = None
    keep_bytes: int | None = None


class ActivityStore(Protocol):
    """One chain of records. Every method raises StoreError when the store cannot do it."""

    def append(self, records: Sequence[Record]) -> Head:
        """Chain the records in order and make them durable, all or none."""

    def head(self) -> Head:
        """Where the chain ends."""

    def query(self, wanted: RecordFilter, *, oldest_first: bool = False) -> Iterator[StoredRecord]:
        """The records that fit, in sequence order; holds no lock and no snapshot between records."""

    def read(self, id_or_prefix: str) -> StoredRecord:
        """One record. Raises: RecordNotFound."""

    def follow(self, after: int, wanted: RecordFilter) -> tuple[list[StoredRecord], int]:
        """What was committed after a sequence, and the sequence to ask from next time."""

    def walk(self, *, noted: str = "") -> Iterator[ChainWalk]:
        """Check the whole chain as it is now; yields progress, and the outcome last."""

    def prune(self, retention: Retention, *, now: datetime) -> int:
        """One small step towards what is to be kept; how much was done, 0 when nothing is left to do."""

    def digest(self, value: bytes) -> str:
        """A keyed hash, comparable within this store only."""

    def derive_key(self, purpose: str) -> bytes:
        """A key for something else, the same for every process and every start on this store."""

    def close(self) -> None:
        """Let go of the store. Closing twice is fine."""


def open_store(folder: Path, kind: str = "sqlite", *, read_only: bool = False) -> ActivityStore:
    """The store of a state folder, made if need be unless it is only read. Raises: StoreMissing, StoreError."""
    if kind != "sqlite":
        raise StoreError('activity.store can only be "sqlite" in this version; change the setting and start again.')
    from handfast.activity.sqlite import SqliteStore  # a store builds on this module, and only the chosen one is loaded

    return SqliteStore.open_existing(folder) if read_only else SqliteStore.open(folder)
