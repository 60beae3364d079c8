"""Arguments made from schemas: always valid, the same in every run, and an end to every tree."""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from pydantic import TypeAdapter

from handfast.toolkit.testing.generate.arguments import (
    MOST_TRIES,
    NoArguments,
    arguments_for,
    arguments_outside,
    simpler,
    simplest,
)
from handfast.toolkit.writing.schemas import input_schema_of
from tests.demo import ROOT
from tests.toolkit.contacts import NewContact
from tests.toolkit.testing.json_values import JSON
from tests.toolkit.testing.tried_schemas import SCHEMAS, TREE, Everything, compiled, of


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_made_meets_the_schema(name: str) -> None:
    schema = compiled(SCHEMAS[name])
    made = arguments_for(schema, 40)
    assert all(schema.is_valid(each) for each in made)
    assert len({json.dumps(each, sort_keys=True) for each in made}) == len(made)
    assert len(made) >= {"nothing": 1, "open bounds": 1, "open bounds of draft 4": 1}.get(name, 5)


def test_a_tree_is_made_with_branches_and_has_an_end() -> None:
    def depth(node: Any) -> int:
        return 0 if node is None else 1 + depth(node["left"])

    assert {depth(each) for each in arguments_for(compiled(TREE), 60)} == {1, 2}


def test_models_take_what_is_made_of_their_schemas() -> None:
    model = TypeAdapter(Everything)
    made = arguments_for(compiled(SCHEMAS["every kind"]), 50)
    taken = 0
    for each in made:
        each["price"] = "1.50"  # a decimal may be any text to its schema
        taken += model.validate_json(json.dumps(each), strict=True) is not None
    assert taken == len(made)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (of(a={"type": "integer", "minimum": 5, "maximum": 3}), "no arguments can meet its input schema"),
        (of(a={"type": "string", "enum": []}), "no arguments can meet its input schema"),
        (of(a=False), "no arguments can meet its input schema"),
        (of(a={"allOf": [{"type": "string"}, {"type": "integer"}]}), "no arguments can meet its input schema"),
        (of(a={"type": "array", "items": False, "minItems": 1}), "no arguments can meet its input schema"),
        (of(a={"type": "string", "minLength": 2, "maxLength": 1}), "no arguments can meet its input schema"),
        ({"type": "object", "required": ["a"], "additionalProperties": False}, "no arguments can meet its input"),
        (
            of(a={"type": "string", "pattern": r"^\p{Lu}\p{Ll}{7}ß$"}),
            "no arguments could be made from its input schema",
        ),
        (
            of(a={"type": "array", "items": {"type": "null"}, "minItems": 5_000, "uniqueItems": True}),
            "no arguments could be made from its input schema",
        ),
    ],
)
def test_where_nothing_can_be_made_it_is_said_why(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(NoArguments, match=f"^{words}"):
        arguments_for(compiled(schema), 10)


def test_examples_stand_in_for_what_cannot_be_made() -> None:
    word = {"type": "string", "pattern": r"^\p{Lu}\p{Ll}{7}ß$"}
    assert arguments_for(compiled(of(a={**word, "examples": ["Abcdefghß"]})), 10) == [{"a": "Abcdefghß"}]
    whole = {**of(a=word), "examples": [{"a": "Zoologieß"}, {"a": "wrong"}]}
    assert arguments_for(compiled(whole), 10) == [{"a": "Zoologieß"}]


def test_a_pattern_that_python_warns_of_makes_no_noise() -> None:
    assert arguments_for(compiled(of(a={"type": "string", "pattern": "[[a]"})), 5)


def test_what_is_long_is_made_too() -> None:
    schema = of(text={"type": "string", "minLength": 100_000}, items={"type": "array", "items": {}, "minItems": 5_000})
    made = arguments_for(compiled(schema), 1)[0]
    assert (len(made["text"]), len(made["items"])) == (100_000, 5_000)


def test_ends_and_edges_are_among_what_is_made() -> None:
    made = arguments_for(compiled(of(n={"type": "integer", "minimum": -5, "maximum": 1000}, t={"type": "string"})), 100)
    assert {-5, 0, 1000} <= {each["n"] for each in made}
    assert {"", "Zoë"} <= {each["t"] for each in made}


def test_the_same_is_made_in_every_process() -> None:
    program = (
        "import json; from handfast.toolkit.testing.generate.arguments import arguments_for\n"
        "from tests.toolkit.testing.tried_schemas import *\n"
        "print(json.dumps({name: arguments_for(compiled(schema), 15) for name, schema in SCHEMAS.items()}))"
    )
    texts = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
            timeout=100,
        ).stdout
        for seed in ("1", "2")
    ]
    assert texts[0] == texts[1]
    assert len(json.loads(texts[0])) == len(SCHEMAS)


def test_everything_that_is_tried_breaks_the_schema() -> None:
    for schema in map(compiled, SCHEMAS.values()):
        for valid in arguments_for(schema, 5):
            for what, wrong in arguments_outside(schema, valid):
                is_root = what in ("an unknown key", "a payload wrapped in an object")
                assert is_root or not schema.is_valid(wrong), (what, wrong)


def test_each_field_is_left_out_and_given_in_every_other_type_at_every_level() -> None:
    schema = compiled(input_schema_of(NewContact, "tool"))
    valid = {"email": "a", "address": {"city": "x"}}
    tried: dict[str, Any] = dict(arguments_outside(schema, valid))
    assert tried["an unknown key"] == {**valid, "not_a_declared_field": 1}
    assert tried["a payload wrapped in an object"] == {"data": valid}
    assert tried["no 'email'"] == {"address": {"city": "x"}}
    assert tried["no 'address/city'"] == {"email": "a", "address": {}}
    assert tried["an unknown key in 'address'"] == {
        "email": "a",
        "address": {"city": "x", "not_a_declared_field": 1},
    }
    wrong = {what for what in tried if what.startswith("'email' as")}
    assert len(wrong) == 8  # all kinds but one
    assert "'address/city' as a value of the shape null" in tried
    assert "'born' as a value of the shape null" not in tried


def test_a_wrapper_is_never_a_declared_field() -> None:
    schema = compiled(of(data={"type": "object", "additionalProperties": {"type": "string"}}))
    assert dict(arguments_outside(schema, {"data": {}}))["a payload wrapped in an object"] == {"payload": {"data": {}}}


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
