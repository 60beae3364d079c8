"""What a process stands on: one store, contracts kept apart by what is behind a name, and diagnoses told once."""

import asyncio
from pathlib import Path

import pytest

from handfast.activity.store import StoreError
from handfast.core.call.contract import ToolContract
from handfast.gateway.runtime import Runtime
from handfast.gateway.settings import Settings
from handfast.gateway.settings.blocks import Activity
from tests.gateway.running import TEXT, read_records, running, stdio, wrapping
from tests.stubs.run import answer, tool, write_stub

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}
UNUSABLE = {"type": "object", "properties": {"n": {"$ref": "#/nowhere"}}}


def test_two_servers_of_one_name_never_share_contracts(tmp_path: Path) -> None:
    async def work() -> list[bool]:
        runtime = Runtime(Settings(), tmp_path)
        runtime.server_side("up", ("one",)).learner.contracts.learn(
            [ToolContract("t", b'{"type":"object"}', None)], cursor=None, next_cursor=None
        )
        await runtime.close()
        again = Runtime(Settings(), tmp_path)
        sources = [("up", ("one",)), ("up", ("two",)), ("other", ("one",))]
        found = [again.server_side(*source).learner.contracts.find("t") is not None for source in sources]
        await again.close()
        return found

    assert asyncio.run(work()) == [True, False, False]


def test_a_schema_that_cannot_be_used_is_told_once_over_calls_starts_and_processes(tmp_path: Path) -> None:
    tools = [tool("out", None, UNUSABLE), tool("in", UNUSABLE)]
    result = answer('{"content":[{"type":"text","text":"fine"}],"structuredContent":{"n":1}}')
    stub = write_stub(tmp_path, tools=tools, answers={"out": result, "in": answer(TEXT)})
    for _ in range(2):
        with wrapping(stub.command, tmp_path) as gateway:
            gateway.list_tools()
            assert [gateway.call(name).text for name in ("out", "in", "out", "in")] == ["fine"] * 4
    told = read_records(gateway.state, rule="schema.uncompilable")
    assert [(record.tool, record.type, record.status) for record in told] == [
        ("out", "diagnostic", "warning"),
        ("in", "diagnostic", "warning"),
    ]


def test_a_new_contract_replaces_the_old_one_and_is_on_record(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        gateway.client().list_tools()
    write_stub(tmp_path, tools=[tool("add", NUMBER)], answers={"add": answer(TEXT)})
    with running({"up": stdio(stub)}, tmp_path, input_validation={"mode": "strict"}) as gateway:
        client = gateway.client()
        client.list_tools()
        assert client.call("add", {"n": "x"}).is_error
    changes = read_records(gateway.state, type="contract_change")
    assert [(record.rule, record.tool) for record in changes] == [
        ("contract.added", "add"),
        ("contract.changed", "add"),
    ]
    assert changes[0].details["after"] == changes[1].details["before"] != changes[1].details["after"]


def test_a_store_that_is_not_there_yet_is_refused_rather_than_replaced_by_another(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match='can only be "sqlite"'):
        Runtime(Settings(activity=Activity(store="postgresql://db.example/handfast")), tmp_path)
