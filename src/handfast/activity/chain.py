"""The one byte format of every chain: what is hashed, and how a chain is checked. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256

from handfast.core.exchange import Record, RecordType

GENESIS = "0" * 64
PRUNED_RULE = "activity.pruned"

# Byte for byte what json.dumps(payload, sort_keys=True, ensure_ascii=True, default=str) gives; built once because
# json.dumps builds a new encoder on every call with these arguments.
_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=True, default=str).encode

Payload = dict[str, object]


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain ends: the sequence and hash of its last record."""

    seq: int = 0
    hash: str = GENESIS


@dataclass(frozen=True, slots=True)
class Link:
    """One record as it is stored: the exact text that was hashed, its hash, and the columns kept for searching."""

    seq: int
    payload: str
    hash: str
    indexed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """The first place where a chain does not hold, in words for the operator."""

    seq: int
    id: str
    problem: str


@dataclass(frozen=True, slots=True)
class ChainWalk:
    """How far a walk came, and what it found there."""

    count: int
    first_seq: int
    head: Head
    broken: BrokenLink | None = None
    noted_seq: int | None = None  # where the noted hash was met


def canonical_text(payload: Mapping[str, object]) -> str:
    """The text that is hashed. It is ASCII, so its bytes are the same in every encoding."""
    return _encode(payload)


def hash_text(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def payload_of(record: Record, head: Head) -> Payload:
    """The record's fields plus its place in the chain that ends at `head`."""
    return {
        "id": record.id,
        "time": record.time,
        "type": record.type,
        "status": record.status,
        "server": record.server,
        "tool": record.tool,
        "mode": record.mode,
        "rule": record.rule,
        "reason": record.reason,
        "request_id": record.request_id,
        "duration_ms": record.duration_ms,
        "actor": record.actor,
        "details": dict(record.details),
        "seq": head.seq + 1,
        "previous": head.hash,
    }


def link_record(record: Record, head: Head) -> Link:
    """The link that follows `head`."""
    try:
        text = _encode(payload_of(record, head))
    except (TypeError, ValueError, RecursionError):
        # One record that JSON cannot carry must not stop all that come after it; it is kept without its details.
        text = _encode(payload_of(replace(record, details={"unencodable": True}), head))
    return Link(head.seq + 1, text, hash_text(text), index_of(record))


def index_of(record: Record) -> tuple[str, ...]:
    """The fields a store keeps beside the payload, to search by."""
    return (
        record.id,
        record.time,
        record.type.value,
        record.status.value,
        record.server,
        record.tool,
        record.rule,
        record.request_id,
    )


INDEXED = ("id", "time", "type", "status", "server", "tool", "rule", "request_id")


def walk_chain(links: Iterable[Link], head: Head, *, noted: str = "") -> Iterator[ChainWalk]:
    """Check every link in order; yields progress now and then, and the outcome last."""
    walk = _Walk(noted)
    for link in links:
        broken = walk.step(link)
        if broken is not None:
            yield walk.report(broken)
            return
        if walk.count % 5_000 == 0:
            yield walk.report(None)
    yield walk.report(walk.finish(head))


class _Walk:
    """The state of one walk along a chain."""

    def __init__(self, noted: str) -> None:
        self.noted = noted
        self.noted_seq = 0 if noted == GENESIS else None
        self.count = 0
        self.first: tuple[int, str, str] = (0, "", GENESIS)  # seq, id and previous of the first record present
        self.last = Head()
        self.pruned = Head()  # what the newest pruned record says was removed

    def report(self, broken: BrokenLink | None) -> ChainWalk:
        return ChainWalk(self.count, self.first[0], self.last, broken, self.noted_seq)

    def step(self, link: Link) -> BrokenLink | None:
        payload = _parse(link.payload)
        problem = self._problem(link, payload)
        if problem is not None:
            return BrokenLink(link.seq, str(payload.get("id", "")) or link.indexed[0], problem)
        if self.count == 0:
            self.first = (link.seq, link.indexed[0], str(payload.get("previous")))
        self.count += 1
        self.last = Head(link.seq, link.hash)
        if link.hash == self.noted:
            self.noted_seq = link.seq
        self._note_pruning(payload)
        return None

    def _problem(self, link: Link, payload: Payload) -> str | None:
        if hash_text(link.payload) != link.hash:
            return "its content does not match its hash"
        if payload.get("seq") != link.seq:
            return "its content belongs to another sequence number"
        if self.count and link.seq != self.last.seq + 1:
            return f"{link.seq - self.last.seq - 1} records are missing before it"
        if self.count and payload.get("previous") != self.last.hash:
            return "it does not follow the record before it"
        if link.indexed != tuple(searchable(str(payload.get(name))) for name in INDEXED):
            return "the columns it is found by differ from its content"
        return None

    def _note_pruning(self, payload: Payload) -> None:
        details = payload.get("details")
        if (
            payload.get("type") != RecordType.DIAGNOSTIC
            or payload.get("rule") != PRUNED_RULE
            or not isinstance(details, dict)
        ):
            return
        through = details.get("through_seq")
        if isinstance(through, int) and through > self.pruned.seq:
            self.pruned = Head(through, str(details.get("last_hash")))

    def finish(self, head: Head) -> BrokenLink | None:
        """What only the whole chain can tell: that nothing is gone from its front or its end."""
        seq, record_id, previous = self.first
        if self.count and (seq - 1, previous) != (self.pruned.seq, self.pruned.hash):
            return BrokenLink(seq, record_id, "the records before it are gone and no retention record accounts for it")
        if self.last != head:
            missing = f"{head.seq - self.last.seq} records are missing at the end"
            return BrokenLink(self.last.seq + 1, "", missing if head.seq > self.last.seq else "the noted end differs")
        return None


def searchable(text: str) -> str:
    """Text as a store can keep it in a column: half of a surrogate pair has no encoding."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _parse(text: str) -> Payload:
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}
