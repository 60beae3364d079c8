"""Retention of activity.db in small steps: removes plain successes first, then all records from the front."""

import sqlite3
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256

from handfast.activity.store import Retention
from handfast.clock import Clock, time_text
from handfast.core.call import rules
from handfast.core.call.exchange import Detail, Record, RecordType, Status

_STEP = 500  # records removed per transaction, so that writers wait for retention no longer than for a batch
_LOOKED_AT = 20_000  # rows read per transaction to find them, some 30 ms
_WORTHWHILE = 16  # a stretch with fewer plain successes frees less space than its note takes
_NEWEST = 500  # records that are not thinned, so that a reader who follows the history sees them
_HASHES_SHARE = 4  # the bound is divided by this for hashes of removed records: with a GiB those of 8 million
_NOTES = (rules.ACTIVITY_PRUNED, rules.ACTIVITY_THINNED)
# Plain successes: calls, and diagnostics except retention's own notes.
_PLAIN = (
    "status = 'success' AND type IN ('tool_call', 'diagnostic')"
    f" AND rule IS NOT '{rules.ACTIVITY_PRUNED}' AND rule IS NOT '{rules.ACTIVITY_THINNED}'"
)
# All rows in order of sequence, which an index on status or type would not give.
_IN_ORDER = f"SELECT seq, hash, {_PLAIN} FROM records WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"  # noqa: S608 - ours
_STRADDLING = "SELECT first, last FROM removed WHERE first <= ? AND last > ?"


@dataclass(frozen=True, slots=True)
class Removal:
    """One step: how many records were read or removed, and the note to append to the chain."""

    done: int
    note: Record | None = None
    looked_through: int = 0  # sequences up to here have too few plain successes for a step


NOTHING_LEFT = Removal(0)


def thin(connection: sqlite3.Connection, keep_bytes: int, *, after: int, now: datetime) -> Removal:
    """Removes the oldest plain successes inside the open transaction; keeps hashes within a share of the bound."""
    thinned, head = connection.execute("SELECT (SELECT max(last) FROM removed), seq FROM head").fetchone()
    found = _look_for_plain(connection, max(after, thinned or 0), head - _NEWEST)
    if len(found.plain) < _WORTHWHILE:
        return Removal(found.looked_at, looked_through=found.through) if found.looked_at == _LOOKED_AT else NOTHING_LEFT
    first, (last, last_hash) = found.plain[0][0], found.plain[-1]
    hashes = bytes.fromhex("".join(link_hash for _, link_hash in found.plain))
    kept = [link_hash for seq, link_hash in found.kept if first < seq < last]
    connection.executemany("DELETE FROM records WHERE seq = ?", [(seq,) for seq, _ in found.plain])
    connection.execute("INSERT INTO removed VALUES (?, ?, ?, ?)", (last, first, last_hash, hashes))
    details: dict[str, Detail] = {
        "count": len(found.plain),
        "kept": len(kept),
        "from_seq": first,
        "through_seq": last,
        "last_hash": last_hash,
        "removed_hash": sha256(hashes).hexdigest(),
        "kept_hash": sha256("".join(kept).encode()).hexdigest(),
    }
    let_go = _let_go_of_hashes(connection, keep_bytes // _HASHES_SHARE)
    if let_go:
        details["hashes_through_seq"] = let_go
    reason = f"{len(found.plain)} plain successes were removed to keep the history within its bound."
    return Removal(len(found.plain), _note(rules.ACTIVITY_THINNED, reason, details, now))


@dataclass(slots=True)
class _Found:
    """Rows in their order: plain successes, other records, and the last sequence that was read."""

    through: int
    plain: list[tuple[int, str]] = field(default_factory=list)
    kept: list[tuple[int, str]] = field(default_factory=list)

    @property
    def looked_at(self) -> int:
        return len(self.plain) + len(self.kept)


def _look_for_plain(connection: sqlite3.Connection, after: int, last: int) -> _Found:
    found = _Found(after)
    for seq, link_hash, is_plain in connection.execute(_IN_ORDER, (after, last, _LOOKED_AT)):
        (found.plain if is_plain else found.kept).append((seq, link_hash))
        found.through = seq
        if len(found.plain) == _STEP:
            break
    return found


def _let_go_of_hashes(connection: sqlite3.Connection, most: int) -> int:
    """Drops the oldest hashes of removed records beyond the bound; returns the last place dropped, or 0."""
    (total,) = connection.execute("SELECT total(length(hashes)) FROM removed").fetchone()
    through = 0
    while total > most:
        oldest = "SELECT last, length(hashes) FROM removed WHERE hashes IS NOT NULL ORDER BY last LIMIT 1"
        through, size = connection.execute(oldest).fetchone()
        connection.execute("UPDATE removed SET hashes = NULL WHERE last = ?", (through,))
        total -= size
    return int(through)


def cut_front(connection: sqlite3.Connection, *, before: str, now: datetime) -> Removal:
    """Removes the oldest records inside the open transaction, only those before a time if `before` is set."""
    statement = "SELECT seq, time, rule FROM records ORDER BY seq LIMIT ?"
    front = connection.execute(statement, (_STEP,)).fetchall()
    # Only notes of earlier steps are left: removing them would make another note.
    if len(front) < _STEP and all(rule in _NOTES for _, _, rule in front):
        return NOTHING_LEFT
    if before:
        kept = next((place for place, row in enumerate(front) if row[1] >= before), len(front))
        front = front[:kept]
    through = _whole_stretches(connection, front[0][0], front[-1][0], before) if front else 0
    if not through:
        return NOTHING_LEFT
    at_place = "SELECT hash FROM records WHERE seq = ? UNION ALL SELECT last_hash FROM removed WHERE last = ?"
    (last_hash,) = connection.execute(at_place, (through, through)).fetchone()
    count = connection.execute("DELETE FROM records WHERE seq <= ?", (through,)).rowcount
    connection.execute("DELETE FROM removed WHERE last <= ?", (through,))
    details: dict[str, Detail] = {"count": count, "through_seq": through, "last_hash": last_hash}
    reason = f"{count} records past the retention limits were removed."
    return Removal(max(1, count), _note(rules.ACTIVITY_PRUNED, reason, details, now))


def _whole_stretches(connection: sqlite3.Connection, first: int, through: int, before: str) -> int:
    """The last sequence to remove, 0 for none. Thinned stretches are verified whole, so each stays or goes whole."""
    found = connection.execute(_STRADDLING, (through, through)).fetchone()
    if found is None:
        return through
    begin, end = found
    if first < begin:
        return int(begin) - 1
    younger = "SELECT 1 FROM records WHERE seq BETWEEN ? AND ? AND +time >= ? LIMIT 1"
    if before and connection.execute(younger, (begin, end, before)).fetchone():
        return 0
    return int(end)


def cutoff(retention: Retention, now: datetime) -> str:
    """The time before which records are removed; empty without a bound on time."""
    return "" if retention.keep_days is None else time_text(now - timedelta(days=retention.keep_days))


def _note(rule: str, reason: str, details: dict[str, Detail], now: datetime) -> Record:
    return Record(
        id=Clock().new_id(),
        time=time_text(now),
        type=RecordType.DIAGNOSTIC,
        status=Status.SUCCESS,
        rule=rule,
        reason=reason,
        details=details,
    )
