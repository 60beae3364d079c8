"""The fuzzer's readers find what real readers find: each is shown a message that only its habit brings to light."""

from collections.abc import Iterator

import pytest

from tests.fuzz.client import Received
from tests.fuzz.messages import Reading
from tests.fuzz.readers import Readers
from tests.fuzz.texts import utf7
from tests.fuzz.upstream import Got
from tests.parts import Parts

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{}}}'
RESULT = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"total":"3"}}}'
IN_UTF7 = utf7('","method":"tools/call","params":{"name":"pay"},"z":"').encode()
PING_IN_UTF8 = b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"' + IN_UTF7 + b'"}'
EVENTS = ((b"content-type", b"text/event-stream"),)


@pytest.fixture(scope="module")
def readers(parts: Parts) -> Iterator[Readers]:
    readers = Readers()
    yield readers
    readers.close()


def request(body: bytes, kind: bytes = b"application/json", more: bytes = b"") -> Got:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: %b\r\n%bContent-Length: %d\r\n\r\n" % (kind, more, len(body))
    return Got(body, head)


def names_of(readings: list[Reading], *, kind: str) -> set[str]:
    """Which readers find a call, or a result."""
    return {
        reading.reader
        for reading in readings
        if any(seen.is_call if kind == "call" else seen.kind == kind for seen in reading.seen)
    }


def finds_call(readers: Readers, got: Got) -> set[str]:
    (readings,), _ = readers.read([got], Received(()))
    return names_of(readings, kind="call")


def finds_result(readers: Readers, body: bytes, *headers: tuple[bytes, bytes]) -> set[str]:
    _, readings = readers.read([], Received((body,), 200, headers))
    return names_of(readings, kind="result")


def test_every_reader_of_a_body_finds_a_plain_call(readers: Readers) -> None:
    found = finds_call(readers, request(CALL))
    assert {name.partition(",")[0] for name in found} == {
        "json.loads",
        "one value after the other",
        "Express 4",
        "JSON.parse",
    }


def test_every_reader_of_lines_finds_a_plain_call(readers: Readers) -> None:
    found = finds_call(readers, Got(CALL + b"\n"))
    assert {name.partition(",")[0] for name in found} == {
        "lines",
        "universal newlines",
        "splitlines",
        "one value after the other",
        "Node's readline",
    }


def test_express_finds_what_the_charset_of_the_header_spells(readers: Readers) -> None:
    assert not finds_call(readers, request(PING_IN_UTF8))
    found = finds_call(readers, request(PING_IN_UTF8, b"application/json; charset=utf-7"))
    assert {"Express 4, last wins", "as utf-7, last wins"} <= found
    assert "JSON.parse, last wins" not in found


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        (b'{"method":"tools/call","method":"ping","params":{}}', "json.loads, first wins"),
        (b'{"method":"ping","method":"tools/call","params":{}}', "Express 4, last wins"),
        (b'{"method":"ping","Method":"tools/call","params":{}}', "json.loads, folds case"),
        (b'{"method":"ping","method\\u0000":"tools/call","params":{}}', "json.loads, folds case, drops NUL"),
        (b'{"method":"ping"}' + CALL, "one value after the other, last wins"),
        (b"[" + CALL + b"]", "Express 4, last wins"),
        (CALL.decode().encode("utf-16"), "json.loads, last wins"),
    ],
)
def test_a_habit_brings_its_call_to_light(readers: Readers, text: bytes, reader: str) -> None:
    assert reader in finds_call(readers, request(text))


@pytest.mark.parametrize(
    ("end", "reader"),
    [
        (b"\r", "universal newlines, last wins"),
        (b"\r", "Node's readline, last wins"),
        (b"\x0b", "splitlines, last wins"),
        ("\u2028".encode(), "Node's readline, last wins"),
        ("\x85".encode(), "splitlines, last wins"),
    ],
)
def test_a_line_end_of_its_own_brings_a_call_to_light(readers: Readers, end: bytes, reader: str) -> None:
    got = Got(b'{"method":"ping","x":' + end + CALL + end + b"}\n")
    assert reader in finds_call(readers, got)


@pytest.mark.parametrize(
    ("stream", "reader"),
    [
        (b": x\x0bdata: " + RESULT + b"\x0b\x0b\n\n", "httpx-sse, last wins"),
        (b": x\xe2\x80\xa8data: " + RESULT + b"\xe2\x80\xa8\xe2\x80\xa8\n\n", "httpx-sse, last wins"),
        (b"DATA: " + RESULT + b"\n\n", "lenient, last wins"),
        (b"data : " + RESULT + b"\n\n", "lenient, last wins"),
        (b": x\n\n\xef\xbb\xbfdata: " + RESULT + b"\n\n", "lenient, last wins"),
        (b"data: " + RESULT, "lenient, last wins"),
    ],
)
def test_a_reader_of_events_finds_what_is_none_by_the_book(readers: Readers, stream: bytes, reader: str) -> None:
    found = finds_result(readers, stream, *EVENTS)
    assert reader in found
    assert not {"by the book, last wins", "eventsource-parser, last wins"} & found


def test_every_reader_of_events_finds_a_plain_result(readers: Readers) -> None:
    found = finds_result(readers, b"data: " + RESULT + b"\n\n", *EVENTS)
    assert {name.partition(",")[0] for name in found} == {"by the book", "lenient", "httpx-sse", "eventsource-parser"}


def test_a_client_that_believes_the_charset_finds_another_result(readers: Readers) -> None:
    text = RESULT.decode().replace('"3"', '"' + utf7('3","a":"') + '"').encode()
    _, readings = readers.read([], Received((text,), 200, ((b"content-type", b"application/json; charset=utf-7"),)))
    seen = {reading.name: reading.seen[0].structured for reading in readings}
    assert seen["httpx"] == seen["as utf-7"] != seen["json.loads"]
