"""What a token may do while things change: other tokens in a session, streams, tasks, settings and files."""

import http.client
import json
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from handfast.access.token_store import FILE_NAME, TokenStore
from tests.access.issuer import Issuer, running_issuer
from tests.contracts.rig import HttpGateway
from tests.gateway.running import OpenPost, Serving, eventually, read_records, running, send
from tests.gateway.signed import SignedClient, token
from tests.gateway.test_oauth import auth, resource
from tests.gateway.test_sign_in import ERAS, status_of, stub_of
from tests.gateway.translate.servers.asking import LEGACY, MODERN, entry_for
from tests.stubs.run import Stub, answer, tool, write_stub

SECRET = {"type": "object", "properties": {"secret_field": {"type": "string"}}, "additionalProperties": False}


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stub]:
    folder = tmp_path_factory.mktemp("stubs")
    found = {"old": stub_of(folder, "old", LEGACY)}
    found["new"] = write_stub(
        folder,
        name="new",
        tools=[tool("look")],
        methods={"resources/list": answer({"resources": [{"name": "r", "uri": "mem://new"}]})},
        versions=MODERN,
        capabilities={"tools": {}, "resources": {"subscribe": True}},
    )
    look = {**tool("look"), "annotations": {"readOnlyHint": True}}
    found["small"] = write_stub(folder, name="small", tools=[look, tool("wipe", SECRET)], versions=LEGACY)
    return found


@pytest.fixture(scope="module")
def gateway(stubs: dict[str, Stub], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with ExitStack() as stack:
        servers = {name: stack.enter_context(entry_for(stubs[name], "stdio")) for name in ("old", "new")}
        servers["small"] = {
            **stack.enter_context(entry_for(stubs["small"], "stdio")),
            "handfast": {"surface": "compact"},
        }
        servers["far"] = stack.enter_context(entry_for(stubs["old"], "http-sse"))
        folder = tmp_path_factory.mktemp("rights")
        yield stack.enter_context(running(servers, folder, auth={"mode": "token"}))


def client(
    gateway: Serving, place: str, scopes: str = "*", *, is_modern: bool = False, subject: str = "ann"
) -> SignedClient:
    found = SignedClient(gateway, place, token(gateway.state, scopes, subject=subject), is_modern=is_modern)
    found.open()
    return found


def get(caller: SignedClient) -> int:
    """The status of a stream that the caller asks for; streams that begin have no end, so only the head is read."""
    with caller.listening() as stream:
        return stream.status


def _until_it_is_cut(stream: http.client.HTTPResponse) -> bytes:
    try:
        return stream.read()
    except http.client.IncompleteRead as cut:
        return cut.partial


def subscriptions(stub: Stub) -> list[object]:
    return [entry for entry in stub.journal.messages() if "resourceSubscriptions" in str(entry.message)]


@pytest.mark.parametrize(("first", "second", "may"), [("*", "new/look", False), ("new/look", "*", True)])
def test_a_subscription_in_a_session_is_decided_by_the_token_that_came_with_it(
    gateway: Serving, stubs: dict[str, Stub], first: str, second: str, *, may: bool
) -> None:
    caller = client(gateway, "/mcp#new", first)
    caller.list_tools()
    if first == "*":
        caller.request("resources/list")
    caller.token = token(gateway.state, second, subject="ann")
    before = len(subscriptions(stubs["new"]))
    caller.request("resources/subscribe", {"uri": "mem://new"})
    assert (len(subscriptions(stubs["new"])) > before) is may  # the stub confirms none, but it was asked


@pytest.mark.parametrize("place", ["/mcp/far", "/mcp/old", "/mcp/small"])
def test_every_method_of_http_needs_a_scope_for_the_server(gateway: Serving, place: str) -> None:
    owner = client(gateway, place)
    owner.list_tools()
    owner.token = token(gateway.state, "other", subject="ann")
    for method in ("GET", "DELETE", "POST"):
        headers = owner.headers(b'{"method": "ping", "params": {}}')
        found = send(gateway.base, method, place, b'{"jsonrpc":"2.0","id":1,"method":"ping"}', headers)
        assert found.status == 403, method
        assert 'error="insufficient_scope"' in found.headers["www-authenticate"]
    owner.token = token(gateway.state, subject="ann")
    assert not owner.request("tools/list").is_error  # the session goes on


@pytest.mark.parametrize("place", ["/mcp/old", "/mcp/small", "/mcp#old"])
def test_a_stream_needs_the_scopes_that_its_session_was_used_with(gateway: Serving, place: str) -> None:
    owner = client(gateway, place)
    owner.list_tools()
    owner.token = token(gateway.state, f"{place.replace('#', '/').rpartition('/')[2]}:read", subject="ann")
    assert get(owner) == 403
    assert owner.request("tools/list").status == 200
    assert get(owner) == 403  # its stream shows the answers of before all the same
    owner.token = token(gateway.state, subject="ann")
    assert get(owner) == 200


@ERAS
@pytest.mark.parametrize("place", ["/mcp/small", "/mcp#small"])
@pytest.mark.parametrize(
    "given", [{}, {"data": {"x": 1}}, {"secret_field": 1}, {"secret_fiel": "x"}, {"arguments": {"x": 1}}]
)
def test_a_dispatcher_says_of_a_hidden_tool_what_it_says_of_none(
    gateway: Serving, place: str, given: dict[str, object], *, is_modern: bool
) -> None:
    caller = client(gateway, place, "small:read", is_modern=is_modern)
    texts = []
    for action in ("wipe", "nono"):
        found = caller.call(caller.prefix + "small", {"action": action, **given})
        texts.append(json.dumps(found.message).replace(action, "X"))
        assert 'secret_field\\"' not in texts[-1].replace(json.dumps(given), "")
    assert texts[0].partition('"id"')[0] == texts[1].partition('"id"')[0]
    assert "secret_field" in given or "secret_field" not in texts[0]


def test_names_of_servers_are_for_those_who_may_enter_them(gateway: Serving) -> None:
    text = token(gateway.state, "old:read")
    headers = {"Authorization": f"Bearer {text}", "Content-Type": "application/json"}
    for method, path in (
        ("GET", "/nothing"),
        ("GET", "/mcp/nope"),
        ("POST", "/mcp/nope"),
        ("GET", "/health"),
        ("GET", "/mcp/new"),
    ):
        body = send(gateway.base, method, path, b"{}" if method == "POST" else None, headers).body.decode()
        assert not any(name in body for name in ('"new"', "small", "far", "new,")), (path, body)
    assert list(json.loads(send(gateway.base, "GET", "/health", headers=headers).body)["servers"]) == ["old"]
    caller = SignedClient(gateway, "/mcp#new", text, is_modern=True)
    there, nowhere = (caller.call(f"{name}__look").message["error"]["message"] for name in ("new", "none"))
    assert there.replace("new", "none") == nowhere


@ERAS
def test_a_task_is_for_tokens_that_allow_its_tool(tmp_path: Path, *, is_modern: bool) -> None:
    """The same caller, whose other token may not call the tool that the task is of."""
    from tests.attacks.test_shared_process import ENTRY

    with running({"up": ENTRY}, tmp_path, auth={"mode": "token"}) as own:
        caller = client(own, "/mcp/up", is_modern=True)
        task = caller.request("tools/call", {"name": "long", "arguments": {"owner": "ann"}}).result["taskId"]
        caller.token = token(own.state, "up/ask up:read", subject="ann")
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            found = caller.request(method, {"taskId": task})
            assert "does not allow the tool long" in found.message["error"]["message"], method
        caller.token = token(own.state, subject="ann")
        assert caller.request("tasks/get", {"taskId": task}).result["status"] == "working"


@pytest.mark.parametrize("how", ["moved", "removed", "renamed table"])
def test_the_gateway_follows_the_file_that_is_there(tmp_path: Path, how: str) -> None:
    stub = stub_of(tmp_path, "up", LEGACY)
    servers = {"up": {"command": stub.command[0], "args": stub.command[1:]}}
    with running(servers, tmp_path, auth={"mode": "token"}) as own:
        caller = SignedClient(own, "/mcp/up", token(own.state, name="a"), is_modern=False)
        caller.open()
        assert caller.call("look").status == 200
        file = own.state / FILE_NAME
        if how == "moved":
            with sqlite3.connect(file) as connection:
                connection.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
            for end in ("", "-wal", "-shm"):
                Path(f"{file}{end}").unlink(missing_ok=True)
            shutil.move(tmp_path / "copy.db", file)
            file.chmod(0o600)
            TokenStore(own.state).revoke("a", time.time())
        elif how == "removed":
            for end in ("", "-wal", "-shm"):
                Path(f"{file}{end}").unlink(missing_ok=True)
        else:
            with sqlite3.connect(file) as connection:
                connection.execute("ALTER TABLE tokens RENAME TO tokens_")
        eventually(lambda: status_of(caller) in (401, 503), "a refusal")
        if how == "renamed table":
            with sqlite3.connect(file) as connection:
                connection.execute("ALTER TABLE tokens_ RENAME TO tokens")
            eventually(lambda: status_of(caller) == 200, "the same again")


def test_a_lock_on_the_file_holds_nobody_up(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, "up", LEGACY)
    servers = {"up": {"command": stub.command[0], "args": stub.command[1:]}}
    with running(servers, tmp_path) as own:
        TokenStore(own.state).audience()
        held = sqlite3.connect(own.state / FILE_NAME, isolation_level=None)
        held.execute("BEGIN IMMEDIATE")
        own.write_settings({"mcpServers": servers, "auth": {"mode": "token"}})
        eventually(lambda: send(own.base, "GET", "/mcp").status in (401, 503), "the change")
        began = time.monotonic()
        for _ in range(20):
            own.health()
        assert time.monotonic() - began < 8
        held.close()


def test_streams_of_before_end_when_callers_have_to_sign_in(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, "up", LEGACY)
    servers = {"up": {"command": stub.command[0], "args": stub.command[1:]}}
    with running(servers, tmp_path) as own:
        plain = HttpGateway(own.base, own.state, is_modern=False)
        plain.open()
        with plain.listening() as stream:
            own.write_settings({"mcpServers": servers, "auth": {"mode": "token"}})
            assert b"data" not in _until_it_is_cut(stream)


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with running_issuer() as found:
        yield found


@pytest.mark.parametrize("change", [{"scopes": ["x"]}, {"issuers": []}], ids=["scopes", "issuers"])
def test_streams_of_an_issuer_s_tokens_end_when_its_settings_change(
    issuer: Issuer, tmp_path: Path, change: dict[str, object]
) -> None:
    stub = stub_of(tmp_path, "old", LEGACY)
    servers = {"old": {"command": stub.command[0], "args": stub.command[1:]}}
    if "issuers" in change:
        change = {"issuers": [{"name": "corp", "issuer": issuer.url, "algorithms": ["ES256"]}]}
    with running(servers, tmp_path, auth=auth(issuer)) as own:
        caller = SignedClient(own, "/mcp/old", issuer.token(aud=resource("/mcp/old"), scope="old"), is_modern=False)
        caller.open()
        with caller.listening() as stream:
            assert stream.status == 200
            own.write_settings({"mcpServers": servers, "auth": auth(issuer, **change)})
            assert b"data" not in _until_it_is_cut(stream)


def test_a_token_that_waited_for_keys_is_held_to_the_settings_of_now(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, "old", LEGACY)
    servers = {"old": {"command": stub.command[0], "args": stub.command[1:]}}
    with running_issuer() as slow, running(servers, tmp_path, auth=auth(slow)) as own:
        slow.pause = 3.0
        caller = SignedClient(own, "/mcp/old", slow.token(aud=resource("/mcp/old"), scope="old"), is_modern=False)
        message = json.dumps(caller.render("ping")).encode()
        waiting = OpenPost(caller, message)
        time.sleep(0.5)
        other = auth(slow, issuers=[{"name": "new", "issuer": "https://login.example"}])
        own.write_settings({"mcpServers": servers, "auth": other})
        with pytest.raises((ConnectionError, AssertionError, OSError)):
            assert waiting.response.status == 200
        waiting.leave()
        assert caller.call("look").status == 401


def test_an_issuer_that_drips_holds_up_neither_callers_nor_the_end(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, "old", LEGACY)
    servers = {"old": {"command": stub.command[0], "args": stub.command[1:]}}
    with running_issuer() as slow:
        slow.drips = True
        with running(servers, tmp_path, auth=auth(slow)) as own:
            caller = SignedClient(own, "/mcp/old", slow.token(aud=resource("/mcp/old")), is_modern=False)
            began = time.monotonic()
            assert caller.call("look").status == 401
            assert time.monotonic() - began < 9
            own.process.terminate()
            own.process.wait(15)


@pytest.mark.parametrize("kind", ["", "read"])
def test_what_is_on_record_names_the_caller(gateway: Serving, kind: str) -> None:
    caller = client(gateway, "/mcp/old", f"other{':' if kind else ''}{kind}")
    assert caller.call("look").status == 403
    look = eventually(lambda: read_records(gateway.state, tool="look", rule="access.scope"), "a record")
    assert {record.actor for record in look} == {"ann"}
