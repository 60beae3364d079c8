"""One client that takes all the room there is: sessions, held calls, memory. Another still has its own."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.attacks.test_shared_process import Caller
from tests.contracts.rig import MODERN_META, Answer, Json
from tests.faults.measured import resident_mb
from tests.gateway.running import Serving, read_records, running
from tests.gateway.translate.servers.asking import LEGACY, MODERN, PREFIX, WAYS, Way, entry_for
from tests.stubs.run import answer, tool, write_stub

pytestmark = pytest.mark.requirement("F7")

FINE = {"content": [{"type": "text", "text": "fine"}]}
ROOTS: Json = {"roots": {}}
LIMITS = {"sessions": 4}
STRICT: Json = {"mode": "strict"}


@contextmanager
def crowded(folder: Path, way: Way = "stdio") -> Iterator[Serving]:
    answers = {"add": answer(FINE), "ask": answer(FINE, "server_request")}
    stub = write_stub(folder, tools=[tool(name) for name in answers], answers=answers, versions=LEGACY)
    with ExitStack() as stack:
        entry = stack.enter_context(entry_for(stub, way))
        yield stack.enter_context(running({"up": entry}, folder, limits=LIMITS))


def session(gateway: Serving, name: str, place: str = "/mcp/up") -> Caller:
    caller = Caller(gateway, place, name, is_modern=False)
    caller.open(ROOTS)
    return caller


class Asker(Caller):
    """A modern client that can be asked; what it can do makes a session of its own with a legacy server."""

    variant = ""

    def render(self, method: str, params: Json = None) -> Json:
        message = super().render(method, params)
        meta = {**MODERN_META, PREFIX + "clientInfo": {"name": self.name, "version": "1"}}
        meta[PREFIX + "clientCapabilities"] = {"elicitation": {self.variant: {}} if self.variant else {}}
        message["params"]["_meta"] = meta
        return message


def ask(gateway: Serving, name: str, place: str, variant: str = "", arguments: Json = None) -> Answer:
    asker = Asker(gateway, place, name)
    asker.variant = variant
    return asker.run("ask", arguments)


@pytest.mark.parametrize("has_called", [True, False])
def test_sessions_of_one_client_do_not_end_anothers(tmp_path: Path, has_called: bool) -> None:
    with crowded(tmp_path) as gateway:
        victim = session(gateway, "victim")
        assert victim.call("add").text == "fine"
        for _ in range(12):
            mine = session(gateway, "greedy")
            assert not has_called or mine.call("add").text == "fine"
        assert victim.call("add").text == "fine"
        assert mine.call("add").text == "fine"
        assert {record.status.value for record in read_records(gateway.state, rule="session.evicted")} == {"warning"}


def test_names_that_change_end_no_session_that_made_a_call(tmp_path: Path) -> None:
    """On this machine everybody has one address, so each name counts for itself: what never called goes first."""
    with crowded(tmp_path) as gateway:
        victim = session(gateway, "victim")
        assert victim.call("add").text == "fine"
        for number in range(12):
            session(gateway, f"greedy-{number}")
        assert victim.call("add").text == "fine"


def test_sessions_that_are_held_open_leave_room_for_others(tmp_path: Path) -> None:
    with crowded(tmp_path) as gateway, ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(session(gateway, "greedy").listening())
        refused = session(gateway, "greedy")
        assert refused.session is None
        assert session(gateway, "victim").call("add").text == "fine"
    (record,) = read_records(gateway.state, rule="session.no_room")
    text = "2 sessions of this caller are open with the server, which is its share. End one of them."
    assert (record.status.value, record.reason) == ("blocked", f"A request was refused: {text}")


@pytest.mark.parametrize("way", ["stdio", "http-sse"])
@pytest.mark.parametrize("place", ["/mcp/up", "/mcp#up"])
def test_questions_that_are_held_open_leave_room_for_others(tmp_path: Path, way: Way, place: str) -> None:
    with crowded(tmp_path, way) as gateway:
        held = [ask(gateway, "greedy", place, f"v{number}") for number in range(6)]
        kinds = ["error" if "error" in found.message else found.result["resultType"] for found in held]
        assert kinds == ["input_required"] * 2 + ["error"] * 4
        assert "share" in held[-1].text
        assert ask(gateway, "victim", place).result["resultType"] == "input_required"


@pytest.mark.parametrize("way", ["stdio", "http-sse"])
def test_calls_that_are_held_keep_no_arguments(tmp_path: Path, way: Way) -> None:
    large = {"text": "x" * 3_000_000}
    with crowded(tmp_path, way) as gateway:
        for _ in range(4):
            assert ask(gateway, "greedy", "/mcp/up", arguments=large).result["resultType"] == "input_required"
        before = resident_mb(gateway.process.pid)
        for _ in range(30):
            assert ask(gateway, "greedy", "/mcp/up", arguments=large).result["resultType"] == "input_required"
        # Thirty times three megabytes would be ninety.
        assert resident_mb(gateway.process.pid) - before < 30


def test_a_held_call_is_carried_on_by_a_retry_with_the_same_arguments_alone(tmp_path: Path) -> None:
    with crowded(tmp_path) as gateway:
        found = ask(gateway, "victim", "/mcp/up", arguments={"a": 1}).result
        responses = {name: {"action": "accept", "content": {}} for name in found["inputRequests"]}
        retry = {"requestState": found["requestState"], "inputResponses": responses}
        asker = Asker(gateway, "/mcp/up", "victim")
        assert asker.run("ask", {"a": 2}, **retry).message["error"]["code"] == -32602
        assert asker.run("ask", {"a": 1}, **retry).text == "fine"


@pytest.mark.requirement("F8")
@pytest.mark.parametrize("is_modern", [True, False])
@pytest.mark.parametrize("way", ["stdio", "http-json"])
def test_a_server_that_lists_without_measure_takes_no_tool_from_itself_or_another(
    tmp_path: Path, way: Way, is_modern: bool
) -> None:
    uris = ",".join(f'{{"uri":"x://big/{number}","name":"n"}}' for number in range(100_000))
    listed = {"resources/list": answer(f'{{"resultType":"complete","resources":[{uris}]}}')}
    both: Json = {"tools": {}, "resources": {}}
    big = write_stub(
        tmp_path,
        name="big",
        tools=[tool("add")],
        answers={"add": answer({"resultType": "complete", **FINE})},
        methods=listed,
        capabilities=both,
    )
    well = write_stub(tmp_path, name="well", tools=[tool("add")], answers={"add": answer(FINE)})
    with ExitStack() as stack:
        servers = {name: stack.enter_context(entry_for(stub, way)) for name, stub in (("big", big), ("well", well))}
        gateway = stack.enter_context(running(servers, tmp_path))
        callers = [Caller(gateway, "/mcp", name, is_modern=is_modern) for name in ("mine", "yours")]
        for caller in callers:
            caller.open()
            assert (
                len(caller.request("resources/list").result["resources"]) == 10_000
            )  # the rest is left out, and said to be
        for caller in callers:
            assert [caller.call(f"{name}__add").text for name in ("big", "well")] == ["fine", "fine"]


class Kind(Caller):
    """A client that can do something which no other can."""

    def __init__(self, gateway: Serving, place: str, number: int, *, is_modern: bool) -> None:
        super().__init__(gateway, place, "greedy", is_modern=is_modern)
        self.capabilities: Json = {"experimental": {f"x{number}": {}}}

    def render(self, method: str, params: Json = None) -> Json:
        message = super().render(method, params)
        if self.is_modern:
            message["params"]["_meta"][PREFIX + "clientCapabilities"] = self.capabilities
        return message


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_modern", [True, False])
@pytest.mark.parametrize("place", ["/mcp/up", "/mcp#up"])
def test_kinds_of_clients_and_refused_lists_stop_no_calls_of_another(
    tmp_path: Path, place: str, is_modern: bool, way: Way
) -> None:
    """In strict mode a call is judged by what its own kind of client was listed; all of that can be learnt again."""
    versions = MODERN if is_modern else LEGACY
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(FINE)}, versions=versions)
    with entry_for(stub, way) as entry, running({"up": entry}, tmp_path, input_validation=STRICT) as gateway:
        victim = Caller(gateway, place, "victim", is_modern=is_modern)
        victim.open()
        assert victim.run("add").text == "fine"
        for number in range(20):
            greedy = Kind(gateway, place, number, is_modern=is_modern)
            greedy.open(greedy.capabilities)
            assert greedy.list_tools()
        Caller(gateway, place, "greedy", is_modern=False).run("add")  # without a session
        assert victim.run("add").text == "fine"
    assert read_records(gateway.state, rule="contract.unavailable") == []
