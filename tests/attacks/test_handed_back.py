"""Clients that forge what the gateway gave them to keep: cursors, states and task ids at `/mcp`."""

import base64
import json
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contracts.rig import MODERN_META, HttpGateway
from tests.gateway.running import Serving, eventually, read_records, request, running, send, stdio
from tests.gateway.translate.servers.asking import LEGACY, MODERN, PIPED, WAYS, Json, entry_for
from tests.stubs.run import Stub, answer, tool, write_stub

pytestmark = pytest.mark.requirement("S8")

FINE = '{"resultType":"complete","content":[{"type":"text","text":"fine"}]}'
ERAS = {"old": LEGACY, "new": MODERN}
NAMES = [f"{era}-{way}" for era in ERAS for way in WAYS] + [f"{era}-compact" for era in ERAS]
LISTS = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]
# What stands where a server's own cursor, state or id should be, as raw JSON of the forger's making.
INJECTED = [
    '"x"',
    '"x","evil":true',
    '"x"}},{"evil":true}',
    '"x","_meta":{"evil":true}',
    '{"evil":true}',
    "{",
    "",
    "NaN",
    "5",
    "null",
    "evil",
    '"\\ud800"',
    '"evil\\u0000"',
]


def without_key(purpose: str, content: Json) -> str:
    """As anybody can make it who has read the source: right in every way but for the key."""
    payload = json.dumps([purpose, content]).encode()
    mark = sha256(b"handfast " + payload).digest()[:9]
    return "hf1." + base64.urlsafe_b64encode(mark + payload).rstrip(b"=").decode()


def _stub(folder: Path, name: str, versions: list[str]) -> Stub:
    said = {
        "prompts/list": '"prompts":[{"name":"p"}]',
        "resources/list": f'"resources":[{{"uri":"x://{name}/1","name":"n"}}]',
        "resources/templates/list": '"resourceTemplates":[]',
        "prompts/get": '"messages":[]',
        "resources/read": '"contents":[]',
    }
    return write_stub(
        folder,
        name=name,
        tools=[tool("t")],
        answers={"t": answer(FINE)},
        methods={method: answer(f'{{"resultType":"complete",{result}}}') for method, result in said.items()},
        versions=versions,
        capabilities={"tools": {}, "prompts": {}, "resources": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
    )


class Attacked:
    """A gateway with servers of both eras, over every transport, and with a compact surface."""

    def __init__(self, gateway: Serving, stubs: dict[str, Stub]) -> None:
        self.gateway = gateway
        self.stubs = stubs
        self.clients = {is_modern: self._client(is_modern=is_modern) for is_modern in (False, True)}

    def _client(self, *, is_modern: bool) -> HttpGateway:
        client = HttpGateway(self.gateway.base, self.gateway.state, is_modern=is_modern)
        client.path = "/mcp"
        client.open()
        return client

    def require_blocked(self, asked: list[tuple[str, Json]], kinds: list[str], *, is_modern: bool = True) -> None:
        """Each request is refused and on record as these kinds of record, and no server has heard of any."""
        before = len(self._blocked())
        for method, params in asked:
            error = self.clients[is_modern].request(method, params).message["error"]
            assert (error["code"], "evil" in error["message"]) == (-32602, False), (method, params, error)
        expected = [(kind, "blocked") for kind in kinds] * len(asked)
        eventually(lambda: len(self._blocked()) >= before + len(expected), "the refusals on record")
        assert self._blocked()[before:] == expected
        self.require_whole()
        for name, stub in self.stubs.items():
            assert b"evil" not in b"".join(entry.bytes for entry in stub.journal.messages()), name

    def require_whole(self) -> None:
        assert [line for line in self.gateway.errors if b"Traceback" in line or b"failed inside" in line] == []

    def _blocked(self) -> list[tuple[str, str]]:
        found = read_records(self.gateway.state, rule="combined.forged")
        return [(record.type.value, record.status.value) for record in found]


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    folder = tmp_path_factory.mktemp("handed-back")
    stubs: dict[str, Stub] = {}
    servers: dict[str, Json] = {}
    with ExitStack() as stack:
        for name in NAMES:
            era, _, way = name.partition("-")
            stubs[name] = _stub(folder, name, ERAS[era])
            reached = "stdio" if way == "compact" else way
            servers[name] = stack.enter_context(entry_for(stubs[name], reached))  # type: ignore[arg-type]  # one of WAYS
            if way == "compact":
                servers[name]["handfast"] = {"surface": "compact"}
        # Every refusal as a whole record: here each one is looked for.
        gateway = running(servers, folder, activity={"whole_refusals": None})
        yield Attacked(stack.enter_context(gateway), stubs)


@pytest.mark.parametrize("is_modern", [False, True])
@pytest.mark.parametrize("method", LISTS)
def test_a_forged_cursor_is_refused_and_on_record(attacked: Attacked, is_modern: bool, method: str) -> None:
    cursors = [without_key(method, [[name, injected] for name in NAMES]) for injected in INJECTED]
    attacked.require_blocked([(method, {"cursor": cursor}) for cursor in cursors], ["diagnostic"], is_modern=is_modern)


@pytest.mark.parametrize("is_modern", [False, True])
def test_a_cursor_that_is_none_is_refused_and_on_record(attacked: Attacked, is_modern: bool) -> None:
    odd: list[Json] = [5, True, {"evil": 1}, ["x"], "", "x", "hf2.", "hf2.AAAA", "hf2.=", "\0", "é", "x" * 100_000]
    asked = [("tools/list", {"cursor": cursor}) for cursor in odd]
    attacked.require_blocked(asked, ["diagnostic"], is_modern=is_modern)


@pytest.mark.parametrize("name", NAMES)
def test_a_forged_state_is_refused_and_on_record(attacked: Attacked, name: str) -> None:
    own = name if name.endswith("compact") else "t"
    asked: list[tuple[str, Json, list[str]]] = [
        ("tools/call", {"name": f"{name}__{own}", "arguments": {}}, ["policy_decision", "tool_call"]),
        ("prompts/get", {"name": f"{name}__p"}, ["diagnostic"]),
        ("resources/read", {"uri": f"x://{name}/1"}, ["diagnostic"]),
    ]
    states = [without_key("state", [name, injected]) for injected in INJECTED]
    for method, params, kinds in asked:
        odd = [5, {"evil": 1}, "", "x"]
        retries = [(method, {**params, "requestState": state, "inputResponses": {}}) for state in [*states, *odd]]
        attacked.require_blocked(retries, kinds)


@pytest.mark.parametrize("name", NAMES)
def test_a_forged_task_id_is_refused_and_on_record(attacked: Attacked, name: str) -> None:
    ids = [without_key("task", [name, "evil"]), "", "x"]
    methods = ("tasks/get", "tasks/update", "tasks/cancel")
    attacked.require_blocked([(method, {"taskId": own}) for method in methods for own in ids], ["diagnostic"])


def _all(gateway: Serving) -> HttpGateway:
    client = gateway.client(is_modern=True)
    client.path = "/mcp"
    return client


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("era", ERAS)
def test_what_was_given_out_is_good_after_a_restart_and_under_no_other_key(tmp_path: Path, era: str, way: str) -> None:
    """What a process or a stream gave out ends with it; a server over HTTP goes on."""
    task = '{"resultType":"task","taskId":"t1","status":"working","ttlMs":null,"createdAt":"2026-01-01T00:00:00Z"}'
    asked = '{"resultType":"input_required","inputRequests":{},"requestState":"own"}'
    answers = {"task": answer(task), "asks": [answer(asked), answer(FINE)]}
    status = answer('{"resultType":"complete","taskId":"t1","status":"working"}')
    stub = write_stub(tmp_path, tools=[tool("task"), tool("asks")], answers=answers, versions=ERAS[era], paging="fresh")
    other = write_stub(tmp_path, name="other", tools=[tool("task")], answers=answers, versions=MODERN)
    stub.spec.write_text(json.dumps({**json.loads(stub.spec.read_text()), "methods": {"tasks/get": status}}))
    with entry_for(stub, way) as entry:  # type: ignore[arg-type]  # one of WAYS
        _require_given_is_good({"up": entry, "other": stdio(other)}, tmp_path, era=era, way=way)


def _require_given_is_good(servers: Json, tmp_path: Path, *, era: str, way: str) -> None:
    with running(servers, tmp_path) as gateway:
        client = _all(gateway)
        cursor = client.request("tools/list").result["nextCursor"]
        given: list[tuple[str, Json]] = [("tools/list", {"cursor": cursor})]
        if era == "new":  # tasks and states are no words of a legacy server
            given.append(("tasks/get", {"taskId": client.call("up__task").result["taskId"]}))
            state = client.call("up__asks").result["requestState"]
            given.append(("tools/call", {"name": "up__asks", "requestState": state}))
            for method, params in [("tasks/get", {"taskId": state}), ("tools/list", {"cursor": state})]:
                assert client.request(method, params).message["error"]["code"] == -32602, "not of this kind"
    with running(servers, tmp_path) as gateway:
        for method, params in given:
            is_good = "result" in _all(gateway).request(method, params).message
            assert is_good is (method == "tools/list" or way not in PIPED), method
    (tmp_path / "state").rename(tmp_path / "moved")
    with running(servers, tmp_path) as gateway:
        for method, params in given:
            assert _all(gateway).request(method, params).message["error"]["code"] == -32602, method


_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | _TEXTS
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3), max_leaves=6
)
_RAW = st.sampled_from(
    ['"\\ud800"', '{"a":1,"a":2}', '{"A":1,"a\\u0000":2}', "[" * 1100 + "]" * 1100, "1e400", '"\\u0000"']
)
_GIVEN = st.builds(json.dumps, _VALUES) | _RAW
_FORGED = st.builds(
    lambda purpose, content: json.dumps(without_key(purpose, content)),
    st.sampled_from([*LISTS, "state", "task", "cursor"]),
    _VALUES | st.lists(st.tuples(st.sampled_from(NAMES), _TEXTS), max_size=2),
)
_MEMBERS = ["cursor", "requestState", "inputResponses", "taskId", "uri", "name", "ref", "level", "notifications"]
_METHODS = [*LISTS, "tools/call", "prompts/get", "resources/read", "completion/complete", "tasks/get", "tasks/update"]
_META = [
    "progressToken",
    *(f"io.modelcontextprotocol/{name}" for name in ("logLevel", "subscriptionId", "related-task")),
]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    is_modern=st.booleans(),
    method=st.sampled_from(_METHODS),
    members=st.dictionaries(st.sampled_from(_MEMBERS), _GIVEN | _FORGED, max_size=4),
    meta=st.dictionaries(st.sampled_from(_META), _GIVEN, max_size=2),
    name=st.sampled_from([f"{name}__t" for name in NAMES]),
)
def test_nothing_that_a_client_hands_back_breaks_the_gateway(
    attacked: Attacked, is_modern: bool, method: str, members: dict[str, str], meta: dict[str, str], name: str
) -> None:
    client = attacked.clients[is_modern]
    whole = {key: json.dumps(value) for key, value in MODERN_META.items()} if is_modern else {}
    params = {"name": json.dumps(name), **members, "_meta": _object({**whole, **meta})}
    envelope = {"jsonrpc": '"2.0"', "id": str(client.next_id()), "method": f'"{method}"', "params": _object(params)}
    headers = client.headers(b'{"method":"%s","params":{}}' % method.encode())
    shown = members.get("uri", "null") if method == "resources/read" else params["name"]
    if (plain := _plain(shown)) is not None:
        headers["Mcp-Name"] = plain
    found = client.post(_object(envelope).encode(), headers)
    assert found.status < 500, found.raw
    attacked.require_whole()


def _object(members: dict[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in members.items()) + "}"


def _plain(text: str) -> str | None:
    value = json.loads(text) if not text.startswith("[[") else None
    return value if isinstance(value, str) and value.isascii() and value.isprintable() and value.strip() else None


_HEADER = st.text(st.characters(min_codepoint=0x21, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["GET", "POST", "DELETE"]),
    session=_HEADER | st.just("own"),
    event=_HEADER | st.from_regex(r"[0-9a-f]{8}-[0-9]{1,30}-[0-9]{1,30}", fullmatch=True),
    query=st.text(max_size=20).map(quote)
    | st.sampled_from(["servers=", "servers=%ff", "servers=a&servers=b", "servers"]),
)
def test_no_session_event_or_choice_of_servers_breaks_the_gateway(
    attacked: Attacked, method: str, session: str, event: str, query: str
) -> None:
    own = attacked.clients[False].session or ""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Mcp-Session-Id": "x" + own if session == "own" else session,
        "Last-Event-ID": event,
    }
    body = request(1, "tools/list") if method == "POST" else None
    path = "/mcp?" + query if query else "/mcp"
    assert send(attacked.gateway.base, method, path, body, headers).status < 500
    attacked.require_whole()
