"""Servers that count their tasks give the same id to several callers: each is judged and recorded as its own."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.attacks.test_shared_process import Caller
from tests.contracts.rig import Answer, Gateway, Json
from tests.gateway.running import eventually, read_records, running, stdio, wrapping
from tests.gateway.translate.servers.asking import entry_for
from tests.stubs.run import Stub, answer, tool, write_stub

pytestmark = [pytest.mark.requirement("F2"), pytest.mark.requirement("P2")]

STRICT: Json = {"mode": "strict"}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TEXT = {"type": "object", "properties": {"t": {"type": "string"}}, "required": ["t"]}
RESULT = '{"content":[],"structuredContent":{"n":1}}'
# Each caller has a process, or a session, of its own at these. Where callers share one, ids are keyed to the caller.
PLACES = ["wrap", "stdio", "http-json", "http-sse", "http-json modern", "http-sse modern", "alone modern", "alone#mcp"]


def counting(folder: Path) -> Stub:
    task = '"taskId":"task-1","status":"working","ttl":60000'
    calls, lost = (
        answer(f'{{"resultType":"task",{made},"task":{{{made}}}}}') for made in (task, task.replace("-1", "-2"))
    )
    got = answer(f'{{"resultType":"complete","taskId":"task-1","status":"completed","result":{RESULT}}}')
    return write_stub(
        folder,
        tools=[tool("number", None, NUMBER), tool("text", None, TEXT), tool("lost")],
        answers={"number": calls, "text": calls, "lost": lost},
        methods={
            "tasks/result task-1": answer(RESULT),
            "tasks/get task-1": got,
            "tasks/result task-2": answer(error='{"code":-32602,"message":"no such task"}'),
        },
        capabilities={"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}},
    )


@contextmanager
def two_callers(place: str, stub: Stub, folder: Path) -> Iterator[tuple[Gateway, Gateway]]:
    with ExitStack() as stack:
        if place == "wrap":
            command = [stub.command[0], *stub.command[1:]]
            one, other = (stack.enter_context(wrapping(command, folder, output_validation=STRICT)) for _ in range(2))
            yield one, other
            return
        way, _, era = place.partition(" ")
        if way.startswith("http"):
            entry = stack.enter_context(entry_for(stub, way))  # type: ignore[arg-type]  # one of WAYS
        else:
            entry = stdio(stub, handfast={"isolation": "session"} if way.startswith("alone") else {})
        gateway = stack.enter_context(running({"up": entry}, folder, output_validation=STRICT))
        path = "/mcp#up" if "#mcp" in place else "/mcp/up"
        callers = [Caller(gateway, path, name, is_modern=era == "modern" or "#" in place) for name in ("one", "two")]
        for caller in callers:
            caller.open()
        yield callers[0], callers[1]


def start(caller: Gateway, name: str) -> str:
    prefix = "up__" if getattr(caller, "prefix", "") else ""
    params: Json = {"name": prefix + name, "arguments": {}}
    began = caller.request("tools/call", params if caller.is_modern else {**params, "task": {}}).result
    return str(began["taskId"] if caller.is_modern else began["task"]["taskId"])


def fetch(caller: Gateway, task: str) -> Answer:
    return caller.request("tasks/get" if caller.is_modern else "tasks/result", {"taskId": task})


def result_of(got: Answer) -> Json:
    return got.result.get("result", got.result)


def results_on_record(state: Path, tool_name: str) -> list[str]:
    found = read_records(state, type="tool_call", tool=tool_name)
    return [record.status.value for record in found if record.details.get("task") == "result"]


@pytest.mark.parametrize("place", PLACES)
def test_each_result_is_judged_by_the_callers_own_tool_and_recorded_as_its_own(tmp_path: Path, place: str) -> None:
    with two_callers(place, counting(tmp_path), tmp_path) as (one, two):
        mine, theirs = start(one, "number"), start(two, "text")
        for _ in range(2):
            assert result_of(fetch(one, mine))["structuredContent"] == {"n": 1}
            assert result_of(fetch(two, theirs))["isError"] is True
        eventually(lambda: results_on_record(one.state, "number"), "the result of mine")
        assert results_on_record(one.state, "number") == ["success"]
        assert results_on_record(one.state, "text") == ["blocked"]


@pytest.mark.parametrize("place", ["wrap", "stdio", "http-json", "http-sse"])
def test_two_calls_of_one_tool_have_two_results_on_record(tmp_path: Path, place: str) -> None:
    with two_callers(place, counting(tmp_path), tmp_path) as (one, two):
        for caller, task in [(one, start(one, "number")), (two, start(two, "number"))]:
            assert result_of(fetch(caller, task))["structuredContent"] == {"n": 1}
        eventually(lambda: len(results_on_record(one.state, "number")) == 2, "two results")
        calls = read_records(one.state, type="tool_call", tool="number")
        assert len({record.request_id for record in calls}) == 2


@pytest.mark.parametrize("place", ["wrap", "stdio", "http-json", "http-sse"])
def test_a_caller_without_such_a_task_ends_no_task_of_another(tmp_path: Path, place: str) -> None:
    with two_callers(place, counting(tmp_path), tmp_path) as (one, two):
        task = start(one, "lost")
        assert "error" in fetch(two, task).message
        start(two, "text")
        fetch(two, "task-1")  # records are written in order: had there been another, it would be there now
        assert results_on_record(one.state, "lost") == []
        assert "error" in fetch(one, task).message
        eventually(lambda: results_on_record(one.state, "lost") == ["error"], "the end of mine")


@pytest.mark.requirement("F7")
@pytest.mark.parametrize("place", ["stdio", "http-json", "http-json modern", "shared modern", "shared#mcp"])
def test_tasks_are_counted_by_caller(tmp_path: Path, place: str) -> None:
    with two_callers(place, counting(tmp_path), tmp_path) as (one, two):
        for caller, name in ((one, "number"), (one, "lost"), (two, "number")):
            start(caller, name)
        with closing(sqlite3.connect(one.state / "catalog.db")) as catalog:
            found = catalog.execute("SELECT COUNT(*) FROM tasks GROUP BY holder ORDER BY 1").fetchall()
        assert found == [(1,), (2,)]
