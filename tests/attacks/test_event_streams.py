"""Events that a server hides where some client's reader finds one and the gateway's would not: none may be unjudged."""

import http.client
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.contracts.rig import HttpGateway, Json
from tests.gateway.running import Serving, read_records, running, send
from tests.gateway.test_wrap_bridge import wrap_url
from tests.gateway.translate.servers.asking import LEGACY, MODERN
from tests.parts import Parts
from tests.stubs.run import Stub, answer, serving, tool, write_stub
from tests.wire.event_readers import READERS, read_line_by_line

pytestmark = [pytest.mark.requirement("S4"), pytest.mark.requirement("B6")]

ALL = [*LEGACY, *MODERN]
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
GOOD = '{"content":[],"structuredContent":{"n":1}}'
HIDDEN = b'{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"structuredContent":{"n":"hidden"}}}'
END = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"the end"}}\n\n'
# What `str.splitlines` takes for a line end beside LF and CR.
SPLITTERS = {
    "VT": b"\x0b",
    "FF": b"\x0c",
    "FS": b"\x1c",
    "GS": b"\x1d",
    "RS": b"\x1e",
    "NEL": "\u0085".encode(),
    "LS": "\u2028".encode(),
    "PS": "\u2029".encode(),
}
FIELDS = {"comment": b":", "id": b"id:", "event": b"event:", "retry": b"retry:", "unknown": b"x:", "bare": b"x"}


def hide(field: bytes, splitter: bytes) -> bytes:
    return field + b" 1" + splitter * 2 + b"data: " + HIDDEN + splitter * 2 + b"\n\n"


HIDING_PLACES: dict[str, bytes] = {
    **{f"{field}_{name}": hide(FIELDS[field], SPLITTERS[name]) for field in FIELDS for name in SPLITTERS},
    "blank_before_colon": b"data : " + HIDDEN + b"\n\n",
    "capitals": b"DATA: " + HIDDEN + b"\n\n",
    "blank_before_name": b" data: " + HIDDEN + b"\n\n",
    "later_mark": b": first\n\n\xef\xbb\xbfdata: " + HIDDEN + b"\n\n",
    "mark_and_event": b": first\n\n\xef\xbb\xbfevent: message\n\xef\xbb\xbfdata: " + HIDDEN + b"\n\n",
    "line_of_data": b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":\ndata: '
    + HIDDEN
    + b"\ndata: }}\n\n",
    "comment_in_event": b"event: message\n: x\x85\x85data: " + HIDDEN + b"\n\n",
    "not_utf8": b": \xff\xe2\x80\xa8\xe2\x80\xa8data: " + HIDDEN + b"\n\n",
}
# A result that is right, with each of those characters where it may stand: in strings.
SPELLED = '{"content":[{"type":"text","text":"a\u0085b\u2028c\u2029d\\\\\u2028"}],"structuredContent":{"n":1}}'


class Rig(NamedTuple):
    gateway: Serving
    stub: Stub


def stub_of(folder: Path, name: str, *faults: str, versions: list[str] = ALL, tail: bytes = b"") -> Stub:
    answers = {place: answer(GOOD, *faults, events=events + tail) for place, events in HIDING_PLACES.items()}
    answers["spelled"] = answer(SPELLED)
    tools = [tool(place, None, NUMBER) for place in answers]
    return write_stub(folder, tools=tools, answers=answers, name=name, versions=versions)


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A server that answers with streams, one whose stream is resumed, one with a stream of its own, and each era's."""
    folder = tmp_path_factory.mktemp("hidden")
    stub = stub_of(folder, "up")
    with (
        serving(stub, "http-sse") as up,
        serving(stub_of(folder, "resumed", "resume"), "http-sse") as resumed,
        serving(stub_of(folder, "aside", tail=END), "http-json") as aside,
        serving(stub_of(folder, "legacy", versions=LEGACY), "http-sse") as legacy,
        serving(stub_of(folder, "modern", versions=MODERN), "http-sse") as modern,
    ):
        urls = {"up": up, "resumed": resumed, "aside": aside, "legacy": legacy, "modern": modern}
        servers: dict[str, Json] = {name: {"url": url} for name, url in urls.items()}
        servers["compact"] = {"url": up, "handfast": {"surface": "compact"}}
        with running(servers, folder, output_validation={"mode": "strict"}) as gateway:
            yield Rig(gateway, stub)


def posted(client: HttpGateway, place: str, arguments: Json = None) -> tuple[str, bytes]:
    """What kind of answer a call gets, and all of its bytes."""
    body = json.dumps(client.render("tools/call", {"name": place, "arguments": arguments or {}})).encode()
    got = send(client.base, "POST", client.path, body, client.headers(body))
    return got.headers.get("content-type", ""), got.body


def answers_in(texts: list[str]) -> list[Json]:
    """The results among messages; what is no message is none of a reader's."""
    found = []
    for text in texts:
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return [message["result"] for message in found if isinstance(message, dict) and "result" in message]


def assert_nothing_hidden(stream: bytes) -> None:
    expected = [json.loads(GOOD)]
    for reader in READERS:
        assert answers_in(reader(stream)) == expected, reader.__name__
    assert answers_in(read_line_by_line(stream)) == expected


# --- each way to a client --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", HIDING_PLACES)
@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy", "modern"])
def test_no_reader_finds_a_hidden_event_in_an_answer(rig: Rig, place: str, is_modern: bool) -> None:
    kind, stream = posted(rig.gateway.client("up", is_modern=is_modern), place)
    assert kind == "text/event-stream; charset=utf-8"  # or a reader of Latin-1 finds line ends in letters
    assert_nothing_hidden(stream)


@pytest.mark.parametrize("place", HIDING_PLACES)
def test_no_reader_finds_a_hidden_event_in_a_resumed_stream(rig: Rig, place: str) -> None:
    client = rig.gateway.client("resumed")
    _, first = posted(client, place)
    event_id = next(line for line in first.splitlines() if line.startswith(b"id: "))[4:].decode()
    headers = {"Mcp-Session-Id": str(client.session), "Last-Event-ID": event_id}
    assert_nothing_hidden(send(client.base, "GET", client.path, headers=headers).body)


@pytest.mark.parametrize("place", HIDING_PLACES)
def test_no_reader_finds_a_hidden_event_in_what_a_server_says_on_its_own(rig: Rig, place: str) -> None:
    client = rig.gateway.client("aside")
    assert json.loads(posted(client, place)[1])["result"] == json.loads(GOOD)
    stream = listened(client)
    for reader in (*READERS, read_line_by_line):
        assert answers_in(reader(stream)) == [], reader.__name__


def listened(client: HttpGateway) -> bytes:
    """The client's own stream up to the event that says that it ends."""
    address = urlsplit(client.base)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=10)
    try:
        connection.request("GET", client.path, headers={"Mcp-Session-Id": str(client.session)})
        response, seen = connection.getresponse(), b""
        while b"the end" not in seen:
            seen += response.read1(65536)
        return seen
    finally:
        connection.close()


WAYS = {
    "a modern client with a legacy server": ("legacy", "", True),
    "a legacy client with a modern server": ("modern", "", False),
    "all servers, legacy": (None, "up__", False),
    "all servers, modern": (None, "up__", True),
    "compact, legacy": ("compact", "compact", False),
    "compact, modern": ("compact", "compact", True),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_reader_finds_a_hidden_event_behind_a_bridge_or_among_many(rig: Rig, way: str) -> None:
    server, name, is_modern = WAYS[way]
    client = rig.gateway.client(server or "up", is_modern=is_modern, opens=False)
    client.path = f"/mcp/{server}" if server else "/mcp"
    client.open()
    for place in HIDING_PLACES:
        if name == "compact":
            kind, stream = posted(client, "compact", {"action": place, "arguments": {}})
        else:
            kind, stream = posted(client, name + place)
        assert b"hidden" not in stream or place == "line_of_data", (place, stream)
        if kind.startswith("text/event-stream"):
            for reader in (*READERS, read_line_by_line):
                (found,) = answers_in(reader(stream))
                assert found["structuredContent"] == {"n": 1}, (place, reader.__name__)


@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy", "modern"])
def test_no_line_of_a_wrapper_is_a_hidden_event(tmp_path: Path, is_modern: bool) -> None:
    stub = stub_of(tmp_path, "up")
    with serving(stub, "http-sse") as url, wrap_url(url, tmp_path, is_modern=is_modern) as gateway:
        for place in HIDING_PLACES:
            assert gateway.call(place).result["structuredContent"] == {"n": 1}, place
        assert all(b"hidden" not in line or b"notifications/message" in line for line in gateway.strays)
        # A line ends in LF and in nothing else: there these characters stay as they were sent.
        assert SPELLED.encode()[1:-1] in gateway.call("spelled").raw


# --- with httpx-sse itself -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy", "modern"])
def test_httpx_sse_reads_what_was_judged_and_nothing_else(rig: Rig, parts: Parts, is_modern: bool) -> None:
    client = rig.gateway.client("up", is_modern=is_modern)
    bodies = [client.render("tools/call", {"name": place, "arguments": {}}) for place in (*HIDING_PLACES, "spelled")]
    asked: list[Json] = []
    for body in bodies:
        text = json.dumps(body)
        headers = client.headers(text.encode())
        asked.append({"method": "POST", "url": client.base + client.path, "headers": headers, "body": text})
    *hidden, spelled = parts.httpx_sse(asked)
    for place, texts in zip(HIDING_PLACES, hidden, strict=True):
        assert answers_in(texts) == [json.loads(GOOD)], place
    assert answers_in(spelled) == [json.loads(SPELLED)]


def test_httpx_sse_hears_nothing_hidden_on_a_stream_of_the_servers_own(rig: Rig, parts: Parts) -> None:
    asked: list[Json] = []
    for place in HIDING_PLACES:
        client = rig.gateway.client("aside")
        posted(client, place)
        headers = {"Mcp-Session-Id": str(client.session)}
        url = client.base + client.path
        asked.append({"method": "GET", "url": url, "headers": headers, "until": "the end"})
    for place, texts in zip(HIDING_PLACES, parts.httpx_sse(asked), strict=True):
        assert answers_in(texts) == [], place


# --- what is right is not torn ---------------------------------------------------------------------------------------


@pytest.mark.requirement("004-3")
@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy", "modern"])
def test_characters_that_some_readers_split_at_are_escaped_in_events_alone(rig: Rig, is_modern: bool) -> None:
    _, stream = posted(rig.gateway.client("up", is_modern=is_modern), "spelled")
    for reader in (*READERS, read_line_by_line):
        assert answers_in(reader(stream)) == [json.loads(SPELLED)], reader.__name__
    assert b'"text":"a\\u0085b\\u2028c\\u2029d\\\\\\u2028"' in stream
    _, body = posted(rig.gateway.client("aside", is_modern=is_modern), "spelled")
    assert SPELLED.encode() in body


# --- a server in raw bytes -------------------------------------------------------------------------------------------


class RawServer(http.server.BaseHTTPRequestHandler):
    """Lists one tool, and answers everything else with the bytes it was given."""

    protocol_version = "HTTP/1.1"
    kind = "text/event-stream"
    stream = b""
    resumed_after: list[bytes]

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if message["method"] == "tools/list":
            result = {"tools": [tool("t", None, NUMBER)], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
            self.reply(
                "application/json", json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
            )
            return
        self.reply(self.kind, self.stream.replace(b"$ID", json.dumps(message.get("id")).encode()))

    def do_GET(self) -> None:
        self.resumed_after.append(self.headers.get("Last-Event-ID", "").encode("latin-1"))
        self.reply(self.kind, self.stream.replace(b"$ID", b"1"))

    def reply(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Silent."""


@contextmanager
def raw_server(folder: Path, stream: bytes, kind: str = "text/event-stream") -> Iterator[tuple[Serving, list[bytes]]]:
    """A gateway in front of such a server, and the ids that the server was asked to go on from."""
    resumed: list[bytes] = []
    handler = type("Handler", (RawServer,), {"stream": stream, "kind": kind, "resumed_after": resumed})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        try:
            with running({"up": {"url": url}}, folder, output_validation={"mode": "strict"}) as gateway:
                yield gateway, resumed
        finally:
            server.shutdown()


def sent_to_a_client(gateway: Serving, method: str, *, after: bytes = b"") -> bytes:
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}'
        if method == "POST"
        else b""
    )
    headers = {"Accept": "application/json, text/event-stream", "Last-Event-ID": after}
    if body:
        headers["Content-Type"] = "application/json"
    return send(gateway.base, method, "/mcp/up", body or None, headers).body


@pytest.mark.parametrize(
    "kind",
    [
        "text/event-stream, x/y",
        "x-text/event-stream",
        "TEXT/Event-Stream",
        "a/b;text/event-stream",
        "application/json\r\nContent-Type: text/event-stream",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_any_client_takes_for_a_stream_is_rendered(tmp_path: Path, kind: str, method: str) -> None:
    stream = b": x\xc2\x85\xc2\x85data: " + HIDDEN + b"\n\ndata: " + HIDDEN + b"\n\n"
    with raw_server(tmp_path, stream, kind) as (gateway, _):
        assert b"hidden" not in sent_to_a_client(gateway, method)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_event_without_its_blank_line_is_not_sent(tmp_path: Path, method: str) -> None:
    note = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"whole"}}'
    with raw_server(tmp_path, b"data: " + note + b"\n\ndata: " + note.replace(b"whole", b"tail") + b"\n") as (
        gateway,
        _,
    ):
        seen = sent_to_a_client(gateway, method)
    assert (b"whole" in seen, b"tail" in seen) == (True, False)


def test_a_message_is_judged_and_delivered_as_one_whatever_its_event_is_called(tmp_path: Path) -> None:
    good = b'{"jsonrpc":"2.0","id":$ID,"result":' + GOOD.encode() + b"}"
    with raw_server(tmp_path, b"event: other\ndata: " + good + b"\n\n") as (gateway, _):
        seen = sent_to_a_client(gateway, "POST")
        assert seen == b"event: message\ndata: " + good.replace(b"$ID", b"1") + b"\n\n"


@pytest.mark.parametrize("event_id", [b"7", "ü/1".encode(), b"a b", b'{"at":1}'])
def test_a_client_goes_on_from_exactly_the_id_that_the_server_gave(tmp_path: Path, event_id: bytes) -> None:
    stream = b"id: 0\x0b1\ndata:\n\nid: " + event_id + b"\nretry: 50\ndata:\n\n"
    with raw_server(tmp_path, stream) as (gateway, resumed):
        assert sent_to_a_client(gateway, "GET") == b"data: \n\nid: " + event_id + b"\nretry: 50\ndata: \n\n"
        sent_to_a_client(gateway, "GET", after=event_id)
    assert resumed[-1] == event_id


def test_comments_keep_a_connection_alive_without_their_text_or_number(tmp_path: Path) -> None:
    with raw_server(tmp_path, b": ping at ten\n\n" * 1000) as (gateway, _):
        seen = sent_to_a_client(gateway, "GET")
    assert set(seen.splitlines()) == {b":"}
    assert len(seen) < 100


def test_what_is_hidden_is_not_on_record_as_a_call(rig: Rig) -> None:
    posted(rig.gateway.client("up"), "comment_NEL")
    statuses = {record.status for record in read_records(rig.gateway.state, type="tool_call")}
    assert statuses == {"success"}
