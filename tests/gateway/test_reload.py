"""What the record says about changed settings, taken or refused."""

from pathlib import Path

import pytest

from tests.gateway.running import TEXT, eventually, one_record, running, stdio, wrapping
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
