"""What must hold after every case: what anybody reads is what was judged, and what was judged is on record."""

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from handfast.core.call.exchange import RecordType, Status
from tests.fuzz.client import Headers
from tests.fuzz.messages import ABSENT, Reading, Seen, canonical, frozen, member_at, parse, plain, readings_of
from tests.fuzz.promises import LISTED, WITH_OUTPUT, broken_by_arguments, meets_output
from tests.fuzz.readers import Readers, events_by_the_book, header_lines
from tests.fuzz.stage import Outcome
from tests.fuzz.upstream import Got

# What describes our bytes is ours to say; of the rest only these travel.
_UPWARD = re.compile(
    rb"host|content-length|content-type|accept|accept-encoding|mcp-.*|last-event-id|traceparent|tracestate|user-agent"
)
_DOWNWARD = re.compile(
    rb"content-length|content-type|transfer-encoding|connection|date|mcp-session-id|mcp-protocol-version|retry-after"
    rb"|allow|cache-control|x-accel-buffering|www-authenticate|location|vary"
)
_PLAIN_JSON = re.compile(rb'application/json(?:\s*;\s*charset\s*=\s*"?utf-?8"?)?', re.I)
_PLAIN_EVENTS = re.compile(rb'text/event-stream(?:\s*;\s*charset\s*=\s*"?utf-?8"?)?', re.I)


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference. `rule` says which invariant, `sort` in which way; `what` is for a person."""

    rule: str
    sort: str
    what: str

    @property
    def kind(self) -> str:
        """What makes two findings the same to a person who reads a list of them."""
        return f"{self.rule} ({self.sort})"


def check(outcome: Outcome, readers: Readers) -> list[Finding]:
    forwarded, received = readers.read(outcome.got, outcome.received)
    found = [Finding("crash", _gist(trouble), trouble) for trouble in outcome.troubles]
    for got, readings in zip(outcome.got, forwarded, strict=True):
        found += _check_forwarded(outcome, got, readings)
        if got.is_http:
            found += _check_upward(header_lines(got.head), got)
    found += _check_recorded(outcome)
    found += _check_received(outcome, received)
    found += _check_admission(outcome)
    return found


def _gist(trouble: str) -> str:
    """The last line of a traceback, or the beginning of any other line."""
    return trouble.strip().splitlines()[-1][:60]


# --- requests ------------------------------------------------------------------------------------------------------


def _check_forwarded(outcome: Outcome, got: Got, readings: list[Reading]) -> Iterator[Finding]:
    ours = _canonical_seen(got.body)
    for reading in readings:
        for seen in reading.seen:
            if seen not in ours:
                yield Finding(
                    "requests.differ", reading.name, f"{reading.reader} reads {seen}, we read {sorted(map(str, ours))}"
                )
            if seen.is_call:
                yield from _check_call(outcome, seen, reading.reader)
            if seen.kind == "request":
                yield from _check_shape(seen, reading.reader, "requests")


def _check_call(outcome: Outcome, seen: Seen, reader: str) -> Iterator[Finding]:
    if not isinstance(seen.name, str):
        yield Finding("requests.contract", "no tool", f"{reader} reads a call without a tool: {seen}")
        return
    arguments = None if seen.arguments is ABSENT else plain(seen.arguments)
    broken = broken_by_arguments(seen.name, arguments, is_strict=outcome.case.route.server.is_strict)
    if broken is not None:
        what = f"{broken}: {reader} reads {seen.name!r} with {arguments!r}"[:600]
        yield Finding("requests.contract", f"{seen.name if seen.name in LISTED else '?'}: {broken}", what)


def _check_shape(seen: Seen, reader: str, side: str) -> Iterator[Finding]:
    """Without an id there are only notifications, and with one none."""
    is_notification = seen.method.startswith("notifications/")
    if is_notification != (seen.id is ABSENT):
        word = "with an id" if is_notification else "without an id"
        yield Finding(f"{side}.shape", word, f"{reader} reads {seen.method!r} {word}")


def _canonical_seen(data: bytes) -> set[Seen]:
    readings = readings_of("", canonical(data))
    return {seen for reading in readings if reading.reader.endswith("last wins") for seen in reading.seen}


def _check_recorded(outcome: Outcome) -> Iterator[Finding]:
    """Each call that reached a server is on record as let through, with this tool and these arguments."""
    recorded: Counter[tuple[str, object]] = Counter()
    for record in outcome.records:
        is_refused = record.status is Status.BLOCKED and not record.rule.startswith("result.")
        if record.type is RecordType.TOOL_CALL and not is_refused:
            recorded[record.tool, record.details.get("argument_digest")] += 1
    for got in outcome.got:
        for seen in _canonical_seen(got.body):
            if not seen.is_call or not isinstance(seen.name, str):
                continue
            keys = [(_shown(seen.name), digest) for digest in _digests(outcome, got)]
            known = next((key for key in keys if recorded[key] > 0), None)
            if known is None:
                names = [(record.tool, record.status.value, record.rule) for record in outcome.records]
                yield Finding("requests.unrecorded", "", f"{seen.name!r} was called; on record: {names}")
            elif outcome.case.plan is None or outcome.case.plan.status != 404:
                recorded[known] -= 1  # a session that is lost (404) is opened again and the call repeated, as one call


def _shown(name: str) -> str:
    """As records show a name."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def _digests(outcome: Outcome, got: Got) -> Iterator[object]:
    """Of the arguments as they were forwarded, and as they came if those say the same: on a line, a line end between
    tokens becomes a blank.
    """
    passed = member_at(got.body.decode(errors="replace"), "params", "arguments")
    if passed is None:
        yield None
        return
    yield outcome.digest(passed.encode())
    came = outcome.case.body.decode(errors="replace")
    for path in (("params", "arguments"), ("params", "arguments", "arguments")):
        given = member_at(came, *path)
        if given is not None and [frozen(value) for value in parse(given)] == [
            frozen(value) for value in parse(passed)
        ]:
            yield outcome.digest(given.encode())


def _check_upward(headers: Headers, got: Got) -> Iterator[Finding]:
    for name, _ in headers:
        if not _UPWARD.fullmatch(name.lower()):
            yield Finding("headers.up", name.decode("latin-1").lower(), f"the server got the header {name!r}")
    kinds = [value for name, value in headers if name.lower() == b"content-type"]
    if len(kinds) != 1 or not _PLAIN_JSON.fullmatch(kinds[0]):
        yield Finding("headers.up", "content-type", f"the server got Content-Type {kinds}")
    said = {name.lower(): value for name, value in headers}
    for seen in _canonical_seen(got.body):
        told = said.get(b"mcp-method")
        if told is not None and seen.kind == "request" and _header_text(told) != seen.method:
            yield Finding("headers.mismatch", "mcp-method", f"Mcp-Method {told!r} for {seen.method!r}")


def _header_text(value: bytes) -> str:
    if value.startswith(b"=?base64?") and value.endswith(b"?="):
        return base64.b64decode(value[9:-2]).decode(errors="replace")
    return value.decode("latin-1")


# --- answers -------------------------------------------------------------------------------------------------------


def _check_received(outcome: Outcome, readings: list[Reading]) -> Iterator[Finding]:
    received = outcome.received
    has_schema = outcome.case.tool in WITH_OUTPUT and "result.ambiguous" not in _warnings(outcome)
    ours = _client_canonical(outcome, has_schema)
    for reading in readings:
        for seen in reading.seen:
            if _compared(seen, has_schema) not in ours:
                known = sorted(map(str, ours))
                yield Finding("answers.differ", reading.name, f"{reading.reader} reads {seen}, we read {known}")
            if seen.kind == "request":
                yield from _check_shape(seen, reading.reader, "answers")
            if outcome.case.plan is not None:
                yield from _check_result(outcome, seen, reading.reader)
    yield from _check_whole(readings)
    if outcome.case.plan is not None:
        yield from _check_fidelity(outcome)
    if received.is_http:
        yield from _check_downward(outcome)


def _check_whole(readings: list[Reading]) -> Iterator[Finding]:
    """Clients that split lines as Python does lose nothing of what others read."""
    by_reader = {reading.reader: set(reading.seen) for reading in readings}
    torn = by_reader.get("by the book, last wins", set()) - by_reader.get("httpx-sse, last wins", set())
    for seen in torn:
        yield Finding("answers.torn", "httpx-sse", f"httpx-sse does not find {seen}")


def _compared(seen: Seen, has_schema: bool) -> Seen:
    """Structured content that nothing judges, or that passed with a warning, may be read in several ways."""
    return seen if has_schema and not seen.is_error else Seen(seen.kind, seen.id, seen.method, is_error=seen.is_error)


def client_texts(outcome: Outcome) -> list[bytes]:
    """Each message that the client was sent, by the book."""
    received = outcome.received
    if not received.is_http:
        return [line for line in received.body.split(b"\n") if line.strip()]
    if any(b"event-stream" in kind.lower() for kind in received.values(b"content-type")):
        return [text.encode() for text in events_by_the_book(received.body)]
    return [received.body]


def _client_canonical(outcome: Outcome, has_schema: bool) -> set[Seen]:
    return {_compared(seen, has_schema) for text in client_texts(outcome) for seen in _canonical_seen(text)}


def _check_result(outcome: Outcome, seen: Seen, reader: str) -> Iterator[Finding]:
    if seen.kind != "result" or seen.structured is ABSENT:
        return
    tool = outcome.case.tool
    if not seen.is_error and not meets_output(tool, plain(seen.structured)) and not _warnings(outcome):
        yield Finding(
            "answers.contract",
            f"{tool}: {reader.partition(',')[0]}",
            f"{reader} reads a result of {tool} that breaks its schema: {seen}",
        )
    if not any(record.type is RecordType.TOOL_CALL and record.status is Status.SUCCESS for record in outcome.records):
        names = [(record.tool, record.status.value, record.rule) for record in outcome.records]
        if not seen.is_error:
            yield Finding("answers.unrecorded", "", f"{reader} reads a result; on record: {names}")


def _warnings(outcome: Outcome) -> set[str]:
    """The rules that the result broke, where that only warns."""
    warned = (record for record in outcome.records if record.status is Status.WARNING)
    return {record.rule for record in warned if record.type is RecordType.POLICY_DECISION and "result." in record.rule}


_ESCAPED = str.maketrans({"\u0085": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def _check_fidelity(outcome: Outcome) -> Iterator[Finding]:
    """What is structured in an answer is spelled as the server spelled it, but for the three escapes of SSE."""
    raws = outcome.sent
    events = [text for raw in raws for text in events_by_the_book(raw + b"\n\n")]
    sent = "\n".join([*(raw.decode(errors="replace") for raw in raws), *events])
    spelled = sent.translate(_ESCAPED)
    answered: Counter[str] = Counter()
    for data in client_texts(outcome):
        text = data.decode(errors="replace")
        answer_id = member_at(text, "id")
        if answer_id is not None and member_at(text, "method") is None:
            answered[json.dumps(parse(answer_id))] += 1
        structured = member_at(text, "result", "structuredContent") or member_at(
            text, "result", "result", "structuredContent"
        )
        if structured is not None and not (
            structured in sent or structured in spelled or _is_respaced(structured, sent)
        ):
            yield Finding("answers.changed", "", f"the client got {structured[:200]!r}, which the server did not send")
    for answer_id, times in answered.items():
        if times > 1:
            yield Finding("answers.twice", "", f"{times} answers to {answer_id}")


def _is_respaced(structured: str, sent: str) -> bool:
    """On a line, and across lines of data, what stands between tokens may be another blank."""
    return re.sub(r"\s", "", structured) in re.sub(r"\s|(?<=\n)data:", "", sent.replace("\r", "\n"))


def _check_downward(outcome: Outcome) -> Iterator[Finding]:
    received = outcome.received
    for name, _ in received.headers:
        if not _DOWNWARD.fullmatch(name.lower()):
            yield Finding("headers.down", name.decode("latin-1").lower(), f"the client got the header {name!r}")
    kinds = received.values(b"content-type")
    is_plain = len(kinds) == 1 and (
        _PLAIN_JSON.fullmatch(kinds[0]) or _PLAIN_EVENTS.fullmatch(kinds[0]) or kinds[0].startswith(b"text/plain")
    )
    if received.body and not is_plain:
        yield Finding("headers.down", "content-type", f"the client got Content-Type {kinds}")


# --- who may ask ---------------------------------------------------------------------------------------------------

_HOST = re.compile(rb"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{0,5})?", re.I)
_ORIGIN = re.compile(rb"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{0,5})?", re.I)


def _check_admission(outcome: Outcome) -> Iterator[Finding]:
    """A Host or Origin that is not of this machine reaches nothing."""
    if not outcome.got or outcome.received.status >= 400:
        return
    for wanted, pattern in ((b"host", _HOST), (b"origin", _ORIGIN)):
        values = [value for name, value in outcome.case.headers if name.lower() == wanted]
        if len(values) > 1 or any(not pattern.fullmatch(value) for value in values):
            yield Finding("admission", wanted.decode(), f"{wanted.decode()} {values} was served")
