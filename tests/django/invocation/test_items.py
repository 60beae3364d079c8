"""The objects of a list body, held to the contract of one call."""

from dataclasses import replace
from typing import Any

import pytest

from handfast.core.policy import InputPolicy, UnknownArguments
from handfast.django.invocation import item_problems
from tests.django.invocation.calling import tools

WRAPPED = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
    'Unwrap \'data\': send "name" directly, not inside "data".\n'
    'Declared fields: ["name"].'
)


@pytest.mark.parametrize("tool", ["throttled__create", "bulk-tags__create"])
@pytest.mark.parametrize(
    ("item", "problem"),
    [
        ({"name": "a"}, None),
        ({"name": "a", "bogus": 1}, None),
        ({"data": {"name": "a"}}, WRAPPED),
        ({"name": "a", "data": {"name": "b"}}, WRAPPED),
        ({"name": 5}, "name: must be a string, not an integer"),
        ({}, "must have the property 'name'"),
        ("a", "must be an object"),
        (None, "must be an object"),
    ],
)
def test_each_object_must_be_what_one_call_takes(tool: str, item: Any, problem: str | None) -> None:
    problems = list(item_problems(tools()[tool], [{"name": "before"}, item]))
    assert problems == ([] if problem is None else [(1, problem)])


def test_undeclared_scalars_are_refused_where_all_that_is_undeclared_is() -> None:
    policy = InputPolicy(unknown_arguments=UnknownArguments.REJECT_ALL)
    ((index, problem),) = item_problems(tools()["throttled__create"], [{"name": "a", "bogus": 1}], policy)
    assert (index, problem.splitlines()[0]) == (
        0,
        "Argument 'bogus' is not a declared field. Remove it and call again.",
    )


def test_the_rule_holds_where_a_schema_is_too_heavy_to_judge_by() -> None:
    tool = tools()["throttled__create"]
    heavy: dict[str, Any] = {"type": "object", "properties": {"name": {"$ref": "#/nowhere"}}}
    assert list(item_problems(replace(tool, input_schema=heavy), [{"data": {"name": "a"}}, {"name": 1}])) == [
        (0, WRAPPED)
    ]
