"""Results of tasks: judged wherever they appear, in both revisions, over every route, and after a restart."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.calls.task_results import created_tasks
from handfast.wire.message import Members, read_level
from tests.contracts.judged import RIGHT, TOTAL, WRONG, WRONG_REASON, blocked_text, structured
from tests.contracts.rig import ROUTES, Answer, Gateway, Json, Route, WrapGateway, rig
from tests.gateway.running import eventually, read_records
from tests.stubs.run import Raw, Stub, answer, serving, tool, write_stub

STRICT = {"output_validation": {"mode": "strict"}}
FIRM = {"output_validation": {"mode": "strict", "missing_structured_content": "block"}}
ISO = '"createdAt":"2026-11-01T10:00:00Z","lastUpdatedAt":"2026-11-01T10:00:00Z"'
RELATED = {"io.modelcontextprotocol/related-task": {"taskId": "strict"}}
FAILED = '{"content":[{"type":"text","text":"no such city"}],"isError":true}'
TWINS = f'{{"content":[],"structuredContent":{RIGHT},"structuredContent":{WRONG}}}'

# What each tool's task comes to: one tool, one task, both of this name.
RESULTS = {
    "right": structured(RIGHT),
    "strict": structured(WRONG),
    "warn": structured(WRONG),
    "off": structured(WRONG),
    "firm": structured(RIGHT),
    "unheard": structured(WRONG),  # never called through the gateway
    "is_error": FAILED,
    "twins": TWINS,
    "disguised": structured(WRONG, ',"resultType":"task"'),
    "scalar": "1",
}
POLICIES = {"strict": STRICT, "firm": FIRM, "off": {"output_validation": {"mode": "off"}}, "disguised": STRICT}
POLICIES |= {"hidden": STRICT, "busy": STRICT, "liar": STRICT, "pushed": STRICT, "both": STRICT, "unasked": FIRM}
NO_RESULT = ("failed", "cancelled", "refused", "gone")


def state(name: str, status: str, more: str = "", *, is_modern: bool) -> str:
    """A task as the server describes it."""
    ttl = '"ttlMs":60000' if is_modern else '"ttl":60000'
    kind = '"resultType":"complete",' if is_modern else ""
    return f'{{{kind}"taskId":"{name}","status":"{status}",{ISO},{ttl}{more}}}'


def handle(name: str, *, is_modern: bool) -> str:
    """The answer to a call that became a task."""
    task = state(name, "working", is_modern=is_modern)
    return task.replace('"complete"', '"task"') if is_modern else f'{{"task":{task}}}'


def with_result(name: str, result: str, status: str = "completed", *, is_modern: bool) -> str:
    return state(name, status, f',"result": {result} , "after":1.0', is_modern=is_modern)


def script(*, is_modern: bool) -> tuple[dict[str, object], dict[str, object]]:
    """What the server answers to calls, and to what is asked about tasks."""
    names = [*RESULTS, *NO_RESULT, "hidden", "busy", "liar", "pushed"]
    calls: dict[str, object] = {name: answer(handle(name, is_modern=is_modern)) for name in names}
    calls["both"] = answer(structured(WRONG, ',"task":{"taskId":"both"}'))
    calls["unasked"] = answer('{"task":{"taskId":"unasked"}}')
    asked: dict[str, object] = {}
    for name, result in RESULTS.items():
        if is_modern:
            asked[f"tasks/get {name}"] = answer(with_result(name, result, is_modern=True))
        else:
            asked[f"tasks/result {name}"] = answer(result)
            asked[f"tasks/get {name}"] = answer(state(name, "completed", is_modern=False))
    failed = ',"error":{"code":-32603,"message":"broke"}' if is_modern else ""
    asked["tasks/get failed"] = answer(state("failed", "failed", failed, is_modern=is_modern))
    asked["tasks/get cancelled"] = answer(state("cancelled", "cancelled", is_modern=is_modern))
    asked["tasks/result cancelled"] = answer(error='{"code":-32603,"message":"cancelled"}')
    asked["tasks/result refused"] = answer(error='{"code":-32603,"message":"broke"}')
    asked["tasks/get gone"] = answer(error='{"code":-32602,"message":"no such task"}')
    asked["tasks/get busy"] = answer(state("busy", "working", is_modern=is_modern))
    # A result in a task of 2025-11-25, and one in a task that is still at work, are not for this place; but there.
    asked["tasks/get hidden"] = answer(with_result("hidden", structured(WRONG), "working", is_modern=is_modern))
    asked["tasks/get liar"] = answer(state("liar", "failed", is_modern=is_modern))
    asked["tasks/result liar"] = answer(structured(WRONG))
    asked["tasks/cancel strict"] = answer(with_result("strict", structured(WRONG), "cancelled", is_modern=is_modern))
    asked["tasks/update strict"] = answer('{"resultType":"complete","result":1,"result":2}')
    return calls, asked


@dataclass(frozen=True, slots=True)
class Here:
    gateway: Gateway
    is_modern: bool
    is_shared: bool = False
    """Whether other callers have the same process: then ids are the caller's own, and no others are known."""
    given: dict[str, str] = field(default_factory=dict)

    def start(self, name: str) -> Answer:
        """Call the tool; in 2025-11-25 it is the client that asks for a task."""
        params: Json = {"name": name, "arguments": {}}
        began = self.gateway.request("tools/call", params if self.is_modern else {**params, "task": {"ttl": 60000}})
        if self.is_shared and not began.is_error:
            self.given[name] = began.result["taskId"]
        return began

    def fetch(self, name: str) -> Answer:
        return self.ask("tasks/get" if self.is_modern else "tasks/result", name)

    def ask(self, method: str, name: str) -> Answer:
        return self.gateway.request(method, {"taskId": self.given.get(name, name)})

    def answer(self, got: Answer, name: str, result: str) -> bytes:
        """The answer as the server wrote it, but for its id, and that of the task where callers share the process."""
        result = result.replace(f'"taskId":"{name}"', f'"taskId":"{self.given.get(name, name)}"')
        return b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (got.message["id"], result.encode())

    def records(self, name: str, count: int) -> list[tuple[str, str, str, Json]]:
        """Type, status, rule and place of a tool's records, which all belong to one call."""
        eventually(lambda: len(self.relevant(name)) >= count, f"{count} records of {name}")
        found = self.relevant(name)
        assert len({record.request_id for record in found}) == 1
        return [(r.type.value, r.status.value, r.rule, r.details.get("task")) for r in found]

    def flush(self) -> None:
        """Return once everything so far is on disk: records are written in order, and a refusal waits for its own."""
        assert self.gateway.call("unasked").is_error

    def relevant(self, name: str) -> list[Json]:
        return [r for r in read_records(self.gateway.state, tool=name) if r.type != "contract_change"]


@pytest.fixture(scope="module", params=["2025-11-25", "2026-07-28"])
def is_modern(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "2026-07-28")


@pytest.fixture(scope="module", params=ROUTES)
def here(request: pytest.FixtureRequest, is_modern: bool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    folder = tmp_path_factory.mktemp("tasks")
    calls, asked = script(is_modern=is_modern)
    stub = write_stub(folder, tools=[tool(name, None, TOTAL) for name in calls], answers=calls, methods=asked)
    with rig(request.param, stub, folder, server={"tools": POLICIES}, is_modern=is_modern) as gateway:
        yield Here(gateway, is_modern, is_shared=is_modern and request.param == "stdio")


def blocked(text: str, *, is_modern: bool) -> Json:
    plain = {"content": [{"type": "text", "text": text}], "isError": True}
    return {"resultType": "complete", **plain} if is_modern else plain


def compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))


CREATED = ("tool_call", "success", "", "created")
ENDED = ("tool_call", "success", "", "result")


# --- the result is judged --------------------------------------------------------------------------------------------


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(
    ("name", "records"),
    [
        ("right", [CREATED, ENDED]),
        ("firm", [CREATED, ENDED]),
        ("off", [CREATED, ENDED]),
        ("warn", [CREATED, ("policy_decision", "warning", "result.schema", None), ENDED]),
        ("is_error", [CREATED, ("tool_call", "error", "", "result")]),
        ("scalar", [CREATED, ENDED]),
    ],
)
def test_what_may_pass_arrives_byte_for_byte_and_is_recorded_beside_its_call(
    here: Here, name: str, records: list[tuple[str, str, str, Json]]
) -> None:
    began = here.start(name)
    assert began.raw == here.answer(began, name, handle(name, is_modern=here.is_modern))
    assert not here.is_shared or here.given[name].startswith("hf2.")
    got = here.fetch(name)
    result = RESULTS[name]
    wanted = with_result(name, result, is_modern=True) if here.is_modern else result
    assert got.raw == here.answer(got, name, wanted)
    assert here.records(name, len(records)) == records


@pytest.mark.requirement("P2")
@pytest.mark.requirement("D19")
def test_a_blocked_result_is_blocked_at_every_poll_and_recorded_once(here: Here) -> None:
    here.start("strict")
    text = blocked_text("strict", WRONG_REASON)
    error = blocked(text, is_modern=here.is_modern)
    polls = [here.fetch("strict") for _ in range(10)]
    if here.is_modern:
        # Around the result not a byte is touched.
        wanted = with_result("strict", compact(error), is_modern=True)
        assert [got.raw for got in polls] == [here.answer(got, "strict", wanted) for got in polls]
    else:
        assert [got.result for got in polls] == [{**error, "_meta": RELATED}] * 10
    stopped = here.ask("tasks/cancel", "strict")
    assert stopped.result["result"] == error
    assert here.records("strict", 3) == [
        CREATED,
        ("policy_decision", "blocked", "result.schema", None),
        ("tool_call", "blocked", "result.schema", "result"),
    ]
    _, decision, ended = here.relevant("strict")
    assert (decision.reason, ended.reason, ended.mode) == (WRONG_REASON, WRONG_REASON, "strict")
    assert ended.details["result_bytes"] > len(structured(WRONG))


@pytest.mark.requirement("P2")
def test_a_result_counts_wherever_it_stands_and_whatever_the_status_says(here: Here) -> None:
    here.start("hidden")
    text = blocked_text("hidden", WRONG_REASON)
    got = here.ask("tasks/get", "hidden")
    error = compact(blocked(text, is_modern=here.is_modern))
    assert got.raw == here.answer(got, "hidden", with_result("hidden", error, "working", is_modern=here.is_modern))


@pytest.mark.requirement("D19")
def test_the_result_of_a_task_cannot_be_a_task_that_nobody_judges(here: Here) -> None:
    here.start("disguised")
    got = here.fetch("disguised").result
    assert (got["result"] if here.is_modern else got)["isError"] is True


@pytest.mark.requirement("B2")
def test_a_result_that_two_readers_take_differently_is_blocked_in_every_mode(here: Here) -> None:
    here.start("twins")
    got = here.fetch("twins").result
    text = blocked_text("twins", "the structured content is ambiguous: a key occurs twice")
    assert (got["result"] if here.is_modern else got)["content"] == [{"type": "text", "text": text}]
    assert here.records("twins", 3)[1:] == [
        ("policy_decision", "blocked", "result.ambiguous", None),
        ("tool_call", "blocked", "result.ambiguous", "result"),
    ]


@pytest.mark.requirement("B2")
def test_a_task_that_two_readers_take_differently_is_refused(here: Here) -> None:
    here.start("strict")
    error = here.ask("tasks/update", "strict").message["error"]
    assert error == {"code": -31001, "message": "The server's answer could not be used: a key occurs twice."}
    found = eventually(lambda: read_records(here.gateway.state, rule="message.ambiguous"), "a diagnostic")
    assert (found[0].type, found[0].status) == ("diagnostic", "blocked")


# --- how tasks end without a result ----------------------------------------------------------------------------------


@pytest.mark.requirement("P2")
@pytest.mark.parametrize(("name", "status"), [("failed", "error"), ("cancelled", "cancelled")])
def test_a_task_that_failed_or_was_cancelled_is_on_record_once(here: Here, name: str, status: str) -> None:
    here.start(name)
    for _ in range(3):
        assert here.ask("tasks/get", name).result["status"] == name
    if name == "cancelled":
        assert here.ask("tasks/result", name).message["error"]["message"] == "cancelled"
    here.flush()
    assert here.records(name, 2) == [CREATED, ("tool_call", status, "", "result")]


@pytest.mark.requirement("P2")
def test_an_error_in_place_of_the_result_ends_the_task(here: Here) -> None:
    here.start("refused")
    for _ in range(2):
        assert here.ask("tasks/result", "refused").message["error"] == {"code": -32603, "message": "broke"}
    here.flush()
    assert here.records("refused", 2) == [CREATED, ("tool_call", "error", "", "result")]


@pytest.mark.requirement("P2")
def test_a_result_after_a_failure_is_judged_and_recorded_all_the_same(here: Here) -> None:
    here.start("liar")
    assert here.ask("tasks/get", "liar").result["status"] == "failed"
    assert here.ask("tasks/result", "liar").text == blocked_text("liar", WRONG_REASON)
    assert here.records("liar", 4) == [
        CREATED,
        ("tool_call", "error", "", "result"),
        ("policy_decision", "blocked", "result.schema", None),
        ("tool_call", "blocked", "result.schema", "result"),
    ]


def test_a_poll_that_hears_nothing_new_passes_and_leaves_no_record(here: Here) -> None:
    here.start("busy")
    got = here.ask("tasks/get", "busy")
    assert got.raw == here.answer(got, "busy", state("busy", "working", is_modern=here.is_modern))
    here.start("gone")
    assert here.ask("tasks/get", "gone").message["error"]["code"] == -32602
    here.flush()
    assert [here.records(name, 1) for name in ("busy", "gone")] == [[CREATED], [CREATED]]


# --- what is no task -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P2")
def test_a_result_whose_tool_is_unknown_passes_and_is_told_of_once(here: Here) -> None:
    if here.is_shared:  # nobody was given it
        assert here.fetch("unheard").message["error"]["code"] == -32602
        return
    for _ in range(3):
        got = here.fetch("unheard")
        wanted = with_result("unheard", RESULTS["unheard"], is_modern=True) if here.is_modern else RESULTS["unheard"]
        assert got.raw == here.answer(got, "unheard", wanted)
    here.flush()
    (told,) = eventually(lambda: read_records(here.gateway.state, rule="contract.unknown"), "a diagnostic")
    assert (told.type, told.status, told.tool) == ("diagnostic", "warning", "")


@pytest.mark.requirement("D19")
def test_a_result_that_also_mentions_a_task_is_judged_at_once(here: Here) -> None:
    assert here.start("both").text == blocked_text("both", WRONG_REASON)


@pytest.mark.requirement("D19")
def test_a_task_that_nobody_asked_for_does_not_stand_for_a_result(here: Here) -> None:
    missing = "the tool declares an output schema but sent no structured content"
    assert here.gateway.call("unasked").text == blocked_text("unasked", missing)


@given(st.text(), st.text(), st.booleans(), st.booleans())
def test_only_a_task_is_taken_for_one(task_id: str, other: str, has_content: bool, is_modern: bool) -> None:
    task = {"taskId": task_id, "other": other}
    more: Json = {"structuredContent": {}} if has_content else {}

    def created(result: Json) -> list[Members]:
        return created_tasks(read_level(msgspec.json.encode(result)), is_modern=is_modern)

    assert created({"task": task, **more}) == [read_level(msgspec.json.encode(task))]
    assert created({"task": other, **more}) == []
    flat = {"resultType": "task", **task, **more}
    expected = [read_level(msgspec.json.encode(flat))] if is_modern else []  # a legacy client knows no resultType
    assert created(flat) == expected


# --- notifications ---------------------------------------------------------------------------------------------------


def notice(method: str, task: str) -> bytes:
    return f'{{"jsonrpc":"2.0","method":"{method}", "params":{task}}}'.encode()


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("method", ["notifications/tasks", "notifications/tasks/status"])
@pytest.mark.parametrize("route", ["wrap", "stdio", "http-sse"])  # a body of JSON has no room for a notification
def test_a_result_in_a_notification_is_judged(route: Route, method: str, tmp_path: Path) -> None:
    told = with_result("pushed", structured(WRONG), is_modern=False)
    fine = with_result("fine", structured(RIGHT), is_modern=False)
    twin = '{"taskId":"pushed","result":{},"result":{}}'
    calls = {name: answer(handle(name, is_modern=False)) for name in ("pushed", "fine")}
    asked = {f"tasks/get {n}": answer("{}", aside=notice(method, t)) for n, t in enumerate([told, told, fine, twin])}
    stub = write_stub(tmp_path, tools=[tool(name, None, TOTAL) for name in calls], answers=calls, methods=asked)
    with rig(route, stub, tmp_path, STRICT, server={"isolation": "session"}) as gateway:
        here = Here(gateway, is_modern=False)
        here.start("pushed")
        here.start("fine")
        for number in range(4):
            gateway.request("tasks/get", {"taskId": str(number)})
        while isinstance(gateway, WrapGateway) and len(gateway.strays) < 3:
            gateway.strays.append(gateway.read_line())  # what waits for its record may come after the next answer
    error = compact(blocked(blocked_text("pushed", WRONG_REASON), is_modern=method == "notifications/tasks"))
    replaced = notice(method, with_result("pushed", error, is_modern=False))
    assert sorted(gateway.strays) == sorted([replaced, replaced, notice(method, fine)])
    assert here.records("pushed", 3)[1:] == [
        ("policy_decision", "blocked", "result.schema", None),
        ("tool_call", "blocked", "result.schema", "result"),
    ]
    assert here.records("fine", 2) == [CREATED, ENDED]


# --- restarts --------------------------------------------------------------------------------------------------------


def long_lived(stub: Stub, route: Route) -> AbstractContextManager[str | None]:
    """A server that outlives the gateway; over stdio each gateway starts its own."""
    return serving(stub, route) if route in ("http-json", "http-sse") else nullcontext(None)


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("route", ROUTES)
def test_a_result_that_comes_after_a_restart_is_judged_by_what_was_promised_at_the_call(
    route: Route, is_modern: bool, tmp_path: Path
) -> None:
    """Three gateways on one state folder; the second hears of a tool that promises nothing, the third may only warn."""
    calls, asked = script(is_modern=is_modern)
    lists: list[Raw] = [{"tools": [tool("strict", None, schema)]} for schema in (TOTAL, None, None)]
    answers = [answer(each) for each in lists]
    given: dict[str, str] = {}
    stub = write_stub(tmp_path, answers=calls, methods={**asked, "tools/list": answers})
    polls = []
    with long_lived(stub, route) as url:
        for start, mode in enumerate(["strict", "strict", "warn"]):
            if url is None:
                write_stub(tmp_path, answers=calls, methods={**asked, "tools/list": answers[start]})
            with rig(route, stub, tmp_path, {"output_validation": {"mode": mode}}, url=url, is_modern=is_modern) as up:
                here = Here(up, is_modern, is_shared=is_modern and route == "stdio", given=given)
                if start == 0:
                    here.start("strict")
                else:
                    up.list_tools()
                    polls.append([here.fetch("strict") for _ in range(2)])
    if here.is_shared:  # each gateway has a process of its own, and an id is good for the process that gave it
        assert [poll.message["error"]["code"] for pair in polls for poll in pair] == [-32602] * 4
        return
    second, third = ([poll.result["result"] if is_modern else poll.result for poll in pair] for pair in polls)
    assert [result["isError"] for result in second] == [True, True]
    assert third == [json.loads(structured(WRONG))] * 2
    assert here.records("strict", 5) == [
        CREATED,
        ("policy_decision", "blocked", "result.schema", None),
        ("tool_call", "blocked", "result.schema", "result"),
        ("policy_decision", "warning", "result.schema", None),
        ENDED,
    ]
    decisions = [record.details.get("contract") for record in here.relevant("strict") if record.type != "tool_call"]
    assert len(set(decisions)) == 1


@pytest.mark.requirement("P2")
def test_what_is_on_record_stays_so_after_a_restart(tmp_path: Path) -> None:
    calls, asked = script(is_modern=True)
    stub = write_stub(tmp_path, tools=[tool("strict", None, TOTAL)], answers=calls, methods=asked)
    for start in range(2):
        with rig("wrap", stub, tmp_path, STRICT, is_modern=True) as gateway:
            here = Here(gateway, is_modern=True)
            if start == 0:
                here.start("strict")
            assert here.fetch("strict").result["result"]["isError"] is True
            gateway.call("right")  # records are written in order: had there been another, it would be there now
    assert len(here.records("strict", 3)) == 3


DAY = 86_400
KEPT = {  # what a server says of how long, and how long handfast goes by it
    "absent": ("", 30 * DAY),
    "null": (',"ttl":null', 30 * DAY),
    "no_number": (',"ttl":"long"', 30 * DAY),
    "endless": (',"ttl":1e400', 30 * DAY),
    "a_minute": (',"ttl":60000', 7 * DAY),
    "negative": (',"ttl":-1', 7 * DAY),
    "ten_days": (',"ttl":864000000', 10 * DAY),
    "a_year": (',"ttl":31536000000', 30 * DAY),
}


@pytest.mark.requirement("P2")
def test_a_task_is_kept_for_as_long_as_the_server_says_within_bounds(tmp_path: Path) -> None:
    calls = {name: answer(f'{{"task":{{"taskId":"{name}"{ttl}}}}}') for name, (ttl, _) in KEPT.items()}
    stub = write_stub(tmp_path, tools=[tool(name) for name in calls], answers=calls)
    with rig("wrap", stub, tmp_path) as gateway:
        for name in calls:
            Here(gateway, is_modern=False).start(name)
    with closing(sqlite3.connect(gateway.state / "catalog.db")) as catalog:
        found = dict(catalog.execute("SELECT tool, round(expires - created) FROM tasks"))
    assert found == {name: seconds for name, (_, seconds) in KEPT.items()}
