"""Pages: cut within bounds, and walked without losing or repeating an item."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from handfast.toolkit.writing.argument_checks import ArgumentValidationError
from handfast.toolkit.writing.pages import Page, PaginationMeta, Paging, dump_many, paginate_sequence

pytestmark = pytest.mark.requirement("003-7")


class Note(BaseModel):
    day: date
    text: str = ""


class ListNotes(Paging):
    text: str = ""


def service(items: list[int], paging: Paging) -> tuple[list[int], int]:
    return items[paging.offset : paging.offset + paging.limit], len(items)


ITEMS = st.lists(st.integers(), max_size=60)
LIMITS = st.integers(min_value=1, max_value=20) | st.just(500)


@given(ITEMS, LIMITS)
def test_walking_a_sequence_page_by_page_gives_every_item_once(items: list[int], limit: int) -> None:
    walked: list[int] = []
    total = len(items)
    while len(walked) < total:
        page, meta = paginate_sequence(items, offset=len(walked), limit=limit)
        assert meta == PaginationMeta(total=total, offset=len(walked), limit=limit)
        assert 0 < len(page) <= limit
        walked += page
    assert walked == items
    assert paginate_sequence(items, offset=total, limit=limit)[0] == []


@given(ITEMS, LIMITS)
def test_walking_the_pages_of_a_service_gives_every_item_once(items: list[int], limit: int) -> None:
    walked: list[int] = []
    while True:
        paging = ListNotes(offset=len(walked), limit=limit)
        page = Page[int].of(*service(items, paging), paging)
        assert page == Page[int](items=page.items, total=len(items), offset=len(walked), limit=limit)
        same, meta = paginate_sequence(page.items, offset=paging.offset, limit=limit, total=page.total)
        assert (same, meta.total) == (page.items, page.total)
        walked += page.items
        if len(walked) >= page.total:
            break
    assert walked == items


def test_a_page_is_never_longer_than_its_limit() -> None:
    paging = Paging(limit=2)
    assert Page[int].of([1, 2, 3], 9, paging) == Page[int](items=[1, 2], total=9, offset=0, limit=2)
    assert paginate_sequence([1, 2, 3], offset=4, limit=2, total=9) == (
        [1, 2],
        PaginationMeta(total=9, offset=4, limit=2),
    )


@pytest.mark.parametrize(("offset", "limit"), [(-1, 5), (0, 0), (0, 501), (0, -3)])
def test_a_page_that_cannot_be_is_refused(offset: int, limit: int) -> None:
    with pytest.raises(ArgumentValidationError):
        paginate_sequence([1, 2, 3], offset=offset, limit=limit)
    with pytest.raises(ValidationError):
        PaginationMeta(total=3, offset=offset, limit=limit)
    with pytest.raises(ValidationError):
        Paging(offset=offset, limit=limit)


@pytest.mark.parametrize("wrong", [{"offset": True}, {"limit": "7"}, {"limit": 1.5}, {"page": 2}])
def test_the_arguments_of_a_page_are_strict(wrong: dict[str, Any]) -> None:  # Any: JSON values
    with pytest.raises(ValidationError):
        ListNotes.model_validate(wrong)


def test_the_schema_of_a_tool_with_pages_says_its_bounds() -> None:
    schema = ListNotes.model_json_schema()
    assert schema["additionalProperties"] is False
    assert schema["properties"]["offset"] == {
        "type": "integer",
        "minimum": 0,
        "default": 0,
        "title": "Offset",
        "description": "How many items to skip.",
    }
    assert schema["properties"]["limit"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 500,
        "default": 50,
        "title": "Limit",
        "description": "How many items to return at most.",
    }


def test_what_a_page_says_of_itself_cannot_be_changed() -> None:
    meta = PaginationMeta(total=1, offset=0, limit=50)
    with pytest.raises(ValidationError):
        meta.total = 2
    assert meta.model_dump() == {"total": 1, "offset": 0, "limit": 50}


def test_models_are_dumped_as_json() -> None:
    assert dump_many([Note(day=date(2026, 3, 1)), Note(day=date(2026, 3, 2), text="b")]) == [
        {"day": "2026-03-01", "text": ""},
        {"day": "2026-03-02", "text": "b"},
    ]
