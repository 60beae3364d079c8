"""A client that sends one wrong call in a loop: few records, and yet every refused call is accounted for."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from handfast.core.call.exchange import Record
from tests.contracts.matrix.client import Client
from tests.contracts.matrix.places import Place, connected
from tests.contracts.rig import Json
from tests.gateway.running import TEXT, at_once, eventually, read_records, running, send, stdio, verify
from tests.stubs.run import answer, tool, write_stub

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
WRAPPED = b'{"data":{"n":1}}'
PLACES = [
    Place("wrap", "stdio", "legacy", "legacy"),
    Place("wrap", "http-json", "modern", "legacy"),
    Place("server", "stdio", "modern", "modern"),
    Place("server", "http-sse", "legacy", "legacy"),
    Place("server", "http-json", "modern", "modern"),
    Place("server", "stdio", "legacy", "modern"),
    Place("all", "stdio", "modern", "legacy"),
    Place("all", "http-json", "legacy", "modern"),
]
# Where the gateway gives out states. A modern server that is asked as it is knows its own.
STATEFUL = [
    Place("wrap", "stdio", "modern", "legacy"),
    Place("wrap", "http-json", "modern", "legacy"),
    Place("server", "stdio", "modern", "legacy"),
    Place("server", "http-sse", "modern", "legacy"),
    Place("server", "stdio", "modern", "modern"),
    Place("all", "stdio", "modern", "legacy"),
    Place("all", "http-json", "modern", "modern"),
]
FLOOD = 90
FEW: Json = {"whole_refusals": 2}  # of one kind, so 60 of one caller and 120 of all


def refused(records: Iterable[Record]) -> int:
    """How many refused calls these decisions account for."""
    return sum(int(str(record.details.get("count", 1))) for record in records if record.status == "blocked")


def flood(client: Client, count: int, tool_name: str, arguments: bytes = WRAPPED) -> None:
    asked = [client.begin_call(tool_name, arguments) for _ in range(count)]
    assert all("result" in one.answer().message for one in asked)


def server_in(folder: Path, place: Place, activity: Json | None = None, **own: Json) -> Json:
    stub = write_stub(folder, tools=[tool("add", NUMBER)], answers={"add": answer(TEXT)}, versions=place.versions)
    return connected(place, stub, folder, own, activity=activity or {})


@pytest.mark.requirement("F9")
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_flood_of_refused_calls_is_counted_at_every_place(place: Place, tmp_path: Path) -> None:
    with server_in(tmp_path, place) as client:
        flood(client, FLOOD, "add")
        decisions = read_records(tmp_path / "state", type="policy_decision")
        assert refused(decisions) == FLOOD  # on disk when the replies are there
        assert len(decisions) < 30
        assert client.begin_call("add", b'{"n":1}').answer().message["result"]["content"]
    assert verify(tmp_path / "state") == "intact"
    counted = next(record for record in decisions if "count" in record.details)
    assert (counted.server, counted.tool, counted.rule) == ("up", "add", "arguments.nested_wrapper")
    assert set(counted.details) == {"count", "first_time", "last_time", "caller"}


@pytest.mark.requirement("F9")
def test_a_flood_at_a_compact_server_is_counted_too(tmp_path: Path) -> None:
    place = Place("server", "stdio", "legacy", "legacy")
    with server_in(tmp_path, place, surface="compact") as client:
        name = client.ask("tools/list").message["result"]["tools"][0]["name"]
        flood(client, FLOOD, name, b'{"action":"no such","arguments":{}}')
    decisions = read_records(tmp_path / "state", type="policy_decision")
    assert refused(decisions) == FLOOD
    assert len(decisions) < 30


@pytest.mark.requirement("F9")
def test_calls_of_tools_that_nobody_has_are_counted_at_the_combined_endpoint(tmp_path: Path) -> None:
    with server_in(tmp_path, Place("all", "stdio", "legacy", "legacy"), FEW) as client:
        asked = [client.begin_call(f"none{number}") for number in range(FLOOD)]
        for one in asked:
            one.answer()

        def recorded() -> list[Record]:
            found = [r for r in read_records(tmp_path / "state", type="tool_call") if r.status != "success"]
            return found if sum(int(str(r.details.get("count", 1))) for r in found) == FLOOD else []

        assert len(eventually(recorded, "every call is accounted for")) < 70


@pytest.mark.requirement("F9")
def test_who_varies_its_name_and_its_calls_is_counted_all_the_same(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool(f"t{n}", NUMBER) for n in range(10)], answers={}, versions=["2026-07-28"])
    calls = 160

    def insist(part: int) -> int:
        refusals = 0
        for number in range(part, calls, 8):
            meta = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": f"client {number}", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            name = f"t{number % 10}"
            params = {"name": name, "arguments": {"data": {"n": number}}, "_meta": meta}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            headers = {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": "2026-07-28",
                "Mcp-Method": "tools/call",
                "Mcp-Name": name,
            }
            got = send(gateway.base, "POST", "/mcp/up", json.dumps(body).encode(), headers)
            refusals += b'"isError":true' in got.body
        return refusals

    with running({"up": stdio(stub)}, tmp_path, activity=FEW) as gateway:
        assert sum(at_once(*[lambda part=part: insist(part) for part in range(8)])) == calls
        decisions = read_records(gateway.state, type="policy_decision")
        assert refused(decisions) == calls
        assert len([record for record in decisions if "count" not in record.details]) == 120


@pytest.mark.requirement("F9")
def test_what_one_caller_repeats_leaves_the_records_of_another_whole(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add", NUMBER)], answers={"add": answer(TEXT)})
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        loud, quiet = gateway.client(), gateway.client()
        loud.list_tools()
        at_once(*[lambda: loud.call("add", WRAPPED) for _ in range(40)])
        before = refused(read_records(gateway.state, type="policy_decision"))
        for _ in range(5):
            quiet.call("add", WRAPPED)
        decisions = read_records(gateway.state, type="policy_decision")
        assert refused(decisions) - before == 5
        assert len([record for record in decisions[-5:] if record.request_id]) == 5


@pytest.mark.requirement("F9")
@pytest.mark.parametrize("place", [one for one in PLACES if one.front == "all"], ids=str)
def test_uris_that_no_server_has_are_counted_at_the_combined_endpoint(place: Place, tmp_path: Path) -> None:
    with server_in(tmp_path, place) as client:
        asked = [client.begin_request("resources/read", b'"uri":"x:%d"' % number) for number in range(FLOOD)]
        assert all("error" in one.answer().message for one in asked)

        def recorded() -> list[Record]:
            found = read_records(tmp_path / "state", rule="combined.unrouted")
            return found if refused(found) == FLOOD else []

        found = eventually(recorded, "every request is accounted for")
    assert len(found) < 30
    counted = next(record for record in found if "count" in record.details)
    assert (counted.type, counted.reason) == (
        "diagnostic",
        f"{counted.details['count']} more requests of this kind were refused.",
    )


@pytest.mark.requirement("F9")
@pytest.mark.requirement("F11")
@pytest.mark.parametrize("place", STATEFUL, ids=str)
def test_states_that_were_never_given_out_are_counted_and_refused_in_the_gateways_name(
    place: Place, tmp_path: Path
) -> None:
    with server_in(tmp_path, place) as client:
        client.ask("tools/list")
        asked = [
            client.begin_call("add", b'{"n":1}', more=b',"requestState":"s%d","inputResponses":{}' % number)
            for number in range(FLOOD)
        ]
        (text,) = {one.answer().message["error"]["message"] for one in asked}
        decisions = read_records(tmp_path / "state", type="policy_decision")
        assert refused(decisions) == FLOOD  # on disk when the replies are there
        assert len(decisions) < 30
    calls = [one for one in read_records(tmp_path / "state", type="tool_call") if "count" not in one.details]
    assert {(one.status, one.reason) for one in calls} == {("blocked", text)}
    assert not read_records(tmp_path / "state", rule="message.unowned")
