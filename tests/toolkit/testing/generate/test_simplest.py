"""From arguments that show a problem to the simplest that do."""

import asyncio
from typing import Any

import pytest
from hypothesis import given

from handfast.toolkit.testing.generate.simplest import MOST_TRIES, simpler, simplest
from tests.toolkit.testing.json_values import JSON


@pytest.mark.parametrize(
    ("arguments", "still", "expected"),
    [
        ({"n": -81_234, "more": [1, 2]}, lambda given: given.get("n", 0) < 0, {"n": -1}),
        ({"n": 9_007_199_254_740_993}, lambda given: given.get("n", 0) > 100, {"n": 101}),
        ({"t": "some text"}, lambda given: len(given.get("t", "")) > 3, {"t": "some"}),
        ({"l": [5, 7, 9]}, lambda given: 7 in given.get("l", []), {"l": [7]}),
        ({"a": {"b": [{"c": True, "d": 1.5}]}}, lambda given: "c" in str(given), {"a": {"b": [{"c": True}]}}),
        ({"f": 2.75}, lambda given: isinstance(given.get("f"), float), {"f": 0.0}),
        ({}, lambda given: True, {}),
    ],
)
def test_what_is_left_is_what_it_takes(arguments: Any, still: Any, expected: Any) -> None:
    async def shows(candidate: Any) -> bool:
        return bool(still(candidate))

    assert asyncio.run(simplest(arguments, shows)) == expected


def test_no_more_is_tried_than_is_bearable() -> None:
    tried = 0

    async def never(_candidate: Any) -> bool:
        nonlocal tried
        tried += 1
        return False

    arguments = {"texts": [str(number) * 5 for number in range(200)]}
    assert asyncio.run(simplest(arguments, never)) == arguments
    assert tried == MOST_TRIES


@given(JSON)
def test_simpler_values_come_to_an_end(value: Any) -> None:
    async def always(_candidate: Any) -> bool:
        return True

    left = asyncio.run(simplest(value, always))
    assert left in (None, True, False, 0, 0.0, "", [], {}) or isinstance(value, dict | list | int | float)
    assert value not in list(simpler(value))
