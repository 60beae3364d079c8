"""What the record says about changed settings, taken or refused, and what goes on through a change."""

from functools import partial
from pathlib import Path

import pytest

from tests.gateway.running import (
    TEXT,
    call,
    eventually,
    meanwhile,
    notification,
    one_record,
    running,
    send,
    stdio,
    wrapping,
)
from tests.gateway.translate.servers.asking import LEGACY, WAYS, Way, entry_for
from tests.stubs.run import Stub, answer, tool, write_stub

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.fixture
def stub(tmp_path: Path) -> Stub:
    return write_stub(tmp_path, tools=[tool("add", NUMBER)], answers={"add": answer(TEXT)})


@pytest.mark.parametrize("wrong", ["{", '{"mcpServers": {}, "output_validation": {"mode": "strikt"}}'])
def test_a_wrong_file_is_refused_and_the_old_settings_stay(tmp_path: Path, stub: Stub, wrong: str) -> None:
    with running({"up": stdio(stub)}, tmp_path, input_validation={"mode": "strict"}) as gateway:
        client = gateway.client()
        client.list_tools()
        gateway.write_settings(wrong)
        record = one_record(gateway.state, rule="settings.refused")
        assert (record.type, record.status) == ("settings_change", "error")
        assert record.reason.startswith("Changed settings were refused and the old ones kept: ")
        assert client.call("add", {"n": "x"}).is_error
        assert client.call("add", {"n": 1}).text == "fine"
        assert gateway.health()[0] == 200


def test_a_good_one_is_on_record_too(tmp_path: Path, stub: Stub) -> None:
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        gateway.write_settings({"mcpServers": {"up": stdio(stub)}, "output_validation": {"mode": "strict"}})
        record = one_record(gateway.state, rule="settings.changed")
        assert (record.type, record.status, record.reason) == (
            "settings_change",
            "success",
            "New settings are in force.",
        )


def test_a_wrapper_follows_its_file_as_well(tmp_path: Path, stub: Stub) -> None:
    with wrapping(stub.command, tmp_path) as gateway:
        gateway.list_tools()
        assert not gateway.call("add", {"n": "x"}).is_error
        (tmp_path / "handfast.json").write_text('{"input_validation": {"mode": "strict"}}')
        eventually(lambda: gateway.call("add", {"n": "x"}).is_error, "the new mode")


@pytest.mark.requirement("F11")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ending", ["answer", "cancel", "delete"])
def test_a_session_goes_on_as_it_was_opened_when_the_surface_changes(tmp_path: Path, way: Way, ending: str) -> None:
    answers = {"add": answer(TEXT), "slow": answer(TEXT, "silence" if ending != "answer" else "slow:1")}
    stub = write_stub(tmp_path, tools=[tool(name) for name in answers], answers=answers, versions=LEGACY)
    with entry_for(stub, way) as entry, running({"up": entry}, tmp_path) as gateway:
        client = gateway.client()
        assert client.call("add").text == "fine"
        with meanwhile(partial(client.exchange, call(50, "slow"))) as found:
            stub.journal.wait_for(lambda journal: journal.calls("slow"))
            gateway.write_settings({"mcpServers": {"up": {**entry, "handfast": {"surface": "compact"}}}})
            one_record(gateway.state, rule="settings.changed")
            assert client.call("add").text == "fine"
            assert [listed["name"] for listed in gateway.client().list_tools()] == ["up"]
            if ending == "cancel":
                client.send(notification("notifications/cancelled", requestId=50))
                stub.journal.wait_for(lambda journal: "notifications/cancelled" in journal.methods())
            if ending != "answer":
                assert (
                    send(gateway.base, "DELETE", client.path, headers={"Mcp-Session-Id": client.session}).status < 300
                )
        if ending != "cancel":  # a cancelled request may end without an answer
            assert found.result(10).is_error is (ending == "delete")
        expected = {"answer": "success", "cancel": "cancelled", "delete": "cancelled"}
        assert one_record(gateway.state, type="tool_call", tool="slow").status.value == expected[ending]
        gone = gateway.client(opens=False)
        gone.session = "never-opened"
        assert gone.request("tools/list").status == 404
