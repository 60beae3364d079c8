"""Callers sign in with tokens: who has none is told what to do, and who has one may do what its scopes say."""

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import pytest

from handfast.access.token_store import FILE_NAME, TokenStore
from tests.contracts.rig import HttpGateway
from tests.gateway.running import Serving, call, eventually, read_records, running, send
from tests.gateway.signed import SignedClient, token
from tests.gateway.translate.servers.asking import LEGACY, MODERN, entry_for
from tests.stubs.run import Stub, answer, tool, write_stub

FINE = answer({"content": [{"type": "text", "text": "fine"}]})
FINE_AND_COMPLETE = answer({"content": [{"type": "text", "text": "fine"}], "resultType": "complete"})
READ, WRITE = {"readOnlyHint": True}, {"readOnlyHint": False, "destructiveHint": False}
TOOLS = [
    {**tool("look"), "annotations": READ},
    {**tool("note"), "annotations": WRITE},
    tool("wipe"),
]
METHODS = {
    "prompts/list": answer({"prompts": [{"name": "plan"}]}),
    "prompts/get": answer({"messages": []}),
    "resources/list": answer({"resources": [{"name": "r", "uri": "mem://r"}]}),
    "resources/read": answer({"contents": []}),
}
NAMES = {"old": ("stdio", LEGACY), "new": ("stdio", MODERN), "far": ("http-sse", MODERN), "gone": ("http-json", LEGACY)}
# Each server at its own address and at that of all, for clients of both eras: relayed, translated and combined.
PLACES = [f"/mcp{way}{name}" for name in NAMES for way in ("/", "#")]
ERAS = pytest.mark.parametrize("is_modern", [False, True], ids=["legacy", "modern"])
EVERYWHERE = pytest.mark.parametrize("place", PLACES)


def stub_of(folder: Path, name: str, versions: list[str]) -> Stub:
    return write_stub(
        folder,
        name=name,
        tools=TOOLS,
        answers=dict.fromkeys(("look", "note", "wipe"), FINE if versions == LEGACY else FINE_AND_COMPLETE),
        methods=METHODS,
        versions=versions,
        capabilities={"tools": {}, "prompts": {}, "resources": {}},
    )


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stub]:
    folder = tmp_path_factory.mktemp("stubs")
    return {name: stub_of(folder, name, versions) for name, (_, versions) in NAMES.items()}


@pytest.fixture(scope="module")
def gateway(stubs: dict[str, Stub], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with ExitStack() as stack:
        servers = {name: stack.enter_context(entry_for(stubs[name], way)) for name, (way, _) in NAMES.items()}  # type: ignore[arg-type]
        folder = tmp_path_factory.mktemp("signed")
        yield stack.enter_context(running(servers, folder, auth={"mode": "token"}))


def server_of(place: str) -> str:
    return place.replace("#", "/").rpartition("/")[2]


def client(gateway: Serving, place: str, scopes: str = "*", *, is_modern: bool) -> SignedClient:
    found = SignedClient(gateway, place, token(gateway.state, scopes), is_modern=is_modern)
    found.open()
    return found


def tools_of(caller: SignedClient) -> list[str]:
    return [
        each["name"].removeprefix(caller.prefix)
        for each in caller.list_tools()
        if each["name"].startswith(caller.prefix)
    ]


# --- who calls -------------------------------------------------------------------------------------------------------


@ERAS
@EVERYWHERE
def test_a_token_for_everything_opens_everything(gateway: Serving, place: str, *, is_modern: bool) -> None:
    caller = client(gateway, place, is_modern=is_modern)
    assert tools_of(caller) == ["look", "note", "wipe"]
    assert caller.call(caller.prefix + "wipe").text == "fine"
    record = eventually(
        lambda: [r for r in read_records(gateway.state, tool="wipe", server=server_of(place)) if r.actor == "alice"],
        "its record",
    )[-1]
    assert record.status == "success"


@ERAS
@EVERYWHERE
def test_without_a_token_nothing_is_answered_and_no_server_hears_of_it(
    gateway: Serving, stubs: dict[str, Stub], place: str, *, is_modern: bool
) -> None:
    before = [stub.journal.methods() for stub in stubs.values()]
    caller = SignedClient(gateway, place, None, is_modern=is_modern)
    for message in (caller.render("tools/list"), json.loads(call(1, caller.prefix + "look"))):
        found = caller.post(json.dumps(message).encode())
        assert (found.status, found.message["id"]) == (401, None)
        assert "handfast token create" in found.message["error"]["message"]
        assert server_of(place) not in found.message["error"]["message"]
    for method in ("GET", "DELETE", "PUT"):
        response = send(gateway.base, method, caller.path, headers={"Mcp-Session-Id": "x"})
        assert (response.status, response.headers["www-authenticate"]) == (401, 'Bearer realm="handfast"')
    assert [stub.journal.methods() for stub in stubs.values()] == before
    eventually(lambda: read_records(gateway.state, type="auth_failure", rule="auth.missing"), "a record")


def headers_of(gateway: Serving) -> dict[str, tuple[str, str]]:
    good = token(gateway.state)
    revoked, expired = token(gateway.state, name="over"), token(gateway.state, seconds=-5)
    TokenStore(gateway.state).revoke("over", time.time())
    return {
        "words": ("hello", "auth.malformed"),
        "no scheme": (good, "auth.malformed"),
        "basic": ("Basic YTpi", "auth.malformed"),
        "two tokens": (f"Bearer {good}, Bearer {good}", "auth.malformed"),
        "two words": (f"Bearer {good} x", "auth.malformed"),
        "empty": ("Bearer ", "auth.malformed"),
        "cut": (f"Bearer {good[:-6]}", "auth.signature"),
        "revoked": (f"Bearer {revoked}", "auth.revoked"),
        "expired": (f"Bearer {expired}", "auth.expired"),
    }


@ERAS
@pytest.mark.parametrize("place", ["/mcp/old", "/mcp#old"])
def test_a_token_that_is_none_is_refused_with_the_reason_on_record(
    gateway: Serving, place: str, *, is_modern: bool
) -> None:

    for what, (header, rule) in headers_of(gateway).items():
        caller = SignedClient(gateway, place, None, is_modern=is_modern)
        message = json.dumps(caller.render("tools/list")).encode()
        body = send(gateway.base, "POST", caller.path, message, {**caller.headers(message), "Authorization": header})
        assert body.status == 401, what
        challenge = body.headers["www-authenticate"]
        assert 'error="invalid_token"' in challenge, what
        look = partial(read_records, gateway.state, type="auth_failure", rule=rule)
        record = eventually(look, f"a record of {what}")[-1]
        assert record.details["address"] == "127.0.0.1"
        shown = json.dumps([body.body.decode(), dict(body.headers), record.reason])
        assert header.removeprefix("Bearer ")[:20] not in shown or len(header) < 20, what


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer   "])
def test_the_scheme_may_be_spelt_in_any_case(gateway: Serving, scheme: str) -> None:
    headers = {"Authorization": f"{scheme.strip()}{' ' * max(1, scheme.count(' '))}{token(gateway.state)}"}
    assert "servers" in json.loads(send(gateway.base, "GET", "/health", headers=headers).body)


def test_a_token_in_the_address_is_refused_and_so_is_a_repeated_header(gateway: Serving) -> None:
    text = token(gateway.state)
    for path in ("/mcp", "/mcp/old"):
        for query in (f"access_token={text}", f"servers=old&Access_Token={text}", f"token={text}"):
            found = send(gateway.base, "POST", f"{path}?{query}", b"{}", {"Authorization": f"Bearer {text}"})
            assert found.status == 400
            assert text not in found.body.decode()
    eventually(lambda: read_records(gateway.state, rule="auth.query"), "a record")
    stderr = b"".join(gateway.errors).decode()
    assert text not in stderr


def test_strangers_are_told_no_names(gateway: Serving) -> None:
    for path in ("/mcp/nobody", "/", "/mcp/old", "/mcp?servers=nobody", "/favicon.ico"):
        found = send(gateway.base, "GET", path)
        assert found.status == 401, path
        assert not any(name in found.body.decode() for name in NAMES), path
    status, health = gateway.health()
    assert (status, health) == (200, {"status": "ok", "recording": "ok"})


# --- what it may do --------------------------------------------------------------------------------------------------


@pytest.mark.requirement("D24")
@ERAS
@EVERYWHERE
@pytest.mark.parametrize(
    ("scopes", "may"),
    [
        ("{}:read", ["look"]),
        ("{}:write *:read", ["look", "note"]),
        ("{}/n*", ["note"]),
        ("{}/wipe:read {}/look", ["look"]),
    ],
    ids=["read", "write", "name", "kind"],
)
def test_lists_and_calls_agree_on_what_a_scope_allows(
    gateway: Serving, stubs: dict[str, Stub], place: str, scopes: str, may: list[str], *, is_modern: bool
) -> None:
    name = server_of(place)
    caller = client(gateway, place, scopes.replace("{}", name), is_modern=is_modern)
    assert tools_of(caller) == may
    for each in ("look", "note", "wipe"):
        reached = len(stubs[name].journal.calls(each))
        found = caller.call(caller.prefix + each)
        assert (found.is_error, len(stubs[name].journal.calls(each)) - reached) == (each not in may, each in may), each
        if each not in may:
            assert found.status == 403
            assert f"{name}:" in found.message["error"]["message"]
            look = partial(read_records, gateway.state, type="tool_call", tool=each, rule="access.scope")
            record = eventually(look, "a record")[-1]
            assert (record.status, record.actor) == ("blocked", "alice")


@pytest.mark.requirement("D24")
@ERAS
@EVERYWHERE
def test_a_server_without_a_scope_is_not_there(
    gateway: Serving, stubs: dict[str, Stub], place: str, *, is_modern: bool
) -> None:
    name = server_of(place)
    others = " ".join(other for other in NAMES if other != name)
    caller = SignedClient(gateway, place, token(gateway.state, others), is_modern=is_modern)
    opened = caller.open()
    if not caller.prefix:
        assert opened is None or opened.status == 403
    else:
        assert tools_of(caller) == []
        assert name not in caller.request("prompts/list").message.__str__()
    before = stubs[name].journal.methods()
    assert caller.call(caller.prefix + "look").is_error
    assert caller.request("prompts/get", {"name": caller.prefix + "plan"}).is_error
    assert stubs[name].journal.methods() == before


@pytest.mark.requirement("D24")
@ERAS
@EVERYWHERE
def test_prompts_and_resources_need_a_scope_for_the_whole_server(
    gateway: Serving, place: str, *, is_modern: bool
) -> None:
    name = server_of(place)
    asked = [
        ("prompts/get", {"name": f"{name}__plan" if "#" in place else "plan"}),
        ("resources/read", {"uri": "mem://r"}),
    ]
    reader = client(gateway, place, f"{name}:read", is_modern=is_modern)
    writer = client(gateway, place, f"{name}/look {name}:write", is_modern=is_modern)
    for method, key in (("prompts/list", "prompts"), ("resources/list", "resources")):
        assert len(reader.request(method).result[key]) == 1
        assert writer.request(method).result[key] == []
    for method, params in asked:
        assert "result" in reader.request(method, params).message, method
        assert "error" in writer.request(method, params).message, method


def test_what_is_hidden_is_counted_and_kept_from_shared_caches(gateway: Serving) -> None:
    for place in ("/mcp/new", "/mcp/far", "/mcp/old"):
        caller = client(gateway, place, f"{server_of(place)}:read", is_modern=True)
        listed = caller.request("tools/list").result
        assert listed["_meta"]["handfast/hidden"] == 2, place
        assert listed["cacheScope"] == "private", place
    eventually(
        lambda: [r for r in read_records(gateway.state, rule="access.hidden") if r.details["hidden"] == 2], "a record"
    )


def test_the_answer_says_which_scope_would_do(gateway: Serving) -> None:
    caller = client(gateway, "/mcp/old", "old:read", is_modern=False)
    caller.list_tools()
    message = call(7, "wipe")
    response = send(gateway.base, "POST", caller.path, message, caller.headers(message))
    assert (response.status, json.loads(response.body)["id"]) == (403, 7)
    challenge = response.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="old:admin"' in challenge


def test_a_tool_whose_kind_is_not_known_yet_counts_as_destructive(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, "up", LEGACY)
    with running(
        {"up": {"command": stub.command[0], "args": stub.command[1:]}}, tmp_path, auth={"mode": "token"}
    ) as new:
        caller = client(new, "/mcp/up", "up:read", is_modern=False)
        assert caller.call("wipe").is_error  # the first request that needs the list
        assert not caller.call("look").is_error
        assert caller.call("unlisted").is_error
        assert stub.journal.calls("wipe") == stub.journal.calls("unlisted") == []


@pytest.mark.parametrize("place", ["/mcp/compact", "/mcp#compact"])
@ERAS
def test_a_dispatcher_leads_to_no_tool_that_its_caller_may_not_call(
    tmp_path: Path, place: str, *, is_modern: bool
) -> None:
    stub = stub_of(tmp_path, "compact", LEGACY)
    entry = {"command": stub.command[0], "args": stub.command[1:], "handfast": {"surface": "compact"}}
    with running({"compact": entry}, tmp_path, auth={"mode": "token"}) as new:
        wide, narrow = (client(new, place, scopes, is_modern=is_modern) for scopes in ("*", "compact:read"))
        for caller, may in ((wide, True), (narrow, False), (wide, True)):
            explained = caller.call(caller.prefix + "compact", {"action": "help"}).text
            assert ("wipe" in explained) is may
            found = caller.call(caller.prefix + "compact", {"action": "wipe"})
            assert found.is_error is not may
            assert not caller.call(caller.prefix + "compact", {"action": "look"}).is_error
        assert len(stub.journal.calls("wipe")) == 2


# --- sessions and streams --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["/mcp/old", "/mcp/far", "/mcp#old", "/mcp/gone"])
def test_a_session_belongs_to_its_caller_and_not_to_the_token(gateway: Serving, place: str) -> None:
    mine = client(gateway, place, is_modern=False)
    mine.token = token(gateway.state, f"{server_of(place)}:read")  # another token of the same caller, with fewer rights
    assert mine.call(mine.prefix + "look").text == "fine"
    assert mine.call(mine.prefix + "wipe").is_error
    mine.token = token(gateway.state)
    assert mine.call(mine.prefix + "wipe").text == "fine"
    mine.token = token(gateway.state, subject="bob")
    found = mine.call(mine.prefix + "look")
    assert found.status == 404
    (record,) = eventually(lambda: read_records(gateway.state, rule="session.stranger")[-1:], "the stranger on record")
    assert (record.type, record.actor) == ("auth_failure", "bob")


def test_a_revoked_token_ends_what_it_began(gateway: Serving) -> None:
    caller = client(gateway, "/mcp/old", is_modern=False)
    caller.token = token(gateway.state, name="brief")
    with caller.listening() as stream:
        assert stream.status == 200
        TokenStore(gateway.state).revoke("brief", time.time())
        with suppress(http.client.IncompleteRead, ConnectionError):
            assert b"data" not in stream.read()  # until the stream ends
    assert caller.call("look").status == 401


def test_a_token_that_runs_out_ends_what_it_began(gateway: Serving) -> None:
    caller = client(gateway, "/mcp/old", is_modern=False)
    caller.token = token(gateway.state, seconds=2)
    assert not caller.call("look").is_error
    eventually(lambda: status_of(caller) == 401, "its end")


def test_a_token_is_good_at_once_and_after_a_restart(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, "up", LEGACY)
    servers = {"up": {"command": stub.command[0], "args": stub.command[1:]}}
    with running(servers, tmp_path, auth={"mode": "token"}) as first:
        text = token(first.state)
        caller = SignedClient(first, "/mcp/up", text, is_modern=False)
        assert caller.open() is not None
        assert caller.call("look").text == "fine"
    with running(servers, tmp_path, auth={"mode": "token"}) as second:
        caller = SignedClient(second, "/mcp/up", text, is_modern=False)
        caller.open()
        assert caller.call("look").text == "fine"


def status_of(caller: HttpGateway) -> int:
    """Of a call; 0 where it was under way when the settings changed, and so was cut off."""
    try:
        return caller.call("look").status
    except ConnectionError:
        return 0


def test_the_mode_follows_the_settings_and_stays_closed_while_tokens_cannot_be_read(tmp_path: Path) -> None:
    stub = stub_of(tmp_path, "up", LEGACY)
    servers = {"up": {"command": stub.command[0], "args": stub.command[1:]}}
    with running(servers, tmp_path) as gateway:
        plain = HttpGateway(gateway.base, gateway.state, is_modern=False)
        plain.open()
        assert plain.call("look").text == "fine"
        gateway.write_settings({"mcpServers": servers, "auth": {"mode": "token"}})
        eventually(lambda: status_of(plain) in (401, 503), "a refusal")
        text = token(gateway.state)
        signed = SignedClient(gateway, "/mcp/up", text, is_modern=False)
        eventually(lambda: signed.open() and signed.call("look").status == 200, "an answer")
        (gateway.state / FILE_NAME).write_bytes(b"")
        eventually(lambda: status_of(signed) in (401, 503), "closed doors")
        gateway.write_settings({"mcpServers": servers})
        eventually(lambda: status_of(plain) == 200, "open doors")


def test_a_client_s_token_never_goes_to_a_server(gateway: Serving, stubs: dict[str, Stub]) -> None:
    caller = client(gateway, "/mcp/far", is_modern=True)
    assert not caller.call("look").is_error
    for stub in stubs.values():
        for entry in stub.journal.entries():
            assert "authorization" not in {name.lower() for name in entry.headers}
            assert str(caller.token) not in json.dumps([entry.raw, dict(entry.headers)])
