"""How problems are told."""

import pytest

from handfast.toolkit.testing.problems import Problem, report, shape_of


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (None, "null"),
        (True, "boolean"),
        (1, "integer"),
        (1.5, "number"),
        ("", "empty string"),
        ("x", "string"),
        ([], "[]"),
        ([1], "[integer]"),
        (["a", "b"], "[string, 2 in all]"),
        ({"a": {"b": None}}, "{a: {b: null}}"),
        ({str(key): 1 for key in range(13)}, "{" + ", ".join(f"{key}: integer" for key in range(12)) + ", …}"),
    ],
)
def test_a_shape_says_the_types_and_no_values(value: object, shape: str) -> None:
    assert shape_of(value) == shape


def test_a_problem_without_a_call_is_one_line() -> None:
    assert report("t", [Problem("a", "is wrong"), Problem("b", "too")]) == (
        "The tools of 't' break their contract, 2 problems:\n- a: is wrong\n- b: too"
    )


def test_long_arguments_are_cut() -> None:
    problem = Problem("a", "is wrong", {"text": "x" * 10_000})
    whole = f'await tools.dispatch("a", {problem.arguments!r})'
    assert problem.reproduce == f"{whole[:500]}… ({len(whole)} characters)"
    assert "    arguments: {text: string}\n" in str(problem)
