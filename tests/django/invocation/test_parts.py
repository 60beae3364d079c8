"""Where the arguments of a call go."""

from typing import Any

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.answers.errors import ToolError
from handfast.django.discovery.tool import QueryParameter
from handfast.django.invocation.parts import query_string, split_arguments
from tests.django.invocation.calling import tools

COMMA, REPEAT = QueryParameter("c", {}, "comma"), QueryParameter("r", {})


@pytest.mark.parametrize(
    ("arguments", "query"),
    [
        ({}, ""),
        ({"r": None, "c": []}, ""),
        ({"r": []}, ""),
        ({"r": True, "c": 1.5}, "c=1.5&r=true"),
        ({"r": ["a b", 2, False], "c": ["x", "-y"]}, "c=x%2C-y&r=a+b&r=2&r=false"),
        ({"r": "ä&=?"}, "r=%C3%A4%26%3D%3F"),
        ({"other": 1}, ""),
    ],
)
def test_a_query_is_written_as_its_parameters_say(arguments: dict[str, Any], query: str) -> None:
    assert query_string([COMMA, REPEAT], arguments) == query


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_what_is_written_is_what_django_reads(texts: list[str]) -> None:
    assert QueryDict(query_string([REPEAT], {"r": texts})).getlist("r") == texts


def test_each_argument_goes_to_one_place_and_others_nowhere() -> None:
    tool = tools()["crates__partial_update"]
    parts = split_arguments(tool, {"id": 7, "code": "c", "weight": None, "bogus": 1})
    assert (parts.target.path, dict(parts.target.kwargs), parts.query) == ("/api/crates/7/", {"pk": "7"}, "")
    assert (parts.body, parts.has_body) == ({"code": "c", "weight": None}, True)
    read = split_arguments(tools()["crates__list"], {"code": "c"})
    assert (read.body, read.has_body) == (None, False)


def test_a_body_that_is_a_list_is_what_stands_under_objects() -> None:
    parts = split_arguments(tools()["bulk-tags__create"], {"objects": [{"name": "a"}]})
    assert parts.body == [{"name": "a"}]


def test_an_argument_that_fits_no_path_is_refused_by_name() -> None:
    with pytest.raises(ToolError) as refused:
        split_arguments(tools()["crates__retrieve"], {"id": "a/b"})
    assert (refused.value.code, refused.value.message, refused.value.details) == (
        "invalid_input",
        "Argument 'id' does not fit the address of this tool. Send one as its schema says.",
        {"kind": "value", "fields": {"id": ["does not fit the address"]}},
    )
