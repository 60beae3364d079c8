import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.callers.caller_ids import CallerIds, Foreign, SharedRequest
from handfast.gateway.callers.opaque import Seal
from handfast.wire.message import Message, read_message

pytestmark = pytest.mark.requirement("F2")

Json = Any  # Any: decoded JSON
IDS = CallerIds(Seal(b"of the state folder"), "up")
RELATED = "io.modelcontextprotocol/related-task"


def asked(
    method: str, caller: str = "ada", ids: CallerIds = IDS, process: str = "first", **params: Json
) -> SharedRequest:
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    return ids.ask(read_message(raw), lambda: (caller, process))


def params_of(request: SharedRequest) -> Json:
    return json.loads(request.asked.raw)["params"]


def answered(request: SharedRequest, result: Json) -> Json:
    found = read_message(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode())
    assert request.receive(found)
    return json.loads(found.raw)["result"]


def notified(request: SharedRequest, method: str, **params: Json) -> Json:
    found = read_message(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())
    return json.loads(found.raw)["params"] if request.receive(found) else None


def given_task(own: Json = "t1", caller: str = "ada", ids: CallerIds = IDS) -> Json:
    return answered(asked("tools/call", caller, ids), {"resultType": "task", "taskId": own})["taskId"]


@given(st.text() | st.integers(-(2**63), 2**64 - 1))
def test_an_id_comes_back_to_the_server_as_it_was(own: Json) -> None:
    assert params_of(asked("tasks/get", taskId=given_task(own))) == {"taskId": own}


@given(st.text())
def test_no_other_caller_server_or_gateway_takes_an_id(caller: str) -> None:
    public = given_task()
    elsewhere = CallerIds(Seal(b"of the state folder"), "down")
    other_key = CallerIds(Seal(b"of another"), "up")
    for ids in (IDS, elsewhere, other_key):
        if ids is not IDS or caller != "ada":
            with pytest.raises(Foreign):
                asked("tasks/get", caller, ids, taskId=public)


def test_no_other_process_takes_an_id_or_a_state() -> None:
    """Both may count, and then the same words mean what another caller was given."""
    state = answered(asked("tools/call", name="add"), {"resultType": "input_required", "requestState": "1"})
    for process in ("second", ""):
        with pytest.raises(Foreign):
            asked("tasks/get", process=process, taskId=given_task())
        with pytest.raises(Foreign):
            asked("tools/call", process=process, name="add", requestState=state["requestState"])


@pytest.mark.parametrize("odd", ["t1", "", None, 1, ["t1"], {"taskId": "t1"}, "hf2.", "hf2.AAAA"])
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel", "tasks/result", "tasks/else"])
def test_an_id_that_was_not_given_out_reaches_no_server(method: str, odd: Json) -> None:
    with pytest.raises(Foreign):
        asked(method, taskId=odd)


def test_a_list_of_tasks_is_refused_because_it_would_show_those_of_others() -> None:
    with pytest.raises(Foreign) as refused:
        asked("tasks/list")
    assert refused.value.code == -32601


def test_ids_are_the_callers_wherever_they_stand() -> None:
    public = given_task()
    related: Json = {"_meta": {RELATED: {"taskId": "t1"}}}
    mine: Json = {"_meta": {RELATED: {"taskId": public}}}
    call, poll = asked("tools/call"), asked("tasks/get", taskId=public)
    assert answered(call, {"task": {"taskId": "t1", "n": 1.0}}) == {"task": {"taskId": public, "n": 1.0}}
    assert answered(poll, {"taskId": "t1", **related}) == {"taskId": public, **mine}
    assert answered(call, {"content": [], "taskId": "t1"}) == {"content": [], "taskId": "t1"}  # not a task's
    assert notified(call, "notifications/tasks", taskId="t1") == {"taskId": public}
    assert notified(call, "notifications/message", **related) == mine
    assert params_of(asked("tools/call", **mine)) == related
    with pytest.raises(Foreign):
        asked("tools/call", **related)


def test_an_escape_in_a_name_hides_nothing() -> None:
    found = read_message(b'{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","task\\u0049d":"t1"}}')
    asked("tools/call").receive(found)
    assert json.loads(found.raw)["result"]["taskId"] == given_task()


@given(st.text())
def test_a_state_is_good_for_the_request_that_it_was_given_for(state: str) -> None:
    call = asked("tools/call", name="pay")
    public = answered(call, {"resultType": "input_required", "requestState": state})["requestState"]
    assert params_of(asked("tools/call", name="pay", requestState=public))["requestState"] == state
    for method, caller, name in (
        ("tools/call", "ada", "get"),
        ("prompts/get", "ada", "pay"),
        ("tools/call", "bob", "pay"),
    ):
        with pytest.raises(Foreign):
            asked(method, caller, name=name, requestState=public)


@pytest.mark.parametrize("odd", ["", "s", 1, [], {}, True])
def test_a_state_that_was_not_given_out_reaches_no_server(odd: Json) -> None:
    with pytest.raises(Foreign):
        asked("tools/call", name="pay", requestState=odd)


def test_a_plain_result_and_a_request_without_either_are_left_as_they_are() -> None:
    message = read_message(
        b'{"jsonrpc":"2.0", "id":1,"method":"tools/call","params":{"name":"a", "requestState":null}}'
    )
    request = IDS.ask(message, _nobody)
    found = read_message(b'{"jsonrpc":"2.0","id":1, "result":{"requestState" : "s", "resultType":"complete"}}')
    before = found.raw
    assert request.receive(found)
    assert (request.asked, found.raw) == (message, before)


def _nobody() -> tuple[str, ...]:
    raise AssertionError("the caller matters to nothing here")


def test_a_subscription_is_for_the_callers_own_tasks_and_hears_of_no_others() -> None:
    public = given_task()
    listen = asked("subscriptions/listen", notifications={"taskIds": [public], "toolsListChanged": True})
    assert params_of(listen) == {"notifications": {"taskIds": ["t1"], "toolsListChanged": True}}
    acknowledged = notified(listen, "notifications/subscriptions/acknowledged", notifications={"taskIds": ["t1"]})
    assert acknowledged == {"notifications": {"taskIds": [public]}}
    assert notified(listen, "notifications/tasks", taskId="t1") == {"taskId": public}
    assert notified(listen, "notifications/tasks", taskId="t2") is None
    for odd in ("t1", given_task(caller="bob")):
        with pytest.raises(Foreign):
            asked("subscriptions/listen", notifications={"taskIds": [public, odd]})


@pytest.mark.parametrize("wanted", ['"taskIds":"t1"', '"taskIds":{"a":"t1"}', '"taskIds":[],"TaskIds":["t1"]'])
def test_a_filter_that_another_reader_could_take_for_one_brings_nothing(wanted: str) -> None:
    raw = f'{{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{{"notifications":{{{wanted}}}}}}}'
    listen = IDS.ask(read_message(raw.encode()), lambda: ("ada",))
    assert notified(listen, "notifications/tasks", taskId="t1") is None


def test_what_can_be_read_in_two_ways_is_left_to_those_who_refuse_it() -> None:
    call = asked("tools/call")
    answer = read_message(b'{"jsonrpc":"2.0","id":1,"result":{"taskId":"t1","taskId":"t2","resultType":"task"}}')
    notice = read_message(b'{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"t1","taskId":"t2"}}')
    before: list[Message] = [answer]
    assert (call.receive(answer), call.receive(notice)) == (True, False)
    assert before == [answer]
