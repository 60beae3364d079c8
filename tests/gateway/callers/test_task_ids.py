"""Task ids: wrapped wherever they appear, and only there."""

import json
from collections.abc import Mapping

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from handfast.gateway.callers.task_ids import TaskIds
from handfast.wire.members import level_of
from handfast.wire.message import read_message
from handfast.wire.splice import replace_values
from tests.gateway.translate.combined.scripted import SEAL

Json = Mapping[str, object]
IDS = TaskIds(SEAL, "me")
RELATED = "io.modelcontextprotocol/related-task"


def _answered(result: Json, method: str) -> Json:
    raw = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": result})
    edits = IDS.answer_edits(level_of(msgspec.json.encode(result)), method, "s")
    return json.loads(replace_values(raw, edits) if edits else raw)["result"]  # type: ignore[no-any-return]  # JSON


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_an_id_comes_back_with_its_server(server: str, own: str) -> None:
    assert IDS.unwrap(IDS.wrap(server, own)) == (server, own)


def test_ids_are_wrapped_in_tasks_and_in_answers_about_them() -> None:
    wrapped = IDS.wrap("s", "t1")
    task = {"resultType": "task", "taskId": "t1", "status": "working"}
    assert _answered(task, "tools/call") == {**task, "taskId": wrapped}
    got = {"resultType": "complete", "taskId": "t1", "status": "completed", "result": {"taskId": "t1"}}
    assert _answered(got, "tasks/get") == {**got, "taskId": wrapped}
    related = {"content": [], "_meta": {RELATED: {"taskId": "t1"}}}
    assert _answered(related, "tools/call") == {"content": [], "_meta": {RELATED: {"taskId": wrapped}}}


def test_a_tools_own_word_for_something_else_is_left_alone() -> None:
    result = {"resultType": "complete", "content": [], "taskId": "mine", "structuredContent": {"taskId": "mine"}}
    assert _answered(result, "tools/call") == result


def test_notifications_about_tasks_have_the_wrapped_id_and_others_keep_their_bytes() -> None:
    about = b'{"jsonrpc":"2.0","method":"notifications/tasks","params":{ "taskId":"t1","status":"working"}}'
    assert IDS.wrap_in_notification(about, read_message(about), "s") == about.replace(
        b'"t1"', b'"%s"' % IDS.wrap("s", "t1").encode()
    )
    other = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":{"taskId":"t1"}}}'
    assert IDS.wrap_in_notification(other, read_message(other), "s") == other
