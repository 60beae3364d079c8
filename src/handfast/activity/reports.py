"""Frozen reports of the history for operators; every interface renders these and nothing else."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import ceil

from handfast.activity.chain import Head
from handfast.activity.query import RecordFilter
from handfast.activity.store import ActivityStore, RecordNotFound, StoredRecord
from handfast.activity.walk import BrokenLink
from handfast.core.call.exchange import RecordType

_RELATED = 100  # a call has a handful of records; this bounds the output if a fault makes more


@dataclass(frozen=True, slots=True)
class ListReport:
    """Records, newest first; `has_more` if the limit cut the list."""

    records: tuple[StoredRecord, ...]
    has_more: bool


@dataclass(frozen=True, slots=True)
class RecordReport:
    """One record, and the other records of the same request in their order."""

    record: StoredRecord
    related: tuple[StoredRecord, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The records with one name in common; durations are those of tool calls."""

    name: str
    count: int
    p50_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True, slots=True)
class SummaryReport:
    """Counts of records; largest groups first, records without a name left out of groups."""

    count: int
    first_time: str
    last_time: str
    p50_ms: float | None
    p95_ms: float | None
    types: tuple[Group, ...]
    statuses: tuple[Group, ...]
    servers: tuple[Group, ...]
    tools: tuple[Group, ...]
    rules: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The check of the chain; `noted_seq` is the place of a head that was noted elsewhere."""

    count: int
    first_seq: int
    head: Head
    broken: BrokenLink | None
    noted_seq: int | None
    thinned: int = 0  # plain successes that retention removed from between other records

    @property
    def is_intact(self) -> bool:
        return self.broken is None


def list_records(store: ActivityStore, wanted: RecordFilter) -> ListReport:
    """The newest records that match."""
    if wanted.limit is None:
        return ListReport(tuple(store.query(wanted)), has_more=False)
    found = tuple(store.query(replace(wanted, limit=wanted.limit + 1)))
    return ListReport(found[: wanted.limit], has_more=len(found) > wanted.limit)


def show_record(store: ActivityStore, id_or_prefix: str) -> RecordReport:
    """One record with its related ones; for a request's id, its newest record. Raises: RecordNotFound."""
    try:
        found = store.read(id_or_prefix)
    except RecordNotFound:
        of_request = store.query(RecordFilter(request_id=id_or_prefix, limit=1)) if id_or_prefix else iter(())
        newest = next(of_request, None)
        if newest is None:
            raise
        found = newest
    request_id = found.record.request_id
    if not request_id:
        return RecordReport(found, ())
    related = store.query(RecordFilter(request_id=request_id, limit=_RELATED), oldest_first=True)
    return RecordReport(found, tuple(other for other in related if other.seq != found.seq))


def summarise(store: ActivityStore, wanted: RecordFilter, *, on_progress: Callable[[int], None]) -> SummaryReport:
    """Counts and durations of all records that match."""
    groups = {name: _Groups() for name in ("types", "statuses", "servers", "tools", "rules")}
    everything = _Groups()
    times: list[str] = []
    for count, stored in enumerate(store.query(wanted, oldest_first=True), 1):
        record = stored.record
        duration = record.duration_ms if record.type is RecordType.TOOL_CALL else None
        tool = f"{record.server}/{record.tool}" if record.tool else ""
        names = (record.type.value, record.status.value, record.server, tool, record.rule)
        for group, name in zip(groups.values(), names, strict=True):
            group.add(name, duration)
        everything.add("all", duration)
        times = [times[0] if times else record.time, record.time]
        if count % 5_000 == 0:
            on_progress(count)
    total = next(iter(everything.ranked()), Group("all", 0, None, None))
    ranked = {name: group.ranked() for name, group in groups.items()}
    first, last = times or ("", "")
    return SummaryReport(total.count, first, last, total.p50_ms, total.p95_ms, **ranked)


def verify(store: ActivityStore, *, noted: str = "", on_progress: Callable[[int], None]) -> VerifyReport:
    """Walks the whole chain; a noted head must be among its hashes."""
    for walk in store.walk(noted=noted):
        on_progress(walk.count)
    broken = walk.broken
    if broken is None and noted and walk.noted_seq is None:
        broken = BrokenLink(
            walk.head.seq, "", "no record has the noted head's hash, so the history is not the one noted"
        )
    return VerifyReport(walk.count, walk.first_seq, walk.head, broken, walk.noted_seq, walk.thinned)


def percentile(durations: Iterable[float], share: float) -> float | None:
    """The nearest-rank percentile: always one of the durations."""
    ordered = sorted(durations)
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else None


class _Groups:
    """Collects counts and durations by name."""

    def __init__(self) -> None:
        self.counts: defaultdict[str, int] = defaultdict(int)
        self.durations: defaultdict[str, list[float]] = defaultdict(list)

    def add(self, name: str, duration: float | None) -> None:
        if not name:
            return
        self.counts[name] += 1
        if duration is not None:
            self.durations[name].append(duration)

    def ranked(self) -> tuple[Group, ...]:
        ordered = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))
        return tuple(
            Group(name, count, percentile(self.durations[name], 0.5), percentile(self.durations[name], 0.95))
            for name, count in ordered
        )
