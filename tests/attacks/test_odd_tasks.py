"""Tasks that a server makes so that their results would be nobody's: none of them reaches the client in strict."""

import json
from collections.abc import Iterator

import pytest

from tests.contracts.judged import TOTAL
from tests.contracts.rig import ROUTES, Gateway, Json, Route, rig
from tests.stubs.run import answer, tool, write_stub

pytestmark = pytest.mark.requirement("S5")

BAD = {"content": [], "structuredContent": {"total": "hidden"}}
CREATED: dict[str, Json] = {
    "fraction": {"task": {"taskId": 1.5, "status": "working"}},
    "list": {"task": {"taskId": [1], "status": "working"}},
    "surrogate": '{"task":{"taskId":"\\ud800x","status":"working"}}',
    "plain": {"task": {"taskId": "plain", "status": "working"}},
    "unasked": {"isError": True, "content": [], "task": {"taskId": "unasked", "status": "working"}},
    "inside": {"content": [], "structuredContent": {"total": 1}, "task": {"taskId": "x", "result": BAD}},
}
LISTED = {"tasks": [{"taskId": "plain", "status": "completed", "result": BAD}]}


@pytest.fixture(scope="module", params=ROUTES)
def gateway(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("tasks")
    route: Route = request.param
    methods = {"tasks/result": answer(BAD), "tasks/list": answer(LISTED)}
    answers = {name: answer(created) for name, created in CREATED.items()}
    tools = [tool(name, None, TOTAL) for name in CREATED]
    stub = write_stub(folder, tools=tools, answers=answers, methods=methods)
    with rig(route, stub, folder, {"output_validation": {"mode": "strict"}}) as running:
        yield running


def task_of(name: str) -> str:
    found = CREATED[name]
    task = json.loads(found)["task"] if isinstance(found, str) else found["task"]
    return json.dumps(task["taskId"])


@pytest.mark.parametrize("name", CREATED)
def test_no_result_of_such_a_task_reaches_the_client(gateway: Gateway, name: str) -> None:
    number = gateway.next_id()
    asked: Json = {} if name in ("unasked", "inside") else {"task": {}}
    call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": {}, **asked}}
    created = gateway.exchange(json.dumps(call).encode())
    number = gateway.next_id()
    text = f'{{"jsonrpc":"2.0","id":{number},"method":"tasks/result","params":{{"taskId":{task_of(name)}}}}}'
    later = gateway.exchange(text.encode())
    assert b"hidden" not in created.raw + later.raw


def test_a_list_of_tasks_carries_no_result_that_was_not_judged(gateway: Gateway) -> None:
    assert b"hidden" not in gateway.request("tasks/list").raw
