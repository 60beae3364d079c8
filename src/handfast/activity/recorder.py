"""The recorder: takes records without blocking; one thread writes them in batches."""

import asyncio
import atexit
import logging
import threading
import time
from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime
from math import inf

from handfast.activity.refusals import RefusalRates
from handfast.activity.store import Retention, StoreError, WritableStore
from handfast.clock import Clock
from handfast.core.call import rules
from handfast.core.call.exchange import Record, RecordingFailed, RecordType, Status, Tally, Ticket
from handfast.core.call.recording import OnFailure

_log = logging.getLogger("handfast.activity")

FAILING_AFTER_S = 5.0
# Records that no reply waits for are gathered this long: alone one costs 195 µs, among 25 it costs 40, among a hundred
# 20. A busy event loop also pays whenever the writer takes the interpreter's lock.
_GATHER_S = 0.1
_BATCH = 500
_RETRY_S = 0.25
_RETENTION_EVERY_S = 60.0  # if nothing is written
_RETENTION_BUSY_S = 1.0  # after records were written: the store may exceed its bound by this time's records
_KEPT_PER_CAPACITY = 4  # the queue may grow to this multiple of its bound while records cannot be written
_LET_GO = -1  # the ticket of records that could not be kept
_CALLER_DIGITS = 16  # of the keyed hash that identifies a caller's refusals


# The holder of a ticket waits in an event loop, or blocks in a thread without one.
Waiter = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"] | tuple[None, threading.Event]


class ThreadRecorder:
    """Implements core's Recorder over a store, which it then owns. Safe for use from any thread and event loop."""

    def __init__(
        self,
        store: WritableStore,
        *,
        on_failure: OnFailure | str = OnFailure.REFUSE,
        capacity: int = 10_000,
        retention: Retention | None = None,
        failing_after_s: float = FAILING_AFTER_S,
        whole_refusals: int | None = None,
    ) -> None:
        self.on_failure = OnFailure(on_failure)
        self.let_go = 0  # total of records that were lost
        self._store = store
        self._clock = Clock()  # for the writing thread only
        self._capacity = capacity
        self._failing_after_s = failing_after_s
        self._retention = retention
        self._retention_due = self._retention_kept = time.monotonic()
        self._lock = threading.Lock()  # guards the fields below; only held for a moment
        self._queue: list[Record] = []
        self._waiters: list[tuple[int, Waiter]] = []
        self._refusals = RefusalRates(whole_refusals)
        self._tally_waiters: defaultdict[Tally, list[Waiter]] = defaultdict(list)
        self._taken = 0
        self._done = 0
        self._is_asleep = False  # the thread waits for a record
        self._is_gathering = False  # the thread waits for more records until a ticket is waited for
        self._is_closing = False
        self._bell = threading.Lock()  # locked while silent: the cheapest way for a thread to wait with a timeout
        self._bell.acquire()
        self._stuck_since: float | None = None
        self._cause = ""
        self._told = 0  # the part of `let_go` that is on record
        self._thread = threading.Thread(target=self._run, name="handfast-activity", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def record(self, *records: Record) -> int:
        """Takes the records, in order. Raises: RecordingFailed once closed."""
        with self._lock:
            self._check_open()
            return self._take(records)

    def record_refusal(self, caller: str, *records: Record) -> Ticket:
        """Takes the records of one refused call, or counts it. Raises: RecordingFailed once closed."""
        key = self._store.digest(caller.encode("utf-8", "surrogatepass"))[:_CALLER_DIGITS] if caller else ""
        with self._lock:
            self._check_open()
            now = time.monotonic()
            tally = self._refusals.count(key, records, now)
            if tally is None:
                return self._take(records)
            if tally.count == 1 or tally.due <= now:
                self._ring()  # the thread computes again when the next tally is due
            return tally

    def _check_open(self) -> None:
        if self._is_closing:
            raise RecordingFailed("The activity recorder is closed; start handfast again.")

    def _take(self, records: tuple[Record, ...]) -> int:
        if len(self._queue) >= self._capacity * _KEPT_PER_CAPACITY and self.is_failing:
            self.let_go += len(records)
            return _LET_GO
        self._queue.extend(records)
        self._taken += len(records)
        if self._is_asleep or (self._is_gathering and len(self._queue) >= _BATCH):
            self._ring()
        return self._taken

    async def committed(self, ticket: Ticket) -> None:
        number = await self._number_of(ticket) if isinstance(ticket, Tally) else ticket
        while number == _LET_GO or self._done < number:
            if self.is_failing or number == _LET_GO:
                return self._refuse()
            await self._progress(number, self._patience())
        return None

    async def _number_of(self, tally: Tally) -> int:
        while tally.ticket is None:
            # The thread makes the record when it is due, unless it cannot write an earlier one.
            if self.is_failing:
                return _LET_GO
            await self._progress(tally, self._patience())
        return tally.ticket

    async def room(self) -> None:
        while True:
            if self.is_failing:
                return self._refuse()
            surplus = self._taken - self._done - self._capacity
            if surplus < 0:
                return None
            await self._progress(self._done + surplus + 1, self._patience())

    def digest(self, value: bytes) -> str:
        return self._store.digest(value)

    def derive_key(self, purpose: str) -> bytes:
        return self._store.derive_key(purpose)

    @property
    def is_failing(self) -> bool:
        """Whether writing has failed for so long that calls are refused."""
        since = self._stuck_since
        return since is not None and time.monotonic() - since >= self._failing_after_s

    @property
    def failure(self) -> str:
        """The reason why writing fails, for the operator; empty while it works."""
        return (self._cause or "The activity store does not answer; check the disk.") if self.is_failing else ""

    @property
    def pending(self) -> int:
        """The number of records that are not yet committed."""
        return self._taken - self._done

    def close(self, *, timeout_s: float = 15.0) -> None:
        """Writes the queue, then closes the store. May be called twice."""
        with self._lock:
            self._record_tallies(inf)
            self._is_closing = True
            self._ring()
        self._thread.join(timeout_s)
        atexit.unregister(self.close)

    def _refuse(self) -> None:
        if self.on_failure is OnFailure.REFUSE:
            raise RecordingFailed(
                "Calls are refused because activity records cannot be written."
                " Try again later; calls go on by themselves once records can be written."
            )

    async def _progress(self, ticket: Ticket, seconds: float) -> None:
        """Waits until the ticket is committed, or until it is time to check whether writing fails."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            woken = threading.Event()
            if self._is_waited_for(ticket, (None, woken)):
                woken.wait(seconds)
            return
        future: asyncio.Future[None] = loop.create_future()
        if self._is_waited_for(ticket, (loop, future)):
            # Each waiter has its own future and `wait` never cancels it, so a cancelled waiter does not affect others.
            await asyncio.wait((future,), timeout=seconds)

    def _is_waited_for(self, ticket: Ticket, waiter: Waiter) -> bool:
        """Registers the waiter; False if the ticket is already committed."""
        with self._lock:
            if isinstance(ticket, Tally):
                if ticket.ticket is None:
                    self._tally_waiters[ticket].append(waiter)
                return ticket.ticket is None
            if self._done >= ticket:
                return False
            self._waiters.append((ticket, waiter))
            if self._is_gathering:
                self._ring()
            return True

    def _patience(self) -> float:
        since = self._stuck_since
        if since is None:
            return self._failing_after_s
        return max(0.01, since + self._failing_after_s - time.monotonic())

    def _ring(self) -> None:
        self._is_asleep = self._is_gathering = False
        if self._bell.locked():
            self._bell.release()

    def _run(self) -> None:
        while True:
            batch = self._next_batch()
            if batch:
                self._write(batch)
                self._retention_due = min(self._retention_due, self._retention_kept + _RETENTION_BUSY_S)
            if not batch and self._is_closing:
                break
            self._keep_retention()
        try:
            self._store.close()
        except StoreError as error:
            _log.error("%s", error)

    def _next_batch(self) -> list[Record]:
        """The next records to write; empty after an idle time, and on closing once all are written."""
        with self._lock:
            is_empty = self._is_asleep = not self._queue and not self._is_closing
        if is_empty:
            self._bell.acquire(timeout=self._idle_seconds())
        self._gather()
        with self._lock:
            self._is_asleep = self._is_gathering = False
            self._record_tallies(time.monotonic())
            batch = self._queue[:_BATCH]
            del self._queue[:_BATCH]
        return batch

    def _record_tallies(self, now: float) -> None:
        for tally, record in self._refusals.take_due(now, self._clock):
            number = tally.ticket = self._take((record,))
            self._waiters.extend((number, waiter) for waiter in self._tally_waiters.pop(tally, ()))

    def _gather(self) -> None:
        with self._lock:
            is_urgent = bool(self._waiters) or self._is_closing or len(self._queue) >= _BATCH
            self._is_gathering = not is_urgent and bool(self._queue)
            if not self._is_gathering:
                return
        self._bell.acquire(timeout=_GATHER_S)

    def _write(self, batch: list[Record]) -> None:
        """Retries until the batch is written; on closing, gives up once writing counts as failing."""
        attempt = 0
        if self._stuck_since is None:
            self._stuck_since = time.monotonic()
        while not self._try_append(batch):
            if self._is_closing and self.is_failing:
                _log.error("%d activity records were not written. %s", self.pending, self._cause)
                break
            if attempt == 0:
                _log.error("Activity records cannot be written; trying again. %s", self._cause)
            attempt += 1
            time.sleep(_RETRY_S)
        else:
            self._settle(len(batch))

    def _try_append(self, batch: list[Record]) -> bool:
        try:
            self._store.append(batch)
        except Exception as error:  # noqa: BLE001 - the thread's outermost edge: whatever it is, the records are kept
            self._cause = str(error)
            return False
        return True

    def _settle(self, count: int) -> None:
        """Notes that the records are durable, and wakes the waiters for them."""
        outage = self._outage()
        self._stuck_since = None
        self._cause = ""
        with self._lock:
            self._done += count
            ready = [waiter for waiter in self._waiters if waiter[0] <= self._done]
            if ready:
                self._waiters = [waiter for waiter in self._waiters if waiter[0] > self._done]
            if outage is not None:
                self._queue.append(outage)
                self._taken += 1
        _wake([waiter for _, waiter in ready])

    def _outage(self) -> Record | None:
        """The record of an outage in which records could not be written, or None."""
        if not self.is_failing or self._stuck_since is None:
            return None
        let_go, self._told = self.let_go - self._told, self.let_go
        seconds = round(time.monotonic() - self._stuck_since, 1)
        _log.warning("Activity records can be written again after %s s; %d were lost.", seconds, let_go)
        return Record(
            id=self._clock.new_id(),
            time=self._clock.now(),
            type=RecordType.DIAGNOSTIC,
            status=Status.ERROR if let_go else Status.WARNING,
            rule=rules.ACTIVITY_WRITE_FAILURE,
            reason=f"Records could not be written for {seconds} s; {let_go} were lost.",
            details={"seconds": seconds, "let_go": let_go},
        )

    def _idle_seconds(self) -> float:
        due = [time.monotonic() + _RETENTION_EVERY_S if self._retention is None else self._retention_due]
        if self._refusals.due is not None:
            due.append(self._refusals.due)
        return max(0.0, min(due) - time.monotonic())

    def _keep_retention(self) -> None:
        if self._retention is None or time.monotonic() < self._retention_due:
            return
        is_done = True
        try:
            # One small step at a time, with batches in between, until retention is done.
            is_done = not self._store.prune(self._retention, now=datetime.now(UTC))
        except Exception as error:  # noqa: BLE001 - as in `_try_append`: records are written all the same
            _log.error("Old activity records could not be removed. %s", error)
        self._retention_kept = time.monotonic()
        self._retention_due = self._retention_kept + (_RETENTION_EVERY_S if is_done else 0.0)


def _wake(waiters: list[Waiter]) -> None:
    """Wakes the waiters, with one wake-up per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = defaultdict(list)
    for waiter in waiters:
        if waiter[0] is None:
            waiter[1].set()
        else:
            by_loop[waiter[0]].append(waiter[1])
    for loop, futures in by_loop.items():
        with suppress(RuntimeError):  # a loop that was closed has no waiters left
            loop.call_soon_threadsafe(_finish, futures)


def _finish(futures: list["asyncio.Future[None]"]) -> None:
    for future in futures:
        future.set_result(None)
