"""Records other than calls: states of servers, changes of contracts and settings, refusals and other diagnostics."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from handfast.catalog.contracts import ContractChange
from handfast.clock import Clock
from handfast.core.call import rules
from handfast.core.call.caller import ANYONE, Caller
from handfast.core.call.exchange import Detail, Record, Recorder, RecordType, Status
from handfast.core.words.redaction import scrub_name, scrub_sentence
from handfast.wire.message import BadMessage

# Records of one kind of trouble with one server in an hour: a noisy server or client does not fill the log, and a
# reader of a day's records still sees when it was.
_EACH = 20
_HOUR = 3600.0
# Wordings of one rule that are counted apart, so that batches cannot hide duplicate keys; the rest share one count.
_WORDINGS = 8
_EACH_LIST = 100  # changes of one list that have a record each: more than a server's whole list, nearly always
_EACH_HOUR = 1000  # the same for one server in an hour; its list may change without end
_CHANGES = {
    "added": rules.CONTRACT_ADDED,
    "changed": rules.CONTRACT_CHANGED,
    "removed": rules.CONTRACT_REMOVED,
}


@dataclass(slots=True)
class _Trouble:
    """Trouble of one wording, since it began."""

    began: float
    reason: str
    most: int
    seen: int = 0


class Journal:
    def __init__(self, recorder: Recorder, clock: Clock) -> None:
        self._recorder = recorder
        self._clock = clock
        self._troubles: dict[tuple[str, str], dict[str, _Trouble]] = {}
        self._next_look = 0.0
        self._worded: dict[str, list[float]] = {}  # by server: since when, and how many changes since then

    def note(
        self,
        kind: RecordType,
        status: Status,
        *,
        server: str = "",
        tool: str = "",
        rule: str,
        reason: str,
        details: dict[str, Detail] | None = None,
        caller: Caller = ANYONE,
        is_refusal: bool = False,
    ) -> None:
        """Records an entry; with `is_refusal`, what a caller repeats is only counted."""
        record = Record(
            id=self._clock.new_id(),
            time=self._clock.now(),
            type=kind,
            status=status,
            server=server,
            tool=tool,
            rule=rule,
            reason=scrub_sentence(reason),
            actor=caller.actor,
            details=details or {},
        )
        if is_refusal:
            self._recorder.record_refusal(caller.label, record)
        else:
            self._recorder.record(record)

    def diagnose(self, server: str, rule: str, reason: str, *, tool: str = "", most: int = _EACH) -> None:
        """Records something odd. After `most` of one kind in an hour the rest are counted, and the count recorded."""
        now = self._clock.monotonic()
        if now >= self._next_look:
            self._forget_old(now)
        wordings = self._troubles.setdefault((server, rule), {})
        wording = reason if reason in wordings or len(wordings) < _WORDINGS else ""
        trouble = wordings.setdefault(wording, _Trouble(now, reason, most))
        trouble.seen += 1
        if trouble.seen > most:
            return
        more = " Further ones of this kind are only counted for an hour." if trouble.seen == most else ""
        self._note_trouble(server, rule, reason + more, tool=tool)

    def diagnose_unreadable(self, server: str, problem: BadMessage) -> None:
        """Records what a server sent that is not a message. Of plain text, such as a greeting, one record is enough."""
        if problem.is_text:
            reason = "The server printed text that is not a message; it was dropped. Have it print to stderr."
            self.diagnose(server, rules.SERVER_PRINTED, reason, most=1)
        else:
            self.diagnose(server, rules.MESSAGE_UNREADABLE, f"Dropped from the server: {problem.reason}")

    def close(self) -> None:
        """Records what was only counted so far."""
        self._forget_old(inf)

    def _forget_old(self, now: float) -> None:
        """Ends counts that began an hour ago, and records how many of each had no record of their own."""
        self._next_look = now + _HOUR / 60
        for (server, rule), wordings in [*self._troubles.items()]:
            for wording, trouble in [*wordings.items()]:
                if now - trouble.began < _HOUR:
                    continue
                del wordings[wording]
                unrecorded = trouble.seen - trouble.most
                if unrecorded > 0:
                    text = f"{unrecorded} more of this kind had no record of their own. {trouble.reason}"
                    self._note_trouble(server, rule, text, details={"unrecorded": unrecorded})
            if not wordings:
                del self._troubles[server, rule]

    def _note_trouble(
        self, server: str, rule: str, reason: str, *, tool: str = "", details: dict[str, Detail] | None = None
    ) -> None:
        status = Status.BLOCKED if rules.is_refusal(rule) else Status.WARNING
        self.note(RecordType.DIAGNOSTIC, status, server=server, tool=tool, rule=rule, reason=reason, details=details)

    def contracts_changed(self, server: str, changes: Sequence[ContractChange]) -> None:
        """Records each of the first changes; all further ones of a list share one record."""
        worded = changes[: min(_EACH_LIST, self._room_for_changes(server))]
        self._worded[server][1] += len(worded)
        for change in worded:
            self.note(
                RecordType.CONTRACT_CHANGE,
                Status.SUCCESS,
                server=server,
                tool=scrub_name(change.tool),
                rule=_CHANGES[change.kind],
                reason=f"The tool's contract was {change.kind}.",
                details={
                    "before": change.before.fingerprint if change.before else None,
                    "after": change.after.fingerprint if change.after else None,
                },
            )

        if len(worded) < len(changes):
            self._count_changes(server, changes[len(worded) :])

    def _room_for_changes(self, server: str) -> int:
        now = self._clock.monotonic()
        since, _ = self._worded.setdefault(server, [now, 0])
        if now - since > _HOUR:
            self._worded[server] = [now, 0]
        return _EACH_HOUR - int(self._worded[server][1])

    def _count_changes(self, server: str, changes: Sequence[ContractChange]) -> None:
        kinds = Counter(change.kind for change in changes)
        counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        self.note(
            RecordType.CONTRACT_CHANGE,
            Status.SUCCESS,
            server=server,
            rule=rules.CONTRACT_MANY,
            reason=f"{len(changes)} contracts of one list differ and are only counted: {counted}.",
            details=dict(kinds),
        )

    def server_state(self, server: str, rule: str, reason: str, status: Status = Status.SUCCESS) -> None:
        self.note(RecordType.SERVER_STATE, status, server=server, rule=rule, reason=reason)
