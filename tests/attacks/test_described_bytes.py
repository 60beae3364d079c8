"""Headers that say of the same bytes that they are others: what is judged is what the other side reads."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contracts.rig import MODERN_META, HttpGateway, Json
from tests.gateway.running import Serving, eventually, read_records, running, send
from tests.parts import Parts

STRICT: dict[str, Json] = {"input_validation": {"mode": "strict"}, "output_validation": {"mode": "strict"}}
ENDS_STRING = '"},"method":"tools/call","params":{"name":"pay","arguments":{}},"z":{"z":"'


def in_utf7(text: str) -> str:
    """A run of UTF-7, all of it plain ASCII without quotes."""
    return "+" + base64.b64encode(text.encode("utf-16-be")).decode().rstrip("=") + "-"


# To a reader of UTF-8 a ping with an odd string in it; to one of UTF-7 a call.
HIDDEN_CALL = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"x": in_utf7(ENDS_STRING)}}).encode()


@dataclass(frozen=True)
class Express:
    gateway: Serving
    journal: Path
    url: str

    def seen(self) -> list[Json]:
        return [json.loads(line) for line in self.journal.read_text().splitlines()] if self.journal.exists() else []

    def ran(self) -> list[str]:
        return [entry["name"] for entry in self.seen() if entry["ran"] == "tools/call"]


@pytest.fixture(scope="module")
def express(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Express]:
    folder = tmp_path_factory.mktemp("express")
    journal = folder / "journal"
    with parts.express(journal) as url, running({"up": {"url": url}}, folder, **STRICT) as gateway:
        yield Express(gateway, journal, url)


@pytest.fixture(autouse=True)
def _clean(express: Express) -> None:
    express.journal.unlink(missing_ok=True)


def headers_for(client: HttpGateway, body: bytes, **changed: str | None) -> dict[str, str]:
    more = {name.replace("_", "-"): value for name, value in changed.items()}
    return {name: value for name, value in (client.headers(body) | more).items() if value is not None}


@pytest.mark.requirement("S1")
def test_express_takes_the_hidden_call_when_it_is_asked_without_a_gateway(express: Express) -> None:
    headers = {"Content-Type": "application/json; charset=utf-7"}
    base, _, path = express.url.rpartition("/")
    answer = send(base, "POST", f"/{path}", HIDDEN_CALL, headers)
    assert (answer.status, express.ran()) == (200, ["pay"])


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("is_modern", [False, True])
@pytest.mark.parametrize("path", ["/mcp/up", "/mcp"])
def test_a_call_hidden_in_utf_7_never_reaches_the_server(express: Express, path: str, is_modern: bool) -> None:
    client = express.gateway.client(is_modern=is_modern)
    meta = b'{"_meta":%b,"x"' % json.dumps(MODERN_META).encode()
    body = HIDDEN_CALL.replace(b'{"x"', meta) if is_modern else HIDDEN_CALL
    headers = headers_for(client, body, Content_Type="application/json; charset=utf-7")
    refused = send(express.gateway.base, "POST", path, body, headers)
    assert (refused.status, express.ran()) == (415, [])
    assert refused.error["message"].startswith("The body must be application/json in UTF-8. ")
    server = "up" if path == "/mcp/up" else ""
    found = eventually(lambda: read_records(express.gateway.state, rule="request.unreadable"), "a record")
    assert {(record.type, record.status) for record in found} == {("diagnostic", "blocked")}
    eventually(
        lambda: server in {r.server for r in read_records(express.gateway.state, rule="request.unreadable")}, "its own"
    )


@pytest.mark.requirement("S1")
def test_the_server_is_told_of_our_bytes_by_us_alone(express: Express) -> None:
    client = express.gateway.client()
    body = json.dumps(client.render("tools/call", {"name": "look", "arguments": {}})).encode()
    given = headers_for(
        client,
        body,
        Content_Type='Application/JSON;charset="UTF-8"',
        Content_Encoding="identity",
        Content_Language="tlh",
        X_Forwarded_For="6.6.6.6",
        Forwarded="for=6.6.6.6",
        X_Key="k",
        Authorization="Bearer client",
        Traceparent="00-1",
        User_Agent="rig/1",
    )
    given |= {"mcp_session_id": "other", "Mcp-Session_Id": "other"}
    assert client.post(body, given).text == "ran look"
    (seen,) = [entry for entry in express.seen() if entry["ran"] == "tools/call"]
    names = [name.lower() for name in seen["headers"][::2]]
    sent = dict(zip(names, seen["headers"][1::2], strict=True))
    assert len(names) == len(sent)
    assert set(names) == {
        "host", "accept-encoding", "accept", "content-type", "content-length", "traceparent", "user-agent"
    }  # fmt: skip
    assert (sent["content-type"], sent["traceparent"], sent["user-agent"]) == ("application/json", "00-1", "rig/1")


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("is_modern", [False, True])
@pytest.mark.parametrize(
    "headers",
    [{"Mcp-Method": "tools/call", "Mcp-Name": "pay"}, {"Mcp-Method": "tools/call"}, {"mcp-method": "TOOLS/LIST"}],
)
def test_a_header_that_names_another_method_is_refused(
    express: Express, headers: dict[str, str], is_modern: bool
) -> None:
    client = express.gateway.client(is_modern=is_modern)
    body = json.dumps(client.render("tools/list")).encode()
    refused = client.post(body, headers_for(client, body, Mcp_Method=None) | headers)
    assert (refused.status, refused.message["error"]["code"], express.ran()) == (400, -32020, [])


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("is_modern", [False, True])
def test_a_header_that_contradicts_an_ambiguous_call_is_refused(express: Express, is_modern: bool) -> None:
    client = express.gateway.client(is_modern=is_modern)
    plain = json.dumps(client.render("tools/call", {"name": "look", "arguments": {}})).encode()
    body = plain.replace(b'"name"', b'"Name": "pay", "name"', 1)
    refused = client.post(body, headers_for(client, plain, Mcp_Method="ping"))
    assert (refused.status, refused.message["error"]["code"], express.ran()) == (400, -32020, [])


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("is_modern", [False, True])
@pytest.mark.parametrize(
    "name", ["pay", "=?base64?cGF5?=", "look\x1f", "look\xa0", "l\xf6ok", "look, pay", "", "LOOK", "=?base64?###?="]
)
def test_a_header_that_names_another_tool_is_refused_and_on_record(
    express: Express, name: str, is_modern: bool
) -> None:
    before = len(read_records(express.gateway.state, rule="message.header_mismatch"))
    client = express.gateway.client(is_modern=is_modern)
    body = json.dumps(client.render("tools/call", {"name": "look", "arguments": {}})).encode()
    refused = send(express.gateway.base, "POST", "/mcp/up", body, headers_for(client, body, Mcp_Name=name))
    assert refused.status == 400  # an odd byte may be refused by the front itself
    assert express.ran() == []
    if name.isprintable():
        assert refused.error["code"] == -32020
        eventually(
            lambda: len(read_records(express.gateway.state, rule="message.header_mismatch")) > before, "its record"
        )


@pytest.mark.requirement("S1")
@pytest.mark.parametrize("is_modern", [False, True])
@pytest.mark.parametrize("name", ["look", "=?base64?bG9vaw==?="])
def test_a_header_that_names_the_same_tool_is_fine(express: Express, name: str, is_modern: bool) -> None:
    client = express.gateway.client(is_modern=is_modern)
    body = json.dumps(client.render("tools/call", {"name": "look", "arguments": {}})).encode()
    got = client.post(body, headers_for(client, body, Mcp_Method="tools/call", Mcp_Name=name))
    assert got.status == 200


@pytest.mark.requirement("S1")
def test_nothing_of_the_client_s_address_reaches_the_server(express: Express) -> None:
    client = express.gateway.client()
    client.path = "/mcp/up?method=tools/call&servers=up"
    client.call("look")
    assert {entry["url"] for entry in express.seen()} == {"/mcp"}
