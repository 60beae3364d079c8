"""Two callers of one process, or of one connection of the gateway's own: neither gets at what is the other's."""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.contracts.rig import MODERN_META, Answer, HttpGateway, Json
from tests.gateway.running import OpenPost, Serving, eventually, read_records, running
from tests.gateway.translate.servers.asking import MODERN, PREFIX, entry_for
from tests.stubs.run import Stub, answer, tool, write_stub

pytestmark = pytest.mark.requirement("F2")

KEEPER = Path(__file__).with_name("task_keeper.py")
ENTRY = {"command": sys.executable, "args": [str(KEEPER)]}
SETTINGS: dict[str, Json] = {
    "auto": {},
    "shared": {"isolation": "shared"},
    "compact": {"surface": "compact"},
    "alone": {"isolation": "session"},
}
# Where modern callers share a process: its own address, the address of all, and the compact surface at both.
SHARED = ["/mcp/auto", "/mcp/shared", "/mcp/compact", "/mcp#auto", "/mcp#compact"]
FOREIGN = -32602


class Caller(HttpGateway):
    """A client that gives itself a name. `place` is a path, and the server where the path has all of them."""

    def __init__(self, gateway: Serving, place: str, name: str, *, is_modern: bool = True) -> None:
        super().__init__(gateway.base, gateway.state, is_modern=is_modern)
        self.path, _, self.prefix = place.partition("#")
        self.server = self.prefix or self.path.rpartition("/")[2]
        self.name = name

    def render(self, method: str, params: Json = None) -> Json:
        message = super().render(method, params)
        client = {"name": self.name, "version": "1"}
        if self.is_modern:
            message["params"]["_meta"] = {**MODERN_META, PREFIX + "clientInfo": client}
        elif method == "initialize":
            message["params"]["clientInfo"] = client
        return message

    def run(self, tool_name: str, arguments: Json = None, **more: Json) -> Answer:
        whole = {"name": tool_name, "arguments": arguments or {}, **more}
        if self.server == "compact":
            whole = {"name": "compact", "arguments": {"action": tool_name, "arguments": arguments or {}}, **more}
        if self.prefix:
            whole["name"] = f"{self.prefix}__{whole['name']}"
        return self.request("tools/call", whole)

    def begin(self) -> str:
        """Begin a task; the id that its call gave."""
        return str(self.run("long", {"owner": self.name}).result["taskId"])


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    servers = {name: {**ENTRY, "handfast": own} for name, own in SETTINGS.items()}
    with running(servers, tmp_path_factory.mktemp("shared")) as serving:
        yield serving


def blocked(gateway: Serving) -> int:
    return len(read_records(gateway.state, rule="access.foreign"))


def pair(gateway: Serving, place: str, *, is_modern: bool = True) -> tuple[Caller, Caller]:
    callers = [Caller(gateway, place, name, is_modern=is_modern) for name in ("mine", "yours")]
    for caller in callers:
        caller.open()
    return callers[0], callers[1]


@pytest.mark.parametrize("place", SHARED)
def test_a_task_is_shown_to_the_caller_that_was_given_it_and_to_no_other(gateway: Serving, place: str) -> None:
    mine, yours = pair(gateway, place)
    task = mine.begin()
    before = blocked(gateway)
    for stolen in (task, "task-1"):
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            error = yours.request(method, {"taskId": stolen}).message["error"]
            assert (error["code"], "mine" in error["message"]) == (FOREIGN, False), (method, error)
    found = mine.request("tasks/get", {"taskId": task}).result
    assert (found["taskId"], found["status"], found["owner"]) == (task, "working", "mine")
    mine.request("tasks/cancel", {"taskId": task})
    assert mine.request("tasks/get", {"taskId": task}).result["status"] == "tasks/cancel"
    if "#" not in place:  # at /mcp what no server gave out is refused before it gets so far
        eventually(lambda: blocked(gateway) > before, "the refusals on record")


@pytest.mark.parametrize("place", SHARED)
def test_a_state_is_good_for_the_caller_that_was_given_it_and_for_no_other(gateway: Serving, place: str) -> None:
    mine, yours = pair(gateway, place)
    state = mine.run("ask", {"owner": "mine"}).result["requestState"]
    for stolen in (state, "of mine", "", 5, None):
        found = yours.run("ask", requestState=stolen)
        assert "confirmed" not in str(found.message), stolen
    assert mine.run("ask", {"owner": "mine"}, requestState=state).text == "confirmed of mine"


def restart(gateway: Serving, how: str, caller: Caller) -> None:
    """End the process that the callers share, as one of them can, or as the operator does."""
    if how == "crash":
        caller.run("die")
        return
    again = json.loads(gateway.config.read_text())
    for entry in again["mcpServers"].values():
        entry["env"] = {"STARTED": "again"}
    gateway.write_settings(again)
    eventually(lambda: read_records(gateway.state, type="settings_change"), "the change of settings")


@pytest.mark.parametrize("how", ["crash", "reload", "gateway"])
@pytest.mark.parametrize("place", SHARED)
def test_what_a_process_gave_out_is_good_for_no_other_process(tmp_path: Path, place: str, how: str) -> None:
    """It counts from one again, so that an id or a state of before would name what another caller was given since."""
    servers = {name: {**ENTRY, "handfast": own} for name, own in SETTINGS.items()}
    with ExitStack() as stack:
        gateway = stack.enter_context(running(servers, tmp_path))
        mine, yours = pair(gateway, place)
        task, state = mine.begin(), mine.run("count", {"owner": "mine"}).result["requestState"]
        if how == "gateway":
            stack.close()
            gateway = stack.enter_context(running(servers, tmp_path))
            mine, yours = pair(gateway, place)
        else:
            restart(gateway, how, mine)
        given = eventually(lambda: yours.run("long", {"owner": "yours"}).message.get("result"), "the server again")
        assert yours.run("count", {"owner": "yours"}).result["requestState"] != state
        before = blocked(gateway)
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            found = mine.request(method, {"taskId": task})
            assert found.message.get("error", {}).get("code") == FOREIGN, found.message
        found = mine.run("count", {"owner": "mine"}, requestState=state)
        assert (found.message.get("error", {}).get("code"), "yours" in str(found.message)) == (FOREIGN, False)
        wanted = {"notifications": {"taskIds": [task], "toolsListChanged": True}}
        listen = OpenPost(mine, json.dumps(mine.render("subscriptions/listen", wanted)).encode())
        heard = listen.next_event() if "#" in place else mine.request("subscriptions/listen", wanted).message
        assert "taskIds" not in str(heard), heard
        if "#" in place:  # the rest of what was asked for is listened for again
            assert listen.next_event()["method"] == "notifications/tools/list_changed"
        listen.leave()
        eventually(lambda: blocked(gateway) > before, "the refusals on record")
        assert yours.request("tasks/get", {"taskId": given["taskId"]}).result["owner"] == "yours"


@pytest.mark.parametrize("place", SHARED)
def test_a_subscription_hears_of_the_callers_own_tasks_alone(gateway: Serving, place: str) -> None:
    mine, yours = pair(gateway, place)
    theirs, task = mine.begin(), yours.begin()
    stolen = yours.request("subscriptions/listen", {"notifications": {"taskIds": [task, theirs]}})
    assert stolen.message["error"]["code"] == FOREIGN
    listen = OpenPost(
        yours, json.dumps(yours.render("subscriptions/listen", {"notifications": {"taskIds": [task]}})).encode()
    )
    acknowledged, told = listen.next_event(), listen.next_event()
    later = yours.begin()  # the server speaks of every task it has, each time it is asked
    again = OpenPost(
        yours, json.dumps(yours.render("subscriptions/listen", {"notifications": {"taskIds": [later]}})).encode()
    )
    heard = [again.next_event(), again.next_event()]
    listen.leave()
    again.leave()
    assert acknowledged["params"]["notifications"]["taskIds"] == [task]
    assert (told["params"]["taskId"], told["params"]["owner"]) == (task, "yours")
    assert [event["params"].get("taskId") for event in heard] == [None, later]


@pytest.mark.parametrize("place", ["/mcp/auto", "/mcp/shared", "/mcp/alone", "/mcp/compact", "/mcp"])
@pytest.mark.parametrize("has_id", [True, False])
def test_a_second_initialize_is_refused_and_changes_nothing_for_others(
    gateway: Serving, place: str, has_id: bool
) -> None:
    mine, yours = pair(gateway, place, is_modern=False)
    who = "auto__who" if place == "/mcp" else "who"
    before = mine.call(who).text
    message = yours.render("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}})
    if not has_id:
        del message["id"]
    found = yours.exchange(json.dumps(message).encode())
    assert "error" in found.message
    assert mine.call(who).text == before
    assert yours.call(who).text != ""
    if has_id:
        eventually(lambda: read_records(gateway.state, rule="session.initialized"), "the refusal on record")


@pytest.mark.parametrize("place", ["/mcp/auto", "/mcp/shared"])
@pytest.mark.parametrize(
    "method", ["logging/setLevel", "resources/subscribe", "tasks/list", "notifications/roots/list_changed"]
)
def test_a_modern_caller_leaves_nothing_in_the_process_that_others_share(
    gateway: Serving, place: str, method: str
) -> None:
    mine, yours = pair(gateway, place)
    before = mine.run("who").text
    mine.begin()
    message = yours.render(method, {"level": "debug", "uri": "x://y"})
    if method.startswith("notifications/"):
        del message["id"]
    found = yours.exchange(json.dumps(message).encode())
    assert b"mine" not in found.raw
    assert mine.run("who").text == before


def test_a_session_that_uses_tasks_gets_a_process_of_its_own_and_ids_as_they_are(gateway: Serving) -> None:
    mine, yours = pair(gateway, "/mcp/auto", is_modern=False)
    task = mine.run("long", {"owner": "mine"}, task={}).result["task"]["taskId"]
    assert task == "task-1"
    assert mine.request("tasks/list").result["tasks"][0]["owner"] == "mine"
    assert yours.request("tasks/list").result["tasks"] == []
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert "mine" not in str(yours.request(method, {"taskId": task}).message)
    assert mine.request("tasks/get", {"taskId": task}).result["status"] == "working"


def test_sessions_that_must_share_a_process_have_ids_of_their_own_and_no_list(gateway: Serving) -> None:
    mine, yours = pair(gateway, "/mcp/shared", is_modern=False)
    task = mine.run("long", {"owner": "mine"}, task={}).result["task"]["taskId"]
    assert yours.request("tasks/list").message["error"]["code"] == -32601
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert yours.request(method, {"taskId": task}).message["error"]["code"] == FOREIGN
    assert mine.request("tasks/get", {"taskId": task}).result["status"] == "working"
    told = mine.request("tasks/result", {"taskId": task})
    assert (told.text, told.result["_meta"][PREFIX + "related-task"]["taskId"]) == ("mine", task)


def test_a_process_that_is_a_callers_own_keeps_its_ids_as_they_are(gateway: Serving) -> None:
    mine, yours = pair(gateway, "/mcp/alone")
    task = mine.begin()
    assert task == "task-1"
    assert yours.request("tasks/get", {"taskId": task}).result["status"] == "unknown"
    assert mine.request("tasks/get", {"taskId": task}).result["owner"] == "mine"


@pytest.mark.parametrize("way", ["http-json", "http-sse"])
@pytest.mark.parametrize("place", ["/mcp#up", "/mcp/compact", "/mcp#compact"])
def test_callers_that_share_the_gateways_own_connection_are_kept_apart(tmp_path: Path, way: str, place: str) -> None:
    stub = _tasks_over_http(tmp_path)
    with ExitStack() as stack:
        entry = stack.enter_context(entry_for(stub, way))  # type: ignore[arg-type]  # one of WAYS
        servers = {"up": entry, "compact": {**entry, "handfast": {"surface": "compact"}}}
        gateway = stack.enter_context(running(servers, tmp_path))
        mine, yours = pair(gateway, place)
        task, state = mine.begin(), mine.run("ask").result["requestState"]
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            for stolen in (task, "t1"):
                assert yours.request(method, {"taskId": stolen}).message["error"]["code"] == FOREIGN
        assert yours.run("ask", requestState=state).message["error"]["code"] == FOREIGN
        assert not [method for method in stub.journal.methods() if method.startswith("tasks/")]
        assert len(stub.journal.calls("ask")) == 1
        assert mine.request("tasks/get", {"taskId": task}).result["taskId"] == task
        assert stub.journal.messages()[-1].message["params"]["taskId"] == "t1"
        mine.run("ask", requestState=state)
        assert stub.journal.calls("ask")[-1].message["params"]["requestState"] == "s1"


def _tasks_over_http(folder: Path) -> Stub:
    task = '{"resultType":"%s","taskId":"t1","status":"working"}'
    asks = '{"resultType":"input_required","inputRequests":{},"requestState":"s1"}'
    return write_stub(
        folder,
        tools=[tool("long"), tool("ask")],
        answers={"long": answer(task % "task"), "ask": answer(asks)},
        methods={"tasks/get": answer(task % "complete")},
        versions=MODERN,
        capabilities={"tools": {}, "extensions": {PREFIX + "tasks": {}}},
    )


@pytest.mark.parametrize("place", ["/mcp/auto", "/mcp#auto"])
def test_a_task_outlives_its_connection_and_is_the_callers_by_address_and_name(gateway: Serving, place: str) -> None:
    mine, _ = pair(gateway, place)
    task = mine.begin()
    again, renamed = Caller(gateway, place, "mine"), Caller(gateway, place, "Mine")
    assert again.request("tasks/get", {"taskId": task}).result["owner"] == "mine"
    assert renamed.request("tasks/get", {"taskId": task}).message["error"]["code"] == FOREIGN


def test_what_is_refused_reads_one_line_and_says_what_to_do(gateway: Serving) -> None:
    mine, yours = pair(gateway, "/mcp/auto")
    task = mine.begin()
    assert yours.request("tasks/get", {"taskId": task}).text == (
        "There is no task of this id for this caller. Use the id that its call gave, as the client that made the call."
    )
