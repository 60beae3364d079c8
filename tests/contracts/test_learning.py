"""How contracts come to be known (004-1, 004-13, D21): learnt, kept over starts, paged, changed."""

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.contracts.cases import Seen, case
from tests.contracts.judged import RIGHT, TOTAL, WRONG, structured
from tests.contracts.rig import ROUTES, Gateway, HttpGateway, Json, Route, rig
from tests.stubs.run import Raw, Stub, answer, serving, tool, write_stub

# Strict, and yet calls go on that nothing is known to judge by: most of this is about what is known when.
STRICT = {"output_validation": {"mode": "strict"}, "input_validation": {"unknown_tools": "allow"}}
FIRST = case("first_ever", None, TOTAL, result=structured(WRONG), output_mode="strict")


@pytest.mark.requirement("D21")
@pytest.mark.requirement("004-1")
@pytest.mark.requirement("C3")
def test_handfast_asks_for_the_list_itself_once_and_no_call_asks_again(seen: Seen) -> None:
    asked = [entry.message for entry in seen.received if (entry.message or {}).get("method") == "tools/list"]
    assert len(asked) == 1
    assert seen[FIRST].answer.is_error
    assert seen[FIRST].decision["rule"] == "result.schema"


@pytest.mark.requirement("004-1")
def test_what_was_learnt_is_on_record_once_for_each_tool(seen: Seen) -> None:
    (change,) = [
        record for record in seen.records if record["type"] == "contract_change" and record["tool"] == "first_ever"
    ]
    assert (change["rule"], change["status"], change["server"]) == ("contract.added", "success", "up")


def long_lived(stub: Stub, route: Route) -> AbstractContextManager[str | None]:
    """A server that outlives the gateway; over stdio each gateway starts its own."""
    return serving(stub, route) if route in ("http-json", "http-sse") else nullcontext(None)


class TwoStarts(NamedTuple):
    first: Json
    second: Json
    seconds: float
    records: list[Json]


@pytest.fixture(scope="module", params=ROUTES)
def two_starts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TwoStarts:
    """Two gateways on one state folder; at the second start the server never answers a tools/list."""
    folder, route = tmp_path_factory.mktemp("starts"), request.param
    tools = [tool("kept", None, TOTAL), tool("unusable", None, {"type": "nonsense"})]
    answers = {"kept": answer(structured(WRONG)), "unusable": answer(structured(WRONG))}
    lists = [answer({"tools": tools}), answer("{}", "silence")]
    stub = write_stub(folder, answers=answers, methods={"tools/list": lists})
    texts, seconds = [], 0.0
    with long_lived(stub, route) as url:
        for start in range(2):
            if url is None:
                write_stub(folder, answers=answers, methods={"tools/list": lists[start]})
            with rig(route, stub, folder, STRICT, url=url) as gateway:
                began = time.monotonic()
                texts.append(gateway.call("kept").message["result"])
                seconds = time.monotonic() - began
                gateway.call("unusable")
    return TwoStarts(texts[0], texts[1], seconds, gateway.records())


@pytest.mark.requirement("004-1")
def test_a_second_start_judges_its_first_call_by_what_the_first_start_learnt(two_starts: TwoStarts) -> None:
    assert two_starts.second == two_starts.first
    assert two_starts.second["isError"] is True
    assert two_starts.seconds < 4.5  # a call that waits for the list waits five seconds


@pytest.mark.requirement("004-9")
@pytest.mark.requirement("D14")
def test_a_schema_that_cannot_be_used_is_reported_once_however_often_the_gateway_starts(two_starts: TwoStarts) -> None:
    told = [(record["tool"], record["rule"]) for record in two_starts.records if record["type"] == "diagnostic"]
    assert told == [("unusable", "schema.uncompilable")]


@pytest.mark.requirement("S6")
@pytest.mark.parametrize("route", ["wrap", "stdio"])  # over HTTP a restarted stub would have another address
@pytest.mark.parametrize("later", ["never lists", "lists another"])
def test_in_strict_a_contract_of_an_earlier_start_counts_only_once_the_tool_is_listed_again(
    route: Route, later: str, tmp_path: Path
) -> None:
    strict = {"input_validation": {"mode": "strict"}, "limits": {"learn_timeout_s": 0.5}}
    answers = {"pay": answer(structured(RIGHT))}
    stub = write_stub(tmp_path, tools=[tool("pay", None, TOTAL)], answers=answers)
    with rig(route, stub, tmp_path, strict) as gateway:
        assert not gateway.call("pay").is_error
    listed = answer("{}", "silence") if later == "never lists" else answer({"tools": [tool("other")]})
    write_stub(tmp_path, answers=answers, methods={"tools/list": listed})
    with rig(route, stub, tmp_path, strict) as gateway:
        assert gateway.call("pay").message["error"]["code"] == (-31001 if later == "never lists" else -32602)
    assert len(stub.journal.calls("pay")) == 1


class Mute(NamedTuple):
    gateway: Gateway
    stub: Stub


@pytest.fixture(scope="module", params=ROUTES)
def mute(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mute]:
    """A server that never says what its tools are, behind a gateway that waits briefly and allows two calls at once."""
    folder = tmp_path_factory.mktemp("mute")
    answers = {"plain": answer(structured(WRONG)), "asks": answer('{"resultType":"input_required","inputRequests":{}}')}
    stub = write_stub(folder, answers=answers, methods={"tools/list": answer("{}", "silence")})
    limits = {"limits": {"learn_timeout_s": 0.2, "concurrent_calls": 2}}
    with rig(request.param, stub, folder, STRICT | limits) as gateway:
        yield Mute(gateway, stub)


@pytest.mark.requirement("D21")
@pytest.mark.requirement("C3")
def test_a_call_whose_contract_stays_unknown_is_forwarded_and_recorded_as_such(mute: Mute) -> None:
    assert mute.gateway.call("plain", {"data": {"a": 1}}).result == json.loads(structured(WRONG))
    (record,) = settled(mute.gateway, "plain", 1)
    assert (record["type"], record["status"], record["rule"]) == ("tool_call", "warning", "contract.unknown")


@pytest.mark.requirement("D19")
def test_a_call_that_ends_in_a_question_is_no_longer_in_progress(mute: Mute) -> None:
    answers = [mute.gateway.call("asks").message for _ in range(4)]
    assert [message.get("result", {}).get("resultType") for message in answers] == ["input_required"] * 4


def settled(gateway: Gateway, name: str, count: int) -> list[Json]:
    """The records of a tool once there are so many: plain calls are written behind the caller's back."""
    deadline = time.monotonic() + 10
    while len(found := gateway.records(tool=name)) < count and time.monotonic() < deadline:
        pass  # each look starts a process, which is pause enough
    return found


@pytest.fixture(scope="module", params=ROUTES)
def paged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder: Path = tmp_path_factory.mktemp("paged")
    pages: list[Raw] = [[tool(f"page_{number}", None, TOTAL)] for number in range(3)]
    answers = {f"page_{number}": answer(structured(WRONG)) for number in range(3)}
    stub = write_stub(folder, pages=pages, answers=answers)
    with rig(request.param, stub, folder, STRICT) as gateway:
        yield gateway


@pytest.mark.requirement("004-1")
@pytest.mark.requirement("C3")
def test_every_page_of_the_list_is_learnt(paged: Gateway) -> None:
    assert [paged.call(f"page_{number}").is_error for number in (2, 0, 1)] == [True, True, True]


@pytest.mark.requirement("C3")
def test_a_client_that_reads_only_the_first_page_takes_nothing_away(paged: Gateway) -> None:
    assert [entry["name"] for entry in paged.list_tools()] == ["page_0"]
    assert paged.call("page_2").is_error


@pytest.mark.requirement("004-13")
@pytest.mark.requirement("D16")
@pytest.mark.parametrize("route", ROUTES)
def test_a_changed_schema_replaces_the_compiled_one_and_leaves_a_record(route: Route, tmp_path: Path) -> None:
    loose = {"type": "object", "properties": {"total": {"type": "string"}}}
    answers = {"moving": answer(structured(WRONG)), "going": answer(structured(WRONG))}
    stub = write_stub(tmp_path, tools=[tool("moving", None, TOTAL), tool("going", None, TOTAL)], answers=answers)
    with rig(route, stub, tmp_path, STRICT) as gateway:
        assert gateway.call("moving").is_error
        with gateway.listening() if isinstance(gateway, HttpGateway) else nullcontext():
            gateway.call("_change_tools", {"tools": [tool("moving", None, loose)]})
            deadline = time.monotonic() + 10
            while gateway.call("moving").is_error and time.monotonic() < deadline:
                pass  # until the announcement has gone round
        assert gateway.call("moving").result == json.loads(structured(WRONG))
    changes = [(record["tool"], record["rule"]) for record in reversed(gateway.records(type="contract_change"))]
    assert changes == [
        ("moving", "contract.added"),
        ("going", "contract.added"),
        ("moving", "contract.changed"),
        ("going", "contract.removed"),
    ]
