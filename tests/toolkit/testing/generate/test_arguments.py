"""Arguments made from schemas: always valid, the same in every run, and an end to every tree."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from pydantic import TypeAdapter

from handfast.toolkit.testing.generate.arguments import NoArguments, arguments_for
from tests.demo import ROOT
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
