"""Verifying a chain: whether every link holds, and whether retention accounts for all removed records. Pure."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import msgspec

from handfast.activity.chain import GENESIS, INDEXED, Head, Link, Payload, hash_text, searchable
from handfast.core.call import rules
from handfast.core.call.exchange import RecordType

HASH_BYTES: Final = 32


class Stretch(msgspec.Struct, frozen=True):
    """A part of the chain that was thinned. Retention removed the records of the places in it that have none."""

    first: int
    last: int
    last_hash: str  # of the record at the last place, removed or not
    hashes: bytes | None  # of the removed records, joined; None once retention removed these as well


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """The first place where a chain is broken, described for the operator."""

    seq: int
    id: str
    problem: str


@dataclass(frozen=True, slots=True)
class ChainWalk:
    """The progress or outcome of a walk."""

    count: int
    first_seq: int
    head: Head
    broken: BrokenLink | None = None
    noted_seq: int | None = None  # the place of the noted hash
    thinned: int = 0  # records that retention removed from between others


def walk_chain(
    links: Iterable[Link], head: Head, stretches: Iterable[Stretch] = (), *, noted: str = ""
) -> Iterator[ChainWalk]:
    """Checks every link in order; yields progress now and then, and the outcome last."""
    walk = _Walk(noted, stretches)
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

    def __init__(self, noted: str, stretches: Iterable[Stretch]) -> None:
        self.noted = noted
        self.noted_seq = 0 if noted == GENESIS else None
        self.count = 0
        self.first: tuple[int, str, str] | None = None  # seq, id and, if known, previous hash of the first place
        self.last = Head()
        self.pruned = Head()  # the end of what was removed, by the newest record of pruning
        self.gaps = _Gaps(stretches, noted)

    def report(self, broken: BrokenLink | None) -> ChainWalk:
        noted_seq = self.gaps.noted_seq if self.noted_seq is None else self.noted_seq
        first_seq = self.first[0] if self.first else 0
        return ChainWalk(self.count, first_seq, self.last, broken, noted_seq, self.gaps.count)

    def step(self, link: Link) -> BrokenLink | None:
        payload = _parse(link.payload)
        previous = str(payload.get("previous"))
        if self.first is None:
            begin = self.gaps.begin
            is_first = begin is None or begin >= link.seq
            self.first = (link.seq, link.indexed[0], previous) if is_first or begin is None else (begin, "", "")
            self.last = Head(self.first[0] - 1, self.first[2])
        problem = self._problem(link, payload) or self._misplaced(link, previous)
        if problem is not None:
            return BrokenLink(link.seq, str(payload.get("id", "")) or link.indexed[0], problem)
        self.count += 1
        self.last = Head(link.seq, link.hash)
        if link.hash == self.noted:
            self.noted_seq = link.seq
        self._note_retention(payload)
        return None

    def _problem(self, link: Link, payload: Payload) -> str | None:
        if hash_text(link.payload) != link.hash:
            return "its content does not match its hash"
        if payload.get("seq") != link.seq:
            return "its content belongs to another sequence number"
        if link.indexed != tuple(searchable(str(payload.get(name))) for name in INDEXED):
            return "the columns it is found by differ from its content"
        return None

    def _misplaced(self, link: Link, previous: str) -> str | None:
        before = self.gaps.cross(self.last, link)
        if isinstance(before, str):
            return before
        # Without a hash the place before is unknown here; the note about its stretch covers it.
        return "it does not follow the record before it" if before.hash not in ("", previous) else None

    def _note_retention(self, payload: Payload) -> None:
        details = payload.get("details")
        if payload.get("type") != RecordType.DIAGNOSTIC or not isinstance(details, dict):
            return
        through = details.get("through_seq")
        if not isinstance(through, int):
            return
        if payload.get("rule") == rules.ACTIVITY_PRUNED and through > self.pruned.seq:
            self.pruned = Head(through, str(details.get("last_hash")))
        elif payload.get("rule") == rules.ACTIVITY_THINNED:
            self.gaps.note(through, details)

    def finish(self, head: Head) -> BrokenLink | None:
        """The checks that need the whole chain: no record is missing at the front, at the end, or without a note."""
        if self.first is not None:
            seq, record_id, previous = self.first
            if seq - 1 != self.pruned.seq or previous not in ("", self.pruned.hash):
                problem = "the records before it are gone and no retention record accounts for it"
                return BrokenLink(seq, record_id, problem)
        if self.last != head:
            missing = f"{head.seq - self.last.seq} records are missing at the end"
            return BrokenLink(self.last.seq + 1, "", missing if head.seq > self.last.seq else "the noted end differs")
        return self.gaps.unaccounted()


class _Gaps:
    """The places without a record: each must lie in a stretch, and each stretch must match retention's note."""

    def __init__(self, stretches: Iterable[Stretch], noted: str) -> None:
        self._ahead = iter(stretches)
        self._stretch = next(self._ahead, None)  # the current or the next one
        self._kept = sha256()  # over the hashes of the records left in it
        self._used = 0  # bytes of its hashes that were passed
        self._found: dict[int, dict[str, object]] = {}  # by last place: what its note must say
        self._notes: dict[int, dict[str, object]] = {}
        self._hashes_through = 0  # retention removed hashes up to here
        self._noted = bytes.fromhex(noted) if len(noted) == 64 and set(noted) <= set("0123456789abcdef") else b""
        self.begin = self._stretch.first if self._stretch else None
        self.noted_seq: int | None = None
        self.count = 0

    def cross(self, last: Head, link: Link) -> Head | str:
        """The place before this record, if all between it and the last one are accounted for; else the problem."""
        while last.seq + 1 < link.seq:
            stretch = self._stretch
            if stretch is None or not stretch.first <= last.seq + 1 <= stretch.last:
                return f"{link.seq - last.seq - 1} records are missing before it"
            end = min(link.seq - 1, stretch.last)
            found = self._skip(stretch, last, end)
            if isinstance(found, str):
                return found
            last = found
        if link.seq <= last.seq:
            return "its place is taken by another record"
        stretch = self._stretch
        if stretch is not None and stretch.first <= link.seq:
            self._kept.update(link.hash.encode())
            if link.seq == stretch.last:
                self._leave(stretch)
        return last

    def _skip(self, stretch: Stretch, last: Head, end: int) -> Head | str:
        """Passes removed records up to `end`, which is still in the stretch."""
        self.count += end - last.seq
        known = ""
        if stretch.hashes is not None:
            begin, self._used = self._used, self._used + (end - last.seq) * HASH_BYTES
            if self._used > len(stretch.hashes):
                return "the records before it are gone and so are their hashes"
            self._look_for_noted(stretch.hashes[begin : self._used], last.seq + 1)
            known = stretch.hashes[self._used - HASH_BYTES : self._used].hex()
        if end < stretch.last:
            return Head(end, known)
        self._leave(stretch)
        return Head(end, stretch.last_hash)

    def _look_for_noted(self, hashes: bytes, first: int) -> None:
        place = hashes.find(self._noted) if self._noted else -1
        if place >= 0 and place % HASH_BYTES == 0:
            self.noted_seq = first + place // HASH_BYTES

    def _leave(self, stretch: Stretch) -> None:
        hashes = stretch.hashes
        self._found[stretch.last] = {
            "from_seq": stretch.first,
            "last_hash": stretch.last_hash,
            "kept_hash": self._kept.hexdigest(),
            "removed_hash": None if hashes is None else sha256(hashes).hexdigest(),
        }
        self._kept, self._used = sha256(), 0
        self._stretch = next(self._ahead, None)

    def note(self, through: int, details: dict[str, object]) -> None:
        # The first note about a place counts, so that one inserted later cannot replace it.
        self._notes.setdefault(through, details)
        let_go = details.get("hashes_through_seq")
        if isinstance(let_go, int):
            self._hashes_through = max(self._hashes_through, let_go)

    def unaccounted(self) -> BrokenLink | None:
        """The first stretch that differs from retention's note, or None."""
        for last, found in self._found.items():
            note = self._notes.get(last, {})
            if found["removed_hash"] is None and last <= self._hashes_through:
                found["removed_hash"] = note.get("removed_hash")
            if any(note.get(name) != value for name, value in found.items()):
                first = found["from_seq"]
                problem = f"records from here to {last} are gone or changed and no retention record accounts for it"
                return BrokenLink(first if isinstance(first, int) else last, "", problem)
        if self._stretch is not None:
            return BrokenLink(self._stretch.first, "", "hashes are kept of removed records that never were there")
        return None


def _parse(text: str) -> Payload:
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}
