"""Rates of refusals: the first of a kind are recorded whole, the rest are counted. Not safe for several threads."""

from collections import Counter
from typing import Final

from handfast.clock import Clock
from handfast.core.call.exchange import Detail, Record, RecordType, Tally
from handfast.core.call.recording import WHOLE_REFUSALS

_WINDOW_S: Final = 60.0
# Whole records are kept for up to thirty kinds of one caller, as many as a caller's own tests may cause, and sixty of
# all callers. By default, at 3.6 KB a record, these are at most 72 KB a second.
_KINDS_OF_ONE_CALLER: Final = 30
_KINDS_OF_ALL: Final = 60
# Replies wait for the record that counts them, so it is made after a second, or once this much waits for it.
_COUNTED_EVERY_S: Final = 1.0
_HELD_CALLS: Final = 256  # as many as may be in progress by default
_HELD_BYTES: Final = 8 * 1024 * 1024  # two of the largest requests accepted by default

_Key = tuple[str, ...]


class RefusalRates:
    """Counts whole records of refusals per minute, and tallies the refusals beyond."""

    def __init__(self, of_one_kind: int | None = WHOLE_REFUSALS) -> None:
        self._of_one_kind = of_one_kind  # per minute; None: every refusal is recorded whole
        self._until = 0.0
        self._whole: Counter[_Key] = Counter()
        self._tallies: dict[_Key, Tally] = {}

    def count(self, caller: str, records: tuple[Record, ...], now: float) -> Tally | None:
        """The tally that counts this refusal; None if it is to be recorded whole."""
        if self._of_one_kind is None:
            return None
        first = records[0]
        if now >= self._until:
            self._whole.clear()
            self._until = now + _WINDOW_S
        kind = (first.rule, caller, first.server, first.tool)
        # The widest first: a refusal that it counts opens no narrower tally, so the number of tallies is bounded.
        for key, kinds in (((), _KINDS_OF_ALL), ((caller,), _KINDS_OF_ONE_CALLER), (kind, 1)):
            if self._whole[key] >= kinds * self._of_one_kind:
                return self._add((first.rule, *key) if key != kind else kind, records, now)
        self._whole.update(((), (caller,), kind))
        return None

    def _add(self, key: _Key, records: tuple[Record, ...], now: float) -> Tally:
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = Tally(records[0], now + _COUNTED_EVERY_S)
        size = records[-1].details.get("argument_bytes")
        tally.count += 1
        tally.bytes += size if isinstance(size, int) else 0
        tally.last_time = records[0].time
        if tally.count >= _HELD_CALLS or tally.bytes >= _HELD_BYTES:
            tally.due = now
        return tally

    @property
    def due(self) -> float | None:
        """The time at which the next tally's record is due."""
        return min((tally.due for tally in self._tallies.values()), default=None)

    def take_due(self, now: float, clock: Clock) -> list[tuple[Tally, Record]]:
        """Removes and returns the tallies that are due, each with its record."""
        ready = [(key, tally) for key, tally in self._tallies.items() if tally.due <= now]
        for key, _ in ready:
            del self._tallies[key]
        return [(tally, _record_of(key, tally, clock)) for key, tally in ready]


def _record_of(key: _Key, tally: Tally, clock: Clock) -> Record:
    _, caller, server, tool = (*key, "", "", "")[:4]
    first = tally.first
    whose = "of this kind" if len(key) == 4 else "of this caller" if caller else "of several callers"
    noun = "requests" if first.type is RecordType.DIAGNOSTIC else "calls"
    details: dict[str, Detail] = {"count": tally.count, "first_time": first.time, "last_time": tally.last_time}
    if caller:
        details["caller"] = caller
    return Record(
        id=clock.new_id(),
        time=clock.now(),
        type=first.type,
        status=first.status,
        server=server,
        tool=tool,
        mode=first.mode if server else "",
        rule=first.rule,
        reason=f"{tally.count} more {noun} {whose} were refused.",
        actor=first.actor if caller else "",
        details=details,
    )
