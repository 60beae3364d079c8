"""Schemas of our own are tried in a worker before they are served."""

import json

import pytest

from handfast.core.schema.compiled import CompiledSchema, compile_schema
from handfast.slow_lane import trial
from handfast.slow_lane.trial import find_refusals
from tests.slow_lane.test_client import HEALTHY, LOOK_AHEAD, SLOW_TO_COMPILE, TOO_LARGE

TOO_LATE = "The schema takes too long to compile."
TOO_BIG = "The pattern at #/allOf/1/pattern is too large."


@pytest.mark.requirement("S3")
def test_each_schema_that_the_worker_refuses_is_found_with_its_reason() -> None:
    asked = [LOOK_AHEAD, TOO_LARGE, HEALTHY, SLOW_TO_COMPILE, HEALTHY, TOO_LARGE]
    assert list(find_refusals(asked)) == [(TOO_LARGE, TOO_BIG), (SLOW_TO_COMPILE, TOO_LATE), (TOO_LARGE, TOO_BIG)]


def test_nothing_is_started_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "WORKER", ("no such program",))
    assert list(find_refusals([])) == []


def test_without_a_worker_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for command in (("no such program",), ("false",)):
        monkeypatch.setattr(trial, "WORKER", command)
        assert list(find_refusals([TOO_LARGE, HEALTHY])) == []


def test_a_schema_that_is_slow_to_judge_can_still_be_compiled() -> None:
    slow = compile_schema(json.dumps({"pattern": "^(?!x)"}).encode())
    assert isinstance(slow, CompiledSchema)
    assert list(find_refusals([slow, HEALTHY])) == []
