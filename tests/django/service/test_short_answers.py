"""Lean answers: what is told of a large row, when, and that the declared schema holds for it."""

from typing import Any

import jsonschema_rs
import pytest

from handfast.django.conf import LeanWrites
from handfast.django.discovery import ViewTool, survey
from handfast.django.service.short_answers import LeanForm, lean_form

ROW = {
    "id": 1,
    "email": "a@example.com",
    "first_name": "A",
    "last_name": "",
    "notes": "n" * 3000,
    "status": "new",
    "full_name": "A",
    "created": "2026-01-01T00:00:00Z",
}
SENT = {"email": "a@example.com", "notes": "n" * 3000}


@pytest.fixture(scope="module")
def tools() -> dict[str, ViewTool]:
    return {tool.name: tool for tool in survey().tools}


def form(tools: dict[str, ViewTool], when: LeanWrites, name: str = "contacts__create") -> LeanForm:
    made = lean_form(tools[name], when, 1000)
    assert made is not None
    return made


def test_a_small_row_is_told_whole_and_a_large_one_by_its_key_and_what_was_short_and_sent(
    tools: dict[str, ViewTool],
) -> None:
    lean = form(tools, "large")
    small = {**ROW, "notes": "n"}
    assert lean.of(small, SENT) == small
    assert lean.of(ROW, SENT) == {"id": 1, "email": "a@example.com"}
    assert form(tools, "always").of(small, SENT) == {"id": 1, "email": "a@example.com", "notes": "n"}


def test_a_list_is_told_whole_or_lean(tools: dict[str, ViewTool]) -> None:
    lean = form(tools, "large")
    small: list[Any] = [{**ROW, "notes": "n"}]
    assert lean.of_each(small, [SENT]) == small
    assert lean.of_each(small * 9, [{}] * 9) == [{"id": 1}] * 9


def test_what_is_declared_holds_for_both(tools: dict[str, ViewTool]) -> None:
    lean = form(tools, "large")
    schema = jsonschema_rs.validator_for(dict(lean.output_schema))
    assert schema.is_valid(lean.of(ROW, SENT))
    assert not schema.is_valid({"email": "a@example.com"})


def test_answers_that_are_no_rows_are_left_alone(tools: dict[str, ViewTool]) -> None:
    lean = form(tools, "always")
    for answer in (None, [1], "text", {"detail": "n" * 2000}):
        assert lean.of(answer, SENT) == answer


def test_reads_deletes_and_unknown_answers_have_no_lean_form(tools: dict[str, ViewTool]) -> None:
    for name in ("contacts__list", "contacts__destroy", "contacts__set_password"):
        assert lean_form(tools[name], "always", 1000) is None
    assert lean_form(tools["contacts__create"], "never", 1000) is None
