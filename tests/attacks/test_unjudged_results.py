"""Results that try to reach the client without being judged."""

import json
from functools import partial
from pathlib import Path

import pytest

from handfast.gateway.translate.backend import Backend
from tests.contracts.rig import ROUTES, Route, rig
from tests.gateway.running import eventually, read_records, running
from tests.gateway.translate.servers.asking import LEGACY, MODERN, WAYS, Asker, Json, Way, asking, entry_for
from tests.stubs.run import Stub, answer, tool, write_stub

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
BAD: Json = {"content": [], "structuredContent": {"n": "one"}}
STRICT: Json = {"output_validation": {"mode": "strict"}}
DISGUISES: dict[str, Json] = {
    "input_required": {"resultType": "input_required", "requestState": "x"},
    "task": {"resultType": "task", "taskId": "1", "task": {"taskId": "1", "status": "working"}},
}


def disguised(folder: Path) -> Stub:
    """A legacy server whose results say of themselves that they are none."""
    answers = {name: answer({**BAD, **disguise}) for name, disguise in DISGUISES.items()}
    return write_stub(folder, tools=[tool(name, NUMBER, NUMBER) for name in answers], answers=answers, versions=LEGACY)


@pytest.mark.parametrize("way", WAYS)
def test_a_word_of_the_modern_revision_hides_no_result_from_a_legacy_client(tmp_path: Path, way: Way) -> None:
    with entry_for(disguised(tmp_path), way) as entry, running({"up": entry}, tmp_path, **STRICT) as gateway:
        for path in ("/mcp/up", "/mcp"):
            client = gateway.client(opens=False)
            client.path = path
            client.open()
            for name in DISGUISES:
                tool_name = name if path == "/mcp/up" else f"up__{name}"
                reply = client.call(tool_name, {"n": 1})
                assert b'"one"' not in reply.raw, (path, name)
                reply = client.exchange(
                    json.dumps(
                        client.render("tools/call", {"name": tool_name, "arguments": {"n": 1}, "task": {"ttl": 1000}})
                    ).encode()
                )
                assert b'"one"' not in reply.raw, (path, name, "asked for a task")


@pytest.mark.parametrize("way", WAYS)
def test_a_word_of_the_modern_revision_hides_no_result_behind_the_bridge(tmp_path: Path, way: Way) -> None:
    async def work(backend: Backend) -> None:
        for name in DISGUISES:
            result = (await Asker(backend).call(name, {"n": 1}))["result"]
            assert (result["resultType"], result.get("isError")) == ("complete", True)
            assert "structuredContent" not in result

    with entry_for(disguised(tmp_path), way) as entry:
        asking(entry, tmp_path, work, STRICT)


# --- what carries structured content is a result, whatever it says that it is ----------------------------------------

TASK: Json = {"taskId": "1", "status": "working", "createdAt": "x", "lastUpdatedAt": "x", "ttlMs": 60000}
SPELLINGS: dict[str, str] = {
    "input_required": json.dumps({"resultType": "input_required", "requestState": "x", **BAD}),
    "with_questions": json.dumps(
        {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}, **BAD}
    ),
    "task": json.dumps({"resultType": "task", **TASK, **BAD}),
    "finished_task": json.dumps({"resultType": "task", **TASK, "status": "completed", **BAD}),
    "task_with_result": json.dumps({"resultType": "task", **TASK, "result": BAD}),
    "task_in_task": json.dumps({"resultType": "task", **TASK, "task": {**TASK, "result": BAD}}),
    "both_levels": json.dumps({"resultType": "task", **TASK, "structuredContent": {"n": 1}, "result": BAD}),
    "no_id": json.dumps({"resultType": "task", "result": BAD}),
    "null": json.dumps(
        {"resultType": "task", **TASK, "content": [{"type": "text", "text": "one"}], "structuredContent": None}
    ),
    "escaped": json.dumps({"resultType": "task", **TASK, **BAD}).replace("task", "t\\u0061sk", 1),
    "unknown": json.dumps({"resultType": "other", **BAD}),
}


def modern_stub(folder: Path, versions: list[str] = MODERN) -> Stub:
    answers = {name: answer(text) for name, text in SPELLINGS.items()}
    return write_stub(folder, tools=[tool(name, None, NUMBER) for name in answers], answers=answers, versions=versions)


def is_blocked(state: Path, name: str) -> bool:
    calls = read_records(state, type="tool_call", tool=name)
    return [(record.status.value, record.rule) for record in calls] == [("blocked", "result.schema")]


@pytest.mark.requirement("S5")
@pytest.mark.requirement("D19")
@pytest.mark.parametrize("route", ROUTES)
def test_structured_content_is_judged_whatever_the_result_says_it_is(tmp_path: Path, route: Route) -> None:
    with rig(route, modern_stub(tmp_path), tmp_path, STRICT, is_modern=True) as gateway:
        for name in SPELLINGS:
            reply = gateway.call(name)
            assert reply.is_error, name
            assert b'"one"' not in reply.raw, name
        eventually(lambda: all(map(partial(is_blocked, gateway.state), SPELLINGS)), "a record of each")


@pytest.mark.requirement("S5")
@pytest.mark.parametrize("is_modern", [False, True], ids=["legacy client", "modern client"])
@pytest.mark.parametrize("way", WAYS)
def test_structured_content_is_judged_behind_every_endpoint_and_bridge(
    tmp_path: Path, way: Way, is_modern: bool
) -> None:
    with entry_for(modern_stub(tmp_path), way) as entry:
        servers = {"up": entry, "compact": {**entry, "handfast": {"surface": "compact"}}}
        with running(servers, tmp_path, **STRICT) as gateway:
            for path in ("/mcp/up", "/mcp", "/mcp/compact"):
                client = gateway.client(is_modern=is_modern, opens=False)
                client.path = path
                client.open()
                for name in SPELLINGS:
                    if path == "/mcp/compact":
                        reply = client.call("compact", {"action": name, "arguments": {}})
                    else:
                        reply = client.call(name if path == "/mcp/up" else f"up__{name}")
                    assert b'"one"' not in reply.raw, (path, name)
            blocked = [record.tool for record in read_records(gateway.state, type="policy_decision")]
            assert {*SPELLINGS} <= {*blocked}


@pytest.mark.requirement("S5")
@pytest.mark.parametrize("route", ROUTES)
def test_a_legacy_answer_with_a_task_beside_its_structured_content_is_a_result(tmp_path: Path, route: Route) -> None:
    results = {
        "beside": {"task": {"taskId": "1"}, **BAD},
        "within": {"task": {"taskId": "1", "result": BAD}},
        "deeper": {"task": {"taskId": "1", **BAD}},
    }
    stub = write_stub(
        tmp_path,
        tools=[tool(name, None, NUMBER) for name in results],
        answers={name: answer(json.dumps(result)) for name, result in results.items()},
        versions=LEGACY,
    )
    with rig(route, stub, tmp_path, STRICT) as gateway:
        for name in results:
            reply = gateway.request("tools/call", {"name": name, "arguments": {}, "task": {"ttl": 1000}})
            assert (reply.is_error, b'"one"' in reply.raw) == (True, False), name


LATER: dict[str, str] = {
    "beside": json.dumps({"resultType": "complete", **TASK, **BAD}),
    "both": json.dumps(
        {"resultType": "complete", **TASK, "result": {"content": [], "structuredContent": {"n": 1}}, **BAD}
    ),
    "nested": json.dumps({"resultType": "complete", "task": {**TASK, "result": BAD}}),
    "nested_beside": json.dumps({"resultType": "complete", "task": {**TASK, **BAD}}),
    "deep": json.dumps({"resultType": "complete", **TASK, "result": {"content": [], "result": BAD}}),
    "error_beside": json.dumps({"resultType": "complete", **TASK, "isError": True, "result": BAD}),
}


@pytest.mark.requirement("S5")
@pytest.mark.parametrize("is_modern", [False, True], ids=["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("route", ROUTES)
def test_structured_content_is_judged_at_every_level_of_a_task(tmp_path: Path, route: Route, is_modern: bool) -> None:
    """The answer that made the task carried a right result too: such a task is remembered all the same."""
    right = {"content": [], "structuredContent": {"n": 1}}

    def created(name: str) -> str:
        task = {**TASK, "taskId": name}
        return json.dumps({"resultType": "task", **task, **right} if is_modern else {"task": task, **right})

    methods = {
        f"{method} {name}": answer(text) for name, text in LATER.items() for method in ("tasks/get", "tasks/cancel")
    }
    notes = {f"note_{name}": json.dumps({**json.loads(text), "taskId": name}) for name, text in LATER.items()}
    kind = "notifications/tasks" if is_modern else "notifications/tasks/status"
    answers: dict[str, object] = {name: answer(created(name)) for name in LATER}
    for name, note in notes.items():
        answers[name] = answer(right, aside=f'{{"jsonrpc":"2.0","method":"{kind}","params":{note}}}')
    stub = write_stub(tmp_path, tools=[tool(name, None, NUMBER) for name in answers], answers=answers, methods=methods)
    with rig(route, stub, tmp_path, STRICT, is_modern=is_modern) as gateway:
        for name in LATER:
            params: Json = {"name": name, "arguments": {}}
            first = gateway.request("tools/call", params if is_modern else {**params, "task": {"ttl": 1000}})
            assert first.result["structuredContent"] == {"n": 1}
            for method in ("tasks/get", "tasks/cancel"):
                later = gateway.request(method, {"taskId": first.result["taskId"] if is_modern else name})
                assert b'"one"' not in later.raw, (method, name)
                assert later.result["result"]["isError"] is True
            gateway.call(f"note_{name}")
        assert all(b'"one"' not in stray for stray in gateway.strays)
