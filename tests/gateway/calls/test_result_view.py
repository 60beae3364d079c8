"""What the rules see of a result: by its members, at every level of a task."""

import json

import pytest

from handfast.core.call.result import ResultView
from handfast.gateway.calls.result_view import results_in_task, view_result
from handfast.wire.message import AmbiguousKeys, Members, read_level
from tests.contracts.rig import Json

NOTHING: Json = {"content": []}
ONE: Json = {"structuredContent": 1}


def level(value: Json) -> Members:
    return read_level(json.dumps(value).encode())


@pytest.mark.requirement("D15")
@pytest.mark.parametrize("kind", ["complete", "task", "input_required"])
def test_presence_is_by_key_whatever_the_kind(kind: str) -> None:
    assert view_result(level({"resultType": kind, "structuredContent": None}), 7).structured == b"null"
    assert view_result(level({"resultType": kind}), 7).structured is None


@pytest.mark.requirement("D19")
@pytest.mark.parametrize(
    ("kind", "is_final"),
    [
        (b'"complete"', True),
        (b'"task"', False),
        (b'"t\\u0061sk"', False),
        (b'"input_required"', False),
        (b'"Task"', True),
        (b"null", True),
        (b"1", True),
        (b'["task"]', True),
    ],
)
def test_the_kind_is_read_as_clients_read_it(kind: bytes, is_final: bool) -> None:
    members = read_level(b'{"resultType":' + kind + b"}")
    assert view_result(members, 0) == ResultView(None, is_final=is_final)
    assert view_result(members, 0, is_modern=False) == ResultView(None)


@pytest.mark.requirement("S5")
@pytest.mark.parametrize(
    ("task", "found"),
    [
        ({"status": "working"}, []),
        ({"result": NOTHING}, [None]),
        ({"result": 1}, [None]),
        ({"result": ONE}, [b"1"]),
        ({**ONE, "result": {"structuredContent": 2}}, [b"1", b"2"]),
        ({"task": {**ONE, "result": {"structuredContent": 2}}}, [b"1", b"2"]),
        ({"task": {"status": "working"}}, []),
        ({"result": {"content": [], "result": ONE}}, [None, b"1"]),
        ({"task": 1}, []),
    ],
)
def test_every_result_in_a_task_is_found(task: Json, found: list[bytes | None]) -> None:
    assert [view.structured for view in results_in_task(level(task), 0)] == found


def test_a_level_that_two_readers_take_differently_is_not_guessed() -> None:
    with pytest.raises(AmbiguousKeys):
        results_in_task(read_level(b'{"task":{"result":{"isError":true,"isError":false}}}'), 0)
