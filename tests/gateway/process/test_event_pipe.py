"""Servers over the HTTP transport of 2024-11-05, scripted to break its rules: each fault costs its own calls alone."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedIOBase
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest

from handfast.gateway.http.headers import UpstreamHeaders
from handfast.gateway.process.event_pipe import EventAddress
from handfast.gateway.process.pipe import PipeEnds, PipeFailed
from handfast.gateway.settings.blocks import Limits
from tests.contracts.rig import HttpGateway, Json
from tests.gateway.running import (
    Serving,
    at_once,
    call,
    eventually,
    meanwhile,
    notification,
    one_record,
    outcome,
    read_records,
    running,
)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
ENDPOINT = b"event: endpoint\ndata: /post?s=%d\n\n"
TAKEN = b"HTTP/1.1 202 Accepted\r\nContent-Length: 8\r\n\r\nAccepted"
FINE = {"content": [{"type": "text", "text": "fine"}]}
TOOLS = ["fine", "odd", "more"]
FAILED = -31001
SMALL = dict.fromkeys(("message_bytes", "list_bytes", "body_bytes"), 100000)


def status(line: str, *headers: str) -> bytes:
    return "\r\n".join((f"HTTP/1.1 {line}", "Content-Length: 0", *headers, "", "")).encode()


def result_for(message: Json) -> Json:
    match message["method"]:
        case "initialize":
            info = {"name": "odd", "version": "1"}
            return {"protocolVersion": "2025-06-18", "serverInfo": info, "capabilities": {"tools": {}}}
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    return FINE


def reply(message: Json, result: Json = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result or result_for(message)}).encode()


@dataclass(slots=True)
class Seen:
    method: str
    path: str
    headers: dict[str, str]
    message: Json


@dataclass(slots=True)
class Odd:
    """`on_get` may write a whole answer in place of a stream; `on_post` gives what a POST is answered with, or None
    where everything is as it should be.
    """

    on_get: Callable[["Odd", BufferedIOBase], bool] = lambda _odd, _out: False
    on_post: Callable[["Odd", "Seen"], bytes | None] = lambda _odd, _seen: None
    on_call: Callable[["Odd", Json], None] = lambda odd, message: odd.say(reply(message))
    seen: list[Seen] = field(default_factory=list)
    streams: list[BufferedIOBase] = field(default_factory=list)
    port: int = 0
    hung_up: threading.Event = field(default_factory=threading.Event)

    def say(self, data: bytes) -> None:
        """An event on the newest stream."""
        self.write(b"event: message\ndata: " + data + b"\n\n")

    def write(self, raw: bytes) -> None:
        with suppress(OSError, ValueError):
            self.streams[-1].write(raw)

    def hang_up(self) -> None:
        self.hung_up.set()

    @property
    def entry(self) -> Json:
        return {"type": "sse", "url": f"http://127.0.0.1:{self.port}/sse"}

    def posts(self, method: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.method == "POST" and (seen.message or {}).get("method") == method]

    def gets(self) -> list[Seen]:
        return [seen for seen in self.seen if seen.method == "GET"]

    def answer_get(self, out: BufferedIOBase) -> None:
        if self.on_get(self, out):
            return
        self.streams.append(out)
        out.write(HEAD + ENDPOINT % len(self.streams))
        self.hung_up.wait(30)
        self.hung_up.clear()

    def answer_post(self, seen: Seen, out: BufferedIOBase) -> None:
        answered = self.on_post(self, seen)
        out.write(TAKEN if answered is None else answered)
        if answered is not None or "id" not in seen.message:
            return
        if seen.message["method"] == "tools/call" and seen.message["params"]["name"] != "fine":
            self.on_call(self, seen.message)
        elif "method" in seen.message:
            self.say(reply(seen.message))


@contextmanager
def serving(odd: Odd) -> Iterator[Odd]:
    class Handler(StreamRequestHandler):
        wbufsize = 0

        def handle(self) -> None:
            with suppress(OSError, ValueError):
                while line := self.rfile.readline().decode():
                    method, path, _ = line.split(" ")
                    pairs = (line.decode().strip().partition(": ") for line in iter(self.rfile.readline, b"\r\n"))
                    headers = {name.lower(): value for name, _, value in pairs}
                    body = self.rfile.read(int(headers.get("content-length", "0")))
                    seen = Seen(method, path, headers, json.loads(body) if body else None)
                    odd.seen.append(seen)
                    if method == "GET":
                        odd.answer_get(self.wfile)
                        return
                    odd.answer_post(seen, self.wfile)

    ThreadingTCPServer.allow_reuse_address = True
    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        odd.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield odd
        finally:
            odd.hang_up()
            server.shutdown()


@contextmanager
def gateway_of(odd: Odd, folder: Path, *, own: Json = None, **settings: Json) -> Iterator[Serving]:
    with serving(odd), serving(Odd()) as other:
        entries = {"up": {**odd.entry, **(own or {})}, "other": other.entry}
        with running(entries, folder, **settings) as gateway:
            yield gateway
            # Whatever it did, it did to itself.
            assert gateway.client("other").call("fine").text == "fine"


def refusal(gateway: Serving, *, is_modern: bool = False) -> Json:
    client = gateway.client(is_modern=is_modern, opens=False)
    answer = client.request("tools/list" if is_modern else "initialize", {"protocolVersion": "2025-06-18"})
    return answer.message["error"]


# --- a stream that is no stream --------------------------------------------------------------------------------------

NOWHERE = "its first event does not name a path to post to. Correct the server."
ELSEWHERE = "its first event names another origin to post to, and only that of its url is allowed. Correct the server."
ENDPOINTS = {
    "another host": (b"data: http://localhost:%(port)d/post", ELSEWHERE),
    "another port": (b"data: http://127.0.0.1:1/post", ELSEWHERE),
    "another scheme": (b"data: https://127.0.0.1:%(port)d/post", ELSEWHERE),
    "no scheme": (b"data: //127.0.0.1:1/post", ELSEWHERE),
    "another protocol": (b"data: file:///etc/passwd", NOWHERE),
    "a password": (b"data: http://me:secret@127.0.0.1:%(port)d/post", NOWHERE),
    "a line end": (b"data: /post\ndata: X-Injected: yes", NOWHERE),
    "a carriage return": (b"data: /post\rdata: X-Injected: yes", NOWHERE),
    "a control character": (b"data: /post\x0bX", NOWHERE),
    "a blank": (b"data: /post HTTP/1.1", NOWHERE),
    "no text": (b"data: /post\xff", NOWHERE),
    "a message": (b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}', NOWHERE),
    "nothing": (b"data:", NOWHERE),
    "far too much": (b"data: /" + b"x" * 200_000, "its first event"),
}


@pytest.mark.parametrize("is_modern", [False, True])
@pytest.mark.parametrize("name", ENDPOINTS)
def test_an_endpoint_that_may_not_be_posted_to_is_not(tmp_path: Path, name: str, is_modern: bool) -> None:
    line, why = ENDPOINTS[name]

    def stream(odd: Odd, out: BufferedIOBase) -> bool:
        out.write(HEAD + b"event: endpoint\n" + line.replace(b"%(port)d", b"%d" % odd.port) + b"\n\n")
        return True

    odd = Odd(on_get=stream)
    with gateway_of(odd, tmp_path, limits=SMALL) as gateway:
        error = refusal(gateway, is_modern=is_modern)
        assert error["code"] == FAILED
        assert error["message"].startswith(f"The server did not open its stream of events: {why}")
        failed = eventually(lambda: read_records(gateway.state, rule="server.failed"), "the failure on record")
        assert failed[0].server == "up"
    assert [seen.method for seen in odd.seen if seen.method != "GET"] == []
    assert "secret" not in error["message"]


def plain(raw: bytes) -> Callable[[Odd, BufferedIOBase], bool]:
    def stream(_odd: Odd, out: BufferedIOBase) -> bool:
        out.write(raw)
        return True

    return stream


NO_STREAM = "Check the server's url, and its type: http if it speaks Streamable HTTP."
STREAMS = {
    "405": (status("405 Method Not Allowed"), f"it answered with HTTP status 405. {NO_STREAM}"),
    "404": (status("404 Not Found"), f"it answered with HTTP status 404. {NO_STREAM}"),
    "redirect": (
        status("302 Found", "Location: http://127.0.0.1:1/"),
        f"it answered with HTTP status 302. {NO_STREAM}",
    ),
    "moved away": (
        status("307 Moved", "Location: http://127.0.0.1:1/sse"),
        f"it answered with HTTP status 307. {NO_STREAM}",
    ),
    "json": (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        f"its answer is no text/event-stream in UTF-8. {NO_STREAM}",
    ),
    "encoded": (HEAD.replace(b"Connection", b"Content-Encoding: gzip\r\nConnection"), "http://127.0.0.1:"),
    "no http": (b"hello\r\n\r\n", "http://127.0.0.1:"),
    "empty": (HEAD, NOWHERE),
}


@pytest.mark.parametrize("name", STREAMS)
def test_an_answer_that_is_no_stream_is_one_clear_error(tmp_path: Path, name: str) -> None:
    raw, why = STREAMS[name]
    with gateway_of(Odd(on_get=plain(raw)), tmp_path) as gateway:
        assert refusal(gateway)["message"].startswith(f"The server did not open its stream of events: {why}")
        assert one_record(gateway.state, rule="server.failed").status == "error"


def test_a_server_that_never_says_where_to_post_is_given_up(tmp_path: Path) -> None:
    def stream(odd: Odd, out: BufferedIOBase) -> bool:
        odd.streams.append(out)
        out.write(HEAD + b": hello\n\n")
        threading.Event().wait(10)
        return True

    with gateway_of(Odd(on_get=stream), tmp_path, limits={"handshake_timeout_s": 0.5}) as gateway:
        text = "no event that says where to post came within 0.5 s. " + NO_STREAM
        assert refusal(gateway)["message"] == f"The server did not open its stream of events: {text}"


def test_a_server_that_is_not_there_is_one_clear_error_and_left_alone_after_a_few(tmp_path: Path) -> None:
    entry = {"type": "sse", "url": "http://127.0.0.1:1/sse"}
    with running({"up": entry}, tmp_path, limits={"connection_failures": 2}) as gateway:
        texts = [refusal(gateway)["message"] for _ in range(3)]
        assert "http://127.0.0.1:1 refused the connection." in texts[0]
        assert texts[1] == texts[0]
        assert "left alone" in texts[2] or "tried again" in texts[2]
        assert eventually(lambda: read_records(gateway.state, rule="server.open"), "its rest on record")


# --- a POST that is not taken ----------------------------------------------------------------------------------------

GONE = "and no MCP message. Check the server's url, or begin a new session."
POSTS = {
    "405": (status("405 Method Not Allowed"), f"The server answered with HTTP status 405 {GONE}"),
    "500": (status("500 Oops"), "The server answered with HTTP status 500 and no MCP message. Try again later."),
    "redirect": (
        status("303 See", "Location: http://127.0.0.1:1/"),
        f"The server answered with HTTP status 303 {GONE}",
    ),
    "moved away": (
        status("308 Moved", "Location: http://127.0.0.1:1/"),
        f"The server answered with HTTP status 308 {GONE}",
    ),
    "no http": (b"what?\r\n\r\n", "http://127.0.0.1:"),
}


@pytest.mark.parametrize("name", POSTS)
def test_a_post_that_is_refused_costs_its_own_call(tmp_path: Path, name: str) -> None:
    raw, why = POSTS[name]

    def on_post(_odd: Odd, seen: Seen) -> bytes | None:
        return raw if b'"odd"' in json.dumps(seen.message).encode() else None

    with gateway_of(Odd(on_post=on_post), tmp_path) as gateway:
        client = gateway.client()
        odd, fine = at_once(lambda: client.call("odd"), lambda: client.call("fine"))
        assert (odd.is_error, odd.text.startswith(why)) == (True, True)
        assert fine.text == client.call("fine").text == "fine"
        assert outcome(gateway.state, "odd") == ("error", "upstream.failed")


def test_a_session_that_the_server_has_forgotten_is_opened_again(tmp_path: Path) -> None:
    """Behind a balancer, or after a restart: the server did nothing with the call, so it may have it again."""

    def on_post(_odd: Odd, seen: Seen) -> bytes | None:
        is_old = seen.path == "/post?s=1" and seen.message["method"] == "tools/call"
        return status("404 Not Found") if is_old else None

    odd = Odd(on_post=on_post)
    with gateway_of(odd, tmp_path) as gateway:
        client = gateway.client()
        assert client.call("fine").text == "fine"
        assert [seen.path for seen in odd.posts("tools/call")] == ["/post?s=1", "/post?s=2"]
        assert outcome(gateway.state, "fine") == ("success", "")


def test_a_forgotten_session_is_left_by_all_while_one_call_waits_in_it(tmp_path: Path) -> None:
    """`more` is answered on the old stream once others have been served on the next one, and then that stream ends."""
    held: list[Json] = []

    def on_post(_odd: Odd, seen: Seen) -> bytes | None:
        return status("404 Not Found") if held and seen.path == "/post?s=1" else None

    odd = Odd(on_post=on_post, on_call=lambda _odd, message: held.append(message))
    with gateway_of(odd, tmp_path) as gateway:
        client, other = gateway.client(), gateway.client()
        with meanwhile(lambda: client.call("more")) as waiting:
            eventually(lambda: held, "the call that waits")
            assert [other.call("fine").text for _ in range(3)] == ["fine"] * 3
            odd.streams[0].write(b"event: message\ndata: " + reply(held[0]) + b"\n\n")
            assert waiting.result(10).text == "fine"
        assert [seen.path for seen in odd.posts("tools/call")] == ["/post?s=1"] * 2 + ["/post?s=2"] * 3
        eventually(lambda: read_records(gateway.state, rule="server.exited"), "the end of the old stream")
        assert client.call("fine").text == "fine"


@pytest.mark.parametrize("form", ["application/json", "text/event-stream"])
def test_an_answer_to_the_post_itself_is_said_to_be_there(tmp_path: Path, form: str) -> None:
    def on_post(_odd: Odd, seen: Seen) -> bytes | None:
        if "id" not in seen.message or seen.message["method"] != "tools/call":
            return None
        body = reply(seen.message)
        return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (form.encode(), len(body), body)

    with gateway_of(Odd(on_post=on_post), tmp_path) as gateway:
        got = gateway.client().call("fine")
        assert got.text == (
            "The server answered to the POST and not on its stream of events. Correct it, or set its type to http if it"
            " speaks Streamable HTTP."
        )
        assert outcome(gateway.state, "fine") == ("error", "upstream.failed")


def test_an_answer_on_both_is_taken_from_the_stream(tmp_path: Path) -> None:
    def on_post(odd: Odd, seen: Seen) -> bytes | None:
        if seen.message.get("method") != "tools/call":
            return None
        body = reply(seen.message)
        odd.say(reply(seen.message))
        return b"HTTP/1.1 202 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    with gateway_of(Odd(on_post=on_post), tmp_path) as gateway:
        client = gateway.client()
        assert [client.call("fine").text for _ in range(3)] == ["fine"] * 3
        assert read_records(gateway.state, rule="message.unpaired") == []


def test_a_handshake_that_is_refused_is_one_clear_error(tmp_path: Path) -> None:
    odd = Odd(on_post=lambda _odd, _seen: status("403 Forbidden"))
    with gateway_of(odd, tmp_path) as gateway:
        text = "The server did not complete its handshake. The server answered with HTTP status 403 and no MCP message."
        assert refusal(gateway)["message"] == f"{text} Check the credentials in the server's headers setting."


# --- a stream that breaks, or brings odd things ----------------------------------------------------------------------


def test_a_stream_that_ends_in_mid_call_answers_everybody_and_the_next_client_gets_a_new_one(tmp_path: Path) -> None:
    odd = Odd(on_call=lambda odd, _message: odd.hang_up())
    with gateway_of(odd, tmp_path) as gateway:
        client = gateway.client()
        got = client.call("odd")
        assert got.text == "The server's stream of events ended before it answered. Repeat the call if that is safe."
        assert outcome(gateway.state, "odd") == ("error", "upstream.failed")
        assert client.call("fine").text == gateway.client().call("fine").text == "fine"
        exited = one_record(gateway.state, rule="server.exited")
        assert exited.reason.startswith("Its stream of events")


def test_a_stream_that_ends_while_nothing_is_asked_is_no_failure(tmp_path: Path) -> None:
    odd = Odd()
    with gateway_of(odd, tmp_path) as gateway:
        gateway.client()
        gateway.client().call("fine")
        odd.hang_up()
        one_record(gateway.state, rule="server.exited")
        assert read_records(gateway.state, rule="server.failing") == []
        assert gateway.client().call("fine").text == "fine"


def test_a_stream_that_stalls_in_mid_call_costs_that_call_its_time(tmp_path: Path) -> None:
    odd = Odd(on_call=lambda _odd, _message: None)
    with gateway_of(odd, tmp_path, limits={"call_timeout_s": 0.5}) as gateway:
        client = gateway.client()
        with meanwhile(lambda: client.call("odd")) as late:
            assert client.call("fine").text == "fine"
            assert "neither answered nor reported progress" in late.result(10).text
        assert outcome(gateway.state, "odd") == ("error", "upstream.timeout")
        eventually(lambda: odd.posts("notifications/cancelled"), "the server was told")
        (called,) = [seen for seen in odd.posts("tools/call") if seen.message["params"]["name"] == "odd"]
        assert odd.posts("notifications/cancelled")[0].message["params"]["requestId"] == called.message["id"]


@pytest.mark.parametrize("pieces", [1, 50])
def test_an_event_over_the_limit_costs_its_own_call(tmp_path: Path, pieces: int) -> None:
    def giant(odd: Odd, message: Json) -> None:
        if message["params"]["name"] == "more":
            return  # silent, so that there are two it could be of
        raw = (
            b"event: message\ndata: " + reply(message, {"content": [{"type": "text", "text": "x" * 200_000}]}) + b"\n\n"
        )
        for start in range(0, len(raw), len(raw) // pieces):
            odd.write(raw[start : start + len(raw) // pieces])

    with gateway_of(Odd(on_call=giant), tmp_path, limits={**SMALL, "call_timeout_s": 1.5}) as gateway:
        client = gateway.client()
        with meanwhile(lambda: client.call("more")) as late:
            assert "limit of 100000 bytes" in client.call("odd").text
            assert client.call("fine").text == "fine"
            assert "neither answered" in late.result(10).text
        assert outcome(gateway.state, "odd")[0] == "error"
        assert one_record(gateway.state, rule="message.too_large").server == "up"


@pytest.mark.parametrize("said", [b'{"jsonrpc":"2.0","id":%d,"result":{"x":"\xff"}}', b'{"id":%d,"id":2,"result":{}}'])
def test_what_is_no_message_costs_its_own_call(tmp_path: Path, said: bytes) -> None:
    odd = Odd(on_call=lambda odd, message: odd.say(said % message["id"] if b"jsonrpc" in said else reply(message)))
    with gateway_of(odd, tmp_path) as gateway:
        client = gateway.client()
        assert client.call("odd").is_error is (b"jsonrpc" in said)
        assert client.call("fine").text == "fine"


def test_an_answer_with_line_ends_arrives_as_the_same_message(tmp_path: Path) -> None:
    odd = Odd(on_call=lambda odd, message: odd.say(reply(message).replace(b", ", b",\ndata: ")))
    with gateway_of(odd, tmp_path) as gateway:
        assert gateway.client().call("odd").result == FINE


# --- what is sent, and who shares a stream ---------------------------------------------------------------------------


def test_the_handshake_ends_before_anything_else_is_asked(tmp_path: Path) -> None:
    order: list[str] = []

    def on_post(_odd: Odd, seen: Seen) -> bytes | None:
        if seen.message["method"] == "notifications/initialized":
            time.sleep(0.2)  # a server that is slow to take it: what follows must not overtake
        order.append(seen.message["method"])
        return None

    with gateway_of(Odd(on_post=on_post), tmp_path) as gateway:
        gateway.client().call("fine")
        assert order[:3] == ["initialize", "notifications/initialized", "tools/list"]


def test_clients_that_can_be_asked_nothing_share_a_stream_and_others_have_their_own(tmp_path: Path) -> None:
    odd = Odd()
    with gateway_of(odd, tmp_path) as gateway:
        at_once(*[lambda: gateway.client().call("fine")] * 4)
        assert len(odd.gets()) == 1
        gateway.client(capabilities={"roots": {}}).call("fine")
        assert len(odd.gets()) == 2
        paths = [seen.path for seen in odd.posts("tools/call")]
        assert (paths.count("/post?s=1"), paths.count("/post?s=2")) == (4, 1)


def test_a_client_with_a_stream_of_its_own_is_asked_and_answers(tmp_path: Path) -> None:
    question = {"jsonrpc": "2.0", "id": "q", "method": "roots/list"}
    asked: list[Json] = []

    def ask(odd: Odd, message: Json) -> None:
        asked.append(message)
        odd.say(json.dumps(question).encode())

    def on_post(odd: Odd, seen: Seen) -> bytes | None:
        if seen.message.get("id") == "q":
            odd.say(reply(asked[0]))
        return None

    with gateway_of(Odd(on_call=ask, on_post=on_post), tmp_path) as gateway:
        client = gateway.client(capabilities={"roots": {}})
        with meanwhile(lambda: client.call("odd")) as waiting:
            eventually(lambda: asked, "the call at the server")
            client.send(b'{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}')
            assert waiting.result(10).text == "fine"


def header_client(gateway: Serving, **headers: str) -> HttpGateway:
    client = gateway.client(opens=False)
    plain_headers = client.headers
    client.headers = lambda message: {**plain_headers(message), **headers}  # type: ignore[method-assign]  # of this one
    client.open()
    return client


def test_headers_of_the_settings_go_with_every_request(tmp_path: Path) -> None:
    odd = Odd()
    own = {"headers": {"Authorization": "Bearer token", "X-Key": "k"}, "handfast": {"forward_headers": ["X-Tenant"]}}
    with gateway_of(odd, tmp_path, own=own) as gateway:
        for tenant in ("one", "two"):
            client = header_client(gateway, **{"X-Tenant": tenant, "X-Key": "mine", "X-Other": "no"})
            assert client.call("fine").text == "fine"
    assert {seen.headers["authorization"] for seen in odd.seen} == {"Bearer token"}
    assert {seen.headers["x-key"] for seen in odd.seen} == {"k"}
    assert not {"x-other", "mcp-session-id", "mcp-protocol-version"} & {
        name for seen in odd.seen for name in seen.headers
    }
    assert [seen.headers["x-tenant"] for seen in odd.gets()] == ["one", "two"]  # no stream is shared between them
    assert {(seen.path, seen.headers["x-tenant"]) for seen in odd.posts("tools/call")} == {
        ("/post?s=1", "one"),
        ("/post?s=2", "two"),
    }
    assert {seen.headers["content-type"] for seen in odd.seen if seen.method == "POST"} == {"application/json"}


def test_a_cancelled_call_is_cancelled_at_the_server(tmp_path: Path) -> None:
    odd = Odd(on_call=lambda _odd, _message: None)
    with gateway_of(odd, tmp_path) as gateway:
        client = gateway.client()
        with meanwhile(lambda: client.post(call("c", "odd"))):
            eventually(lambda: odd.posts("tools/call"), "the call at the server")
            client.send(notification("notifications/cancelled", requestId="c"))
        (told,) = eventually(lambda: odd.posts("notifications/cancelled"), "the server was told")
        assert told.message["params"]["requestId"] == odd.posts("tools/call")[0].message["id"]
        assert outcome(gateway.state, "odd")[0] == "cancelled"


def test_a_pipe_that_did_not_open_ends_without_a_word_to_its_channel() -> None:
    heard: list[object] = []
    ends = PipeEnds(
        limits=Limits(),
        limit_of=lambda _head: 1,
        on_line=heard.append,
        on_exit=heard.append,
        on_congestion=heard.append,
        on_stderr=heard.append,
        on_refused=lambda *said: heard.append(said),
        headers=None,
    )

    async def work() -> None:
        address = EventAddress("http://127.0.0.1:1/sse", UpstreamHeaders([]))
        with pytest.raises(PipeFailed, match="did not open its stream of events"):
            await address.make_pipe(ends).open()
        await address.close()

    asyncio.run(work())
    assert heard == []


def test_a_gateway_that_stops_lets_go_of_the_stream(tmp_path: Path) -> None:
    odd = Odd()
    with serving(odd):
        with running({"up": odd.entry}, tmp_path) as gateway:
            gateway.client().call("fine")
        eventually(lambda: _is_broken(odd), "the stream was closed")


def _is_broken(odd: Odd) -> bool:
    try:
        odd.streams[-1].write(b": still there\n\n")
    except OSError:
        return True
    return False
