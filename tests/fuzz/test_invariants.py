"""What the fuzzer takes for a difference, and what not: outcomes made by hand."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from handfast.core.call.exchange import Record, RecordType, Status
from tests.fuzz.client import Headers, Received
from tests.fuzz.invariants import check
from tests.fuzz.readers import Readers
from tests.fuzz.routes import ROUTES, Route
from tests.fuzz.stage import Case, Outcome
from tests.fuzz.upstream import Got, Plan
from tests.parts import Parts

JSON = (b"Content-Type", b"application/json")
EVENTS = (b"Content-Type", b"text/event-stream")
CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":1}}}'
GOOD = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"total":3}}}'
BAD = GOOD.replace(b"3", b'"3"')
TWO = GOOD.replace(b'"result":{', b'"result":{"structuredContent":{},')
OVERHEARD = b": \x0bdata: " + BAD + b"\x0b\x0b\n"


@pytest.fixture(scope="module")
def readers(parts: Parts) -> Iterator[Readers]:
    readers = Readers()
    yield readers
    readers.close()


def route(name: str = "mcp/hl/legacy") -> Route:
    return next(route for route in ROUTES if route.name == name)


def record(tool: str = "pay", status: Status = Status.SUCCESS, rule: str = "", digest: str = '{"amount":1}') -> Record:
    details = {"argument_digest": digest}
    kind = RecordType.TOOL_CALL
    return Record(id="1", time="", type=kind, status=status, tool=tool, rule=rule, details=details)


def forwarded(body: bytes = CALL, *headers: tuple[bytes, bytes]) -> Got:
    lines = b"".join(b"%b: %b\r\n" % header for header in headers or (JSON,))
    return Got(body, b"POST / HTTP/1.1\r\nHost: x\r\n%bContent-Length: %d\r\n\r\n" % (lines, len(body)))


def outcome(got: Got | None = None, answer: bytes = GOOD, *headers: tuple[bytes, bytes], status: int = 200) -> Outcome:
    """A call that went as it should."""
    return Outcome(
        Case(route(), CALL, plan=Plan((answer,))),
        got=(forwarded() if got is None else got,),
        sent=(answer,),
        received=Received((answer,), status, headers or (JSON,)),
        records=(record(),),
        digest=lambda text: text.decode(),
    )


def rules(readers: Readers, seen: Outcome) -> set[str]:
    return {finding.rule for finding in check(seen, readers)}


def test_a_call_that_went_as_it_should_is_no_finding(readers: Readers) -> None:
    assert check(outcome(), readers) == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (CALL.replace(b'"name"', b'"name":"hidden","name"'), {"requests.differ", "requests.contract"}),
        (CALL.replace(b'"pay"', b'"hidden"'), {"requests.contract", "requests.unrecorded"}),
        (CALL.replace(b"1}", b"1e400}"), {"requests.contract", "requests.unrecorded"}),
        (CALL.replace(b'{"amount":1}', b'{"amount":1,"data":{}}'), {"requests.contract", "requests.unrecorded"}),
        (CALL.replace(b'{"amount":1}', b'{"amount":1,"Amount":2}'), {"requests.contract", "requests.unrecorded"}),
        (CALL.replace(b'"id":1,', b""), {"requests.shape"}),
        (b'{"jsonrpc":"2.0","id":1,"method":"notifications/x"}', {"requests.shape"}),
        (CALL + CALL, {"requests.differ"}),
    ],
)
def test_a_request_that_must_not_have_passed_is_found(readers: Readers, body: bytes, found: set[str]) -> None:
    assert rules(readers, outcome(forwarded(body))) == found


@pytest.mark.parametrize(
    "records",
    [
        (),
        (record(status=Status.BLOCKED, rule="arguments.schema"),),
        (record(tool="note"),),
        (record(digest='{"amount":2}'),),
    ],
)
def test_a_call_that_is_not_on_record_as_it_was_is_found(readers: Readers, records: tuple[Record, ...]) -> None:
    assert "requests.unrecorded" in rules(readers, replace(outcome(), records=records))


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ((JSON, (b"X-Forwarded-For", b"1.2.3.4")), {"headers.up"}),
        (((b"Content-Type", b"application/json; charset=utf-16"),), {"headers.up"}),
        ((JSON, JSON), {"headers.up"}),
        ((JSON, (b"Content-Encoding", b"gzip")), {"headers.up"}),
        ((JSON, (b"Mcp-Method", b"ping")), {"headers.mismatch"}),
        ((JSON, (b"Mcp-Method", b"=?base64?dG9vbHMvY2FsbA==?="), (b"traceparent", b"00-1")), set()),
    ],
)
def test_headers_that_say_something_else_of_a_body_are_found(
    readers: Readers, headers: Headers, found: set[str]
) -> None:
    assert rules(readers, outcome(forwarded(CALL, *headers))) == found


@pytest.mark.parametrize(
    ("answer", "headers", "found"),
    [
        (BAD, (JSON,), {"answers.contract"}),
        (
            GOOD.replace(b'"result":{', b'"result":{"structuredContent":{},'),
            (JSON,),
            {"answers.contract", "answers.differ"},
        ),
        (b"data: " + GOOD + b"\n\n", (EVENTS,), set()),
        (
            b": \x0bdata: " + BAD + b"\x0b\x0b\ndata: " + GOOD + b"\n\n",
            (EVENTS,),
            {"answers.contract", "answers.differ"},
        ),
        (b"data: " + GOOD.replace(b"[]", b'["\xe2\x80\xa8"]') + b"\n\n", (EVENTS,), {"answers.torn"}),
        (b"data: " + GOOD + b"\n\ndata: " + GOOD + b"\n\n", (EVENTS,), {"answers.twice"}),
        (GOOD, (JSON, (b"Set-Cookie", b"a=b")), {"headers.down"}),
        (GOOD, ((b"Content-Type", b"application/json; charset=utf-16le"),), {"headers.down"}),
        (GOOD.replace(b"3}", b'"3"},"isError":true'), (JSON,), set()),
        (GOOD.replace(b"3}", b'3,"total":4},"isError":true'), (JSON,), set()),
    ],
)
def test_an_answer_that_must_not_have_passed_is_found(
    readers: Readers, answer: bytes, headers: Headers, found: set[str]
) -> None:
    assert rules(readers, outcome(None, answer, *headers)) == found


def test_an_answer_that_the_server_did_not_send_is_found(readers: Readers) -> None:
    assert rules(readers, replace(outcome(), sent=(GOOD.replace(b"3", b"4"),))) == {"answers.changed"}


def test_what_a_schema_breaks_may_pass_with_a_warning(readers: Readers) -> None:
    warning = replace_record(record(rule="result.schema", status=Status.WARNING), RecordType.POLICY_DECISION)
    assert rules(readers, replace(outcome(None, BAD), records=(record(), warning))) == set()


def replace_record(made: Record, kind: RecordType) -> Record:
    return Record(id="2", time="", type=kind, status=made.status, tool=made.tool, rule=made.rule)


@pytest.mark.parametrize(
    ("header", "is_found"),
    [
        ((b"Host", b"[::1]evil.com"), True),
        ((b"Host", b"localhost:80"), False),
        ((b"Origin", b"http://evil.com@localhost"), True),
        ((b"Origin", b"http://localhost:8080"), False),
    ],
)
def test_a_stranger_that_was_served_is_found(readers: Readers, header: tuple[bytes, bytes], is_found: bool) -> None:
    seen = outcome()
    seen = replace(seen, case=replace(seen.case, headers=(JSON, header)))
    assert ("admission" in rules(readers, seen)) == is_found


def test_what_the_gateway_logs_as_its_own_failure_is_found(readers: Readers) -> None:
    assert rules(readers, replace(outcome(), troubles=("Traceback …\nKeyError: 1",))) == {"crash"}
