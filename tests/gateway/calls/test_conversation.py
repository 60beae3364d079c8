"""One conversation, the same over every route: smuggling, ambiguity, odd content, and calls that come before lists."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from handfast.core.call.contract import LIST_UNAVAILABLE
from tests.contracts.rig import MODERN_META, ROUTES, Answer, Gateway, HttpGateway, Json, Route, rig
from tests.gateway.running import TEXT, call, eventually, one_record, outcome, read_records
from tests.stubs.run import Entry, Stub, answer, tool, write_stub

OBJECT = {"type": "object"}
SURROGATE = rb'{"content":[{"type":"text","text":"cut \ud83d"}]}'
DEEP = {
    count: b'{"content":[{"type":"text","text":"","x":' + b"[" * count + b"]" * count + b"}]}"
    for count in (500, 100_000)
}
ANSWERS = {
    "add": answer(TEXT),
    "surrogate": answer(SURROGATE),
    "deep": answer(DEEP[500]),
    "abyss": answer(DEEP[100_000]),
    "surrogate_in": answer(rb'{"content":[],"structuredContent":{"x":"cut \ud83d"}}'),
    "deep_in": answer(b'{"content":[],"structuredContent":{"x":' + b"[" * 500 + b"]" * 500 + b"}}"),
    "twin_result": answer(message='{"jsonrpc":"2.0","id":$ID,"result":{"content":[]},"result":{"content":[]}}'),
    "twin_content": answer('{"content":[],"content":[]}'),
    "twin_flag": answer('{"content":[],"isError":true,"isError":false}'),
    "folded": answer('{"content":[],"structuredContent":{},"StructuredContent":{"x":1}}'),
    "nul": answer(r'{"content":[],"structuredContent\u0000":{"x":1}}'),
}
JUDGED = ("surrogate_in", "deep_in", "folded", "nul")
TOOLS = [tool(name, None, OBJECT if name in JUDGED else None) for name in ANSWERS]


class Here(NamedTuple):
    gateway: Gateway
    stub: Stub
    route: Route
    mode: str


@pytest.fixture(scope="module", params=["warn", "off"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module", params=ROUTES)
def here(request: pytest.FixtureRequest, mode: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    folder = tmp_path_factory.mktemp("conversation")
    stub = write_stub(folder, tools=TOOLS, answers=ANSWERS)
    modes = {"input_validation": {"mode": mode}, "output_validation": {"mode": mode}}
    with rig(request.param, stub, folder, modes) as gateway:
        gateway.list_tools()
        yield Here(gateway, stub, request.param, mode)


def reached(here: Here) -> list[Entry]:
    """The calls that got to the server, once everything sent before has."""
    assert here.gateway.call("add").text == "fine"
    return [e for e in here.stub.journal.messages() if b"forbidden" in e.bytes]


# --- one message is one message --------------------------------------------------------------------------------------


@pytest.mark.requirement("B1")
@pytest.mark.parametrize("newline", [b"\n", b"\r", b"\r\n"])
def test_a_message_cannot_hide_another_between_its_tokens(here: Here, newline: bytes) -> None:
    """Two lines to a line protocol: the inner call would run unjudged."""
    if here.route == "wrap":
        newline = newline.replace(b"\n", b"\r")  # a line feed ends the message here, so it can hide nothing
    inner = newline + b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"add"}}' + newline
    outer = b'{"jsonrpc":"2.0","id":"n","method":"ping","params":{"x":' + inner + b"}}"
    calls = len(here.stub.journal.calls("add"))
    if here.route == "wrap":
        here.gateway.send(outer)
        got = here.gateway.answer_to("n")  # type: ignore[attr-defined]  # this route's gateway has it
    else:
        got = here.gateway.exchange(outer)
    assert got.result == {}
    assert len(here.stub.journal.calls("add")) == calls
    message = next(e for e in reversed(here.stub.journal.messages()) if b'"ping"' in e.bytes)
    if here.route in ("wrap", "stdio"):
        assert message.bytes.count(b"\n") == 1
        assert b"\r" not in message.bytes
    assert message.message["params"] == {
        "x": {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "add"}}
    }


# --- ambiguity -------------------------------------------------------------------------------------------------------

HEAD = '{"jsonrpc":"2.0","id":"a","method":"tools/call",'
AMBIGUOUS = [
    HEAD + '"params":{"name":"add"},"params":{"name":"forbidden"}}',
    HEAD + '"params":{"name":"forbidden"},"Params":{"name":"add"}}',
    HEAD + '"params":{"name":"forbidden"},"params\\u0000":{"name":"add"}}',
    '{"jsonrpc":"2.0","id":"a","method":"ping","method":"tools/call","params":{"name":"forbidden"}}',
    '{"jsonrpc":"2.0","id":"a","id":"b","method":"tools/call","params":{"name":"forbidden"}}',
    HEAD + '"params":{"name":"add","name":"forbidden"}}',
    HEAD + '"params":{"name":"forbidden","NAME":"add"}}',
    HEAD + '"params":{"name":"forbidden","na\\u0000me":"add"}}',
    HEAD + '"params":{"name":"forbidden","arguments":{},"arguments":{"x":1}}}',
    HEAD + '"params":{"name":"forbidden","arguments":{},"argument\\u017f":{"x":1}}}',
    HEAD + '"params":{"name":"forbidden","_meta":{"progressToken":1,"progressToken":2}}}',
    HEAD + '"params":{"name":"forbidden","_meta":{"progressToken":1,"ProgressToken":2}}}',
    HEAD + '"params":{"name":"forbidden","\\u005fmeta":{"x":1,"x":2}}}',
    HEAD + '"params":{"name":"forbidden","_meta":{},"_META":{}}}',
]


@pytest.mark.requirement("B2")
@pytest.mark.parametrize("message", AMBIGUOUS)
def test_a_request_that_two_readers_take_differently_is_refused(here: Here, message: str) -> None:
    got = refused(here.gateway, message.encode())
    assert got.message["error"]["code"] == -32600
    assert "ambiguous" in got.text
    assert reached(here) == []


def refused(gateway: Gateway, message: bytes) -> Answer:
    if isinstance(gateway, HttpGateway):
        return gateway.post(message)
    gateway.send(message)
    return gateway.answer_to(json.loads(message)["id"])  # type: ignore[attr-defined,no-any-return]  # as above


@pytest.mark.requirement("B2")
@pytest.mark.parametrize("name", ["twin_content", "twin_flag", "folded", "nul"])
def test_a_result_that_two_readers_take_differently_is_blocked_in_every_mode(here: Here, name: str) -> None:
    got = here.gateway.call(name)
    assert got.result["isError"] is True
    assert "structuredContent" not in got.result
    assert "ambiguous" in got.text
    assert outcome(here.gateway.state, name) == ("blocked", "result.ambiguous")
    assert one_record(here.gateway.state, type="policy_decision", tool=name).status == "blocked"


@pytest.mark.requirement("B2")
def test_an_answer_with_two_results_is_an_error_in_every_mode(here: Here) -> None:
    assert here.gateway.call("twin_result").message["error"]["code"] == -31001
    assert outcome(here.gateway.state, "twin_result")[0] == "error"


# --- what fast decoders refuse ---------------------------------------------------------------------------------------


@pytest.mark.requirement("B5")
@pytest.mark.parametrize(("name", "result"), [("surrogate", SURROGATE), ("deep", DEEP[500])])
def test_odd_content_outside_what_is_judged_passes_byte_for_byte(here: Here, name: str, result: bytes) -> None:
    number = here.gateway.next_id()
    sent = call(number, name)
    if isinstance(here.gateway, HttpGateway):
        raw = post_raw(here.gateway, sent)
    else:
        here.gateway.send(sent)
        raw = here.gateway.read_line()  # type: ignore[attr-defined]  # as above
    assert b'{"jsonrpc":"2.0","id":%d,"result":' % number + result + b"}" in raw
    assert outcome(here.gateway.state, name)[0] in ("success", "warning")
    assert here.gateway.call("add").text == "fine"


@pytest.mark.requirement("F4")
@pytest.mark.requirement("B5")
def test_an_answer_that_is_nested_without_end_fails_its_call_and_nothing_else(here: Here) -> None:
    refused = here.gateway.call("abyss")
    assert refused.message["error"]["code"] == -31001
    assert "The text is nested more than 512 levels deep" in refused.text
    assert outcome(here.gateway.state, "abyss") == ("error", "upstream.failed")
    assert here.gateway.call("add").text == "fine"


def post_raw(gateway: HttpGateway, body: bytes) -> bytes:
    from tests.gateway.running import send

    return send(gateway.base, "POST", gateway.path, body, gateway.headers(body)).body


@pytest.mark.requirement("B5")
@pytest.mark.parametrize(
    ("name", "rule"),
    [("surrogate_in", "result.ambiguous"), ("deep_in", "result.max_depth")],
)
def test_odd_content_inside_what_is_judged_is_on_record(here: Here, name: str, rule: str) -> None:
    number = here.gateway.next_id()
    sent = call(number, name)
    if isinstance(here.gateway, HttpGateway):
        post_raw(here.gateway, sent)
    else:
        here.gateway.send(sent)
        here.gateway.read_line()  # type: ignore[attr-defined]  # as above
    assert outcome(here.gateway.state, name)[0] == "success"
    decisions = read_records(here.gateway.state, type="policy_decision", tool=name)
    expected = [("warning", rule)] if here.mode == "warn" else []
    assert [(decision.status.value, decision.rule) for decision in decisions] == expected
    assert here.gateway.call("add").text == "fine"


# --- a call before the list ------------------------------------------------------------------------------------------


def first_calls(gateway: Gateway, count: int) -> list[Json]:
    """Modern calls without any list before them, in one go where the route allows it."""
    bodies = [call(f"c{n}", "add", arguments={"n": "x"}, _meta=MODERN_META) for n in range(count)]
    if isinstance(gateway, HttpGateway):
        from tests.gateway.running import at_once

        return [a.message for a in at_once(*[lambda b=body: gateway.post(b) for body in bodies])]
    for body in bodies:
        gateway.send(body)
    return [gateway.answer_to(f"c{n}").message for n in range(count)]  # type: ignore[attr-defined]  # as above


NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}


def asked(stub: Stub) -> list[Entry]:
    """What reached the server, but for the questions which era it is of."""
    probes = ("initialize", "notifications/initialized", "server/discover", "ping")
    return [entry for entry in stub.journal.messages() if entry.message["method"] not in probes]


@pytest.mark.quick
@pytest.mark.requirement("C3")
@pytest.mark.parametrize("route", ROUTES)
def test_a_call_that_comes_first_waits_for_the_list_that_handfast_asks_for(tmp_path: Path, route: Route) -> None:
    methods = {"tools/list": answer({"tools": [tool("add", NUMBER)]}, "slow:0.2")}
    stub = write_stub(tmp_path, answers={"add": answer(TEXT)}, methods=methods)
    with rig(route, stub, tmp_path, {"input_validation": {"mode": "strict"}}, is_modern=True) as gateway:
        answers = first_calls(gateway, 5)
        assert [a["result"]["isError"] for a in answers] == [True] * 5
    assert [entry.message["method"] for entry in asked(stub)] == ["tools/list"]
    listing = asked(stub)[0].message
    assert listing["id"] not in ("c0", "c1", "c2", "c3", "c4")
    assert {r.rule for r in read_records(gateway.state, type="tool_call")} == {"arguments.schema"}


@pytest.mark.requirement("C3")
@pytest.mark.parametrize("route", ROUTES)
def test_a_server_that_never_lists_its_tools_is_not_waited_for_long(tmp_path: Path, route: Route) -> None:
    stub = write_stub(tmp_path, answers={"add": answer(TEXT)}, methods={"tools/list": answer("{}", "silence")})
    with rig(route, stub, tmp_path, {"limits": {"learn_timeout_s": 0.5}}, is_modern=True) as gateway:
        answers = first_calls(gateway, 2)
        assert [a["result"] for a in answers] == [json.loads(TEXT)] * 2
        assert [entry.message["method"] for entry in asked(stub)] == ["tools/list", "tools/call", "tools/call"]
        waited = stub.journal.calls("add")[0].time - asked(stub)[0].time
        assert 0.2 < waited < 4
        found = eventually(lambda: records_of(gateway, 2), "both records")
    assert {(r.status.value, r.rule) for r in found} == {("warning", "contract.unknown")}


@pytest.mark.requirement("C3")
@pytest.mark.requirement("D21")
@pytest.mark.requirement("S6")
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("block", ["input_validation", "output_validation"])
def test_in_strict_no_call_is_forwarded_while_no_list_is_to_be_had(tmp_path: Path, route: Route, block: str) -> None:
    stub = write_stub(tmp_path, answers={"add": answer(TEXT)}, methods={"tools/list": answer("{}", "silence")})
    modes = {block: {"mode": "strict"}, "limits": {"learn_timeout_s": 0.5}}
    with rig(route, stub, tmp_path, modes, is_modern=True) as gateway:
        answers = first_calls(gateway, 2)
        assert [a["error"] for a in answers] == [{"code": -31001, "message": LIST_UNAVAILABLE.message}] * 2
        found = eventually(lambda: records_of(gateway, 2), "both records")
    assert stub.journal.calls("add") == []
    assert {(r.status.value, r.rule) for r in found} == {("blocked", "contract.unavailable")}


@pytest.mark.requirement("S6")
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", ["ADD", "add\0", "add ", "hidden", "\u017fum"])
def test_in_strict_only_the_very_name_of_a_listed_tool_reaches_the_server(
    tmp_path: Path, route: Route, name: str
) -> None:
    stub = write_stub(tmp_path, tools=[tool("add"), tool("sum")], answers={"add": answer(TEXT), name: answer(TEXT)})
    with rig(route, stub, tmp_path, {"input_validation": {"mode": "strict"}}) as gateway:
        assert gateway.call("add").text == "fine"
        assert gateway.call(name).message["error"]["code"] == -32602
    assert [entry.message["params"]["name"] for entry in stub.journal.messages() if is_a_call(entry)] == ["add"]


def is_a_call(entry: Entry) -> bool:
    return bool(entry.message["method"] == "tools/call")


def records_of(gateway: Gateway, count: int) -> list[Json]:
    found = read_records(gateway.state, type="tool_call")
    return found if len(found) == count else []


@pytest.mark.requirement("C3")
@pytest.mark.parametrize("is_kept_enough", [True, False])
def test_contracts_outlive_the_process_that_learnt_them(tmp_path: Path, is_kept_enough: bool) -> None:
    """The second run judges its first call although the server does not list its tools any more."""
    stub = write_stub(tmp_path, tools=[tool("add", NUMBER)], answers={"add": answer(TEXT)})
    strict = {
        "input_validation": {"mode": "strict", "unknown_tools": "allow" if is_kept_enough else "block"},
        "limits": {"learn_timeout_s": 0.5},
    }
    with rig("wrap", stub, tmp_path, strict) as gateway:
        gateway.list_tools()
    write_stub(tmp_path, answers={"add": answer(TEXT)}, methods={"tools/list": answer("{}", "silence")})
    with rig("wrap", stub, tmp_path, strict, is_modern=True) as gateway:
        refused = first_calls(gateway, 1)[0]
        if is_kept_enough:
            assert refused["result"]["isError"] is True
        else:
            assert refused["error"]["message"] == LIST_UNAVAILABLE.message
    assert stub.journal.calls("add") == []


# --- ids -------------------------------------------------------------------------------------------------------------


def test_a_list_that_was_refused_leaves_its_id_free(here: Here) -> None:
    request_id = here.gateway.next_id()
    twice = b'{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"cursor":"a","cursor":"b"}}' % request_id
    assert refused(here.gateway, twice).message["error"]["code"] == -32600
    again = here.gateway.exchange(b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}' % request_id)
    assert len(again.result["tools"]) == len(TOOLS)


@pytest.mark.requirement("B4")
def test_an_id_in_use_is_refused_and_the_first_request_goes_on(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("slow")], answers={"slow": answer(TEXT, "slow:0.3")})
    with rig("wrap", stub, tmp_path) as gateway:
        gateway.send(call(7, "slow"))
        gateway.send(call(7.0, "slow"))
        got = [json.loads(gateway.read_line()) for _ in range(2)]  # type: ignore[attr-defined]  # as above
    error = {"code": -32600, "message": "This id is in use. Use a fresh id."}
    assert got[0]["error"] == error
    assert got[1]["result"] == json.loads(TEXT)
    assert len(stub.journal.calls("slow")) == 1
