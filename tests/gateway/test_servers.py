"""Changed settings in a running gateway: which servers start anew, and which never notice."""

from pathlib import Path

from tests.contracts.rig import Json
from tests.gateway.running import TEXT, Serving, eventually, is_running, pids, running, send, stdio
from tests.stubs.run import answer, tool, write_stub

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}


def in_force(gateway: Serving, count: int) -> None:
    eventually(
        lambda: sum(b"New settings are in force" in line for line in gateway.errors) == count, "new settings in force"
    )


def test_a_change_of_policy_takes_effect_without_a_restart(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add", NUMBER)], answers={"add": answer(TEXT)})
    servers = {"up": stdio(stub)}
    with running(servers, tmp_path) as gateway:
        client = gateway.client()
        client.list_tools()
        assert not client.call("add", {"n": "x"}).is_error
        gateway.write_settings({"mcpServers": servers, "input_validation": {"mode": "strict"}})
        in_force(gateway, 1)
        assert client.call("add", {"n": "x"}).is_error
        assert (len(pids(stub)), len(stub.journal.calls("add"))) == (1, 1)


def test_a_changed_file_is_noticed_without_any_signal(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add", NUMBER)], answers={"add": answer(TEXT)})
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        text = gateway.config.read_text()
        gateway.config.write_text(text[:-1] + ', "input_validation": {"mode": "strict"}}')
        in_force(gateway, 1)


def test_a_changed_command_starts_anew_and_the_others_run_on(tmp_path: Path) -> None:
    stubs = [write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)}, name=f"s{n}") for n in range(3)]
    with running({"a": stdio(stubs[0]), "b": stdio(stubs[1])}, tmp_path) as gateway:
        a, b = gateway.client("a"), gateway.client("b")
        (old,) = pids(stubs[0])
        gateway.write_settings({"mcpServers": {"a": stdio(stubs[2]), "b": stdio(stubs[1])}})
        in_force(gateway, 1)
        eventually(lambda: not is_running(old), "the end of the old child")
        assert (a.request("ping").status, b.call("add").text) == (404, "fine")
        assert gateway.client("a").call("add").text == "fine"
        assert [len(pids(stub)) for stub in stubs] == [1, 1, 1]


def test_servers_come_and_go(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    one: Json = {"a": stdio(stub)}
    with running(one, tmp_path) as gateway:
        gateway.client("a")
        gateway.write_settings({"mcpServers": {"b": stdio(stub)}})
        in_force(gateway, 1)
        assert list(gateway.health()[1]["servers"]) == ["b"]
        assert send(gateway.base, "GET", "/mcp/a").status == 404
        assert gateway.client("b").call("add").text == "fine"
        eventually(lambda: not is_running(pids(stub)[0]), "the end of the removed server")


def test_a_disabled_server_is_gone_and_comes_back(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    with running({"a": stdio(stub)}, tmp_path) as gateway:
        for count, (is_disabled, state) in enumerate([(True, "disabled"), (False, "idle")], 1):
            gateway.write_settings({"mcpServers": {"a": stdio(stub, disabled=is_disabled)}})
            in_force(gateway, count)
            assert gateway.health()[1]["servers"]["a"]["state"] == state
        assert gateway.client("a").call("add").text == "fine"


def test_tools_that_changed_are_judged_by_what_they_are_now(tmp_path: Path) -> None:
    after = write_stub(tmp_path, name="after", tools=[tool("add", NUMBER)], answers={"add": answer(TEXT)})
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)}, next=str(after.spec))
    with running({"up": stdio(stub)}, tmp_path, input_validation={"mode": "strict"}) as gateway:
        client = gateway.client()
        assert not client.call("add", {"n": "x"}).is_error
        stub.take_next()
        eventually(lambda: client.call("add", {"n": "x"}).is_error, "the new contract")
        assert client.call("add", {"n": 1}).text == "fine"
