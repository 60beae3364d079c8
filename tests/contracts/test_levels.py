"""Policy from global to server to tool (004-4, D4), requests that are ambiguous in every mode (B2), and the record."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.contracts.judged import RIGHT, TOTAL, WRONG, structured
from tests.contracts.rig import HANDFAST, ROUTES, Gateway, Json, Route, rig
from tests.stubs.run import Stub, answer, tool, write_stub

FLAT = {"type": "object", "properties": {"a": {"type": "integer"}}}
GLOBAL = {"input_validation": {"mode": "off"}, "output_validation": {"mode": "off", "max_depth": 2}}
SERVER = {
    "output_validation": {"mode": "warn"},
    "tools": {
        "strict": {"output_validation": {"mode": "strict"}, "input_validation": {"mode": "strict"}},
        "flat_key": {"unknown_arguments": "reject_all", "input_validation": {"mode": "warn"}},
        "off": {"output_validation": {"mode": "off"}},
    },
}
NAMES = ("plain", "strict", "flat_key", "off", "raw", "deep")


class Levels(NamedTuple):
    gateway: Gateway
    stub: Stub


@pytest.fixture(scope="module", params=ROUTES)
def levels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Levels]:
    folder = tmp_path_factory.mktemp("levels")
    answers = {name: answer(structured(WRONG)) for name in NAMES} | {"deep": answer(structured('{"total":1,"d":[[]]}'))}
    stub = write_stub(folder, tools=[tool(name, FLAT, TOTAL) for name in NAMES], answers=answers)
    with rig(request.param, stub, folder, GLOBAL, server=SERVER) as gateway:
        yield Levels(gateway, stub)


@pytest.mark.requirement("004-4")
@pytest.mark.requirement("D2")
def test_a_server_wins_over_the_global_block_and_a_tool_over_its_server(levels: Levels) -> None:
    gateway = levels.gateway
    assert gateway.call("plain", {"data": {"b": 1}}).result == json.loads(structured(WRONG))
    assert [record["status"] for record in gateway.decisions("plain")] == ["warning"]
    assert gateway.call("strict").is_error
    assert gateway.call("off").result == json.loads(structured(WRONG))
    assert gateway.decisions("off") == []


@pytest.mark.requirement("D4")
def test_arguments_are_judged_where_a_tool_says_so_though_the_rest_is_off(levels: Levels) -> None:
    gateway, stub = levels
    assert gateway.call("strict", {"a": "x"}).text.startswith("The arguments do not fit what the tool declares: a: ")
    assert gateway.call("flat_key", {"b": 1}).text.startswith("Argument 'b' is not a declared field.")
    assert [entry.message["params"]["arguments"] for entry in stub.journal.calls("flat_key")] == []


@pytest.mark.requirement("004-6")
def test_a_key_that_only_the_global_block_sets_holds_for_every_tool(levels: Levels) -> None:
    assert levels.gateway.call("deep").result == json.loads(structured('{"total":1,"d":[[]]}'))
    assert [record["rule"] for record in levels.gateway.decisions("deep")] == ["result.max_depth"]


AMBIGUOUS = {
    "params twice": '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x"},"params":{"name":"raw"}}',
    "method twice": '{"jsonrpc":"2.0","id":%d,"method":"ping","method":"tools/call","params":{"name":"raw"}}',
    "method folded": '{"jsonrpc":"2.0","id":%d,"Method":"tools/call","method":"ping","params":{"name":"raw"}}',
    "name twice": '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"x","name":"raw"}}',
    "name folded": '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"raw","NAME":"x"}}',
    "name with nul": '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"raw","na\\u0000me":"x"}}',
    "arguments twice": '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":'
    '{"name":"raw","arguments":{"a":1},"arguments":{"data":{}}}}',
    "meta twice": '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":'
    '{"name":"raw","_meta":{"progressToken":1,"progressToken":2}}}',
    "batch": '[{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"raw"}}]',
}


@pytest.mark.requirement("B2")
@pytest.mark.requirement("D20")
@pytest.mark.parametrize("kind", AMBIGUOUS)
def test_an_ambiguous_request_reaches_nobody_even_with_validation_off(levels: Levels, kind: str) -> None:
    gateway, stub = levels
    message = (AMBIGUOUS[kind] % gateway.next_id()).encode()
    answered = exchange_raw(gateway, message)
    assert answered["error"]["code"] == -32600
    assert stub.journal.calls("raw") == []


def exchange_raw(gateway: Gateway, message: bytes) -> Json:
    """The answer, also to what is no single object."""
    if kind := getattr(gateway, "answer_to", None):
        gateway.send(message)
        number = json.loads(message)
        return kind(number["id"] if isinstance(number, dict) else None).message
    return gateway.exchange(message).message


@pytest.mark.requirement("004-4")
@pytest.mark.parametrize("command", [["serve", "--listen", "127.0.0.1:0"], ["wrap"]], ids=["serve", "wrap"])
@pytest.mark.parametrize("value", ["sometimes", "Strict", "", None, True])
def test_a_wrong_mode_is_refused_at_start_and_not_guessed(command: list[str], value: Json, tmp_path: Path) -> None:
    config = tmp_path / "handfast.json"
    config.write_text(json.dumps({"mcpServers": {"up": {"command": "true"}}, "output_validation": {"mode": value}}))
    tail = ["--", "true"] if command[0] == "wrap" else []
    flags = ["--config", str(config), "--state", str(tmp_path / "state")]
    done = subprocess.run(
        [*HANDFAST, *command, *flags, *tail], capture_output=True, timeout=30, stdin=subprocess.DEVNULL
    )
    assert done.returncode != 0
    assert b"output_validation.mode" in done.stderr
    assert b"off, warn" in done.stderr or b"warn, off" in done.stderr


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    """What a gateway left behind: a warning, a block and a call that was fine."""
    folder = tmp_path_factory.mktemp("history")
    answers = {
        "warned": answer(structured(WRONG)),
        "blocked": answer(structured(WRONG)),
        "fine": answer(structured(RIGHT)),
    }
    stub = write_stub(folder, tools=[tool(name, FLAT, TOTAL) for name in answers], answers=answers)
    own = {"tools": {"blocked": {"output_validation": {"mode": "strict"}}}}
    route: Route = "wrap"
    with rig(route, stub, folder, server=own) as gateway:
        for name in answers:
            gateway.call(name)
    return gateway


@pytest.mark.requirement("004-12")
def test_the_history_is_filtered_by_type_status_server_tool_and_time(history: Gateway) -> None:
    def found(**filters: str) -> list[tuple[str, str]]:
        return [(record["tool"], record["type"]) for record in history.records(**filters)]

    assert found(status="warning") == [("warned", "policy_decision")]
    assert found(status="blocked") == [("blocked", "tool_call"), ("blocked", "policy_decision")]
    assert found(type="policy_decision", server="up") == [("blocked", "policy_decision"), ("warned", "policy_decision")]
    assert found(tool="fine", type="tool_call") == [("fine", "tool_call")]
    assert found(server="other") == []
    assert found(since="1h", status="warning") == [("warned", "policy_decision")]
    assert found(until="1h") == []


@pytest.mark.requirement("004-12")
@pytest.mark.parametrize(("name", "mode", "status"), [("warned", "warn", "warning"), ("blocked", "strict", "blocked")])
def test_show_prints_server_tool_mode_decision_and_reason(history: Gateway, name: str, mode: str, status: str) -> None:
    (decision,) = history.decisions(name)
    command = [*HANDFAST, "activity", "show", decision["id"], "--state", str(history.state)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    words = " ".join(shown.split())
    for part in ("up", name, mode, status, "result.schema", "must be an integer, not a string"):
        assert part in words
