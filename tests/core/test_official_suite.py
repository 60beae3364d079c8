"""The official suite of JSON Schema, judged by the schemas that calls and results are judged by."""

import json
from collections import Counter
from typing import Any  # Any: JSON of the suite

import jsonschema_rs
import pytest

from handfast.core.schema.compiled import CompiledSchema, build_slow_validator, compile_schema
from handfast.core.schema.text import SchemaRefused
from tests.parts import FOLDER, Parts

SUITE = FOLDER / "json-schema-suite" / "tests"
DIALECTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
JUDGED = {"draft4": 591, "draft6": 806, "draft7": 890, "draft2019-09": 1191, "draft2020-12": 1208}  # verdicts in each
OUTSIDE = "The schema refers to something outside itself; references are never fetched."
MISSING = "The schema refers to something that is not in it."
UNKNOWN = "The schema's $schema names no draft known here; use draft-07 or 2020-12."


def groups(dialect: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (path.name, group)
        for path in sorted((SUITE / dialect).glob("*.json"))
        for group in json.loads(path.read_text())
    ]


def named(schema: Any, dialect: str) -> bytes:  # Any: a schema
    """With its draft, which the suite tells by the folder."""
    if isinstance(schema, dict) and "$schema" not in schema:
        schema = {"$schema": DIALECTS[dialect], **schema}
    return json.dumps(schema).encode()


def validator_of(schema: Any, dialect: str) -> jsonschema_rs.Validator | str:  # Any: a schema
    """What its values are judged by, in place or in the slow lane; else why they are not."""
    compiled = compile_schema(named(schema, dialect))
    if not isinstance(compiled, CompiledSchema):
        return compiled.reason
    try:
        return compiled.validator or build_slow_validator(json.loads(compiled.text)).validator
    except SchemaRefused as refused:
        return str(refused)


@pytest.mark.requirement("S3")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_verdict_is_that_of_the_official_suite(parts: Parts, dialect: str) -> None:
    counts: Counter[str] = Counter()
    wrong = []
    for file, group in groups(dialect):
        validator = validator_of(group["schema"], dialect)
        if isinstance(validator, str):
            counts[validator] += len(group["tests"])
            continue
        for case in group["tests"]:
            counts["judged"] += 1
            if validator.is_valid(case["data"]) is not case["valid"]:
                wrong.append((file, group["description"], case["description"]))
    assert wrong == []
    assert counts.pop("judged") == JUDGED[dialect]
    # The suite has documents of its own to refer to, and here nothing is fetched; in draft 4 an id may stand anywhere.
    assert set(counts) <= {OUTSIDE, UNKNOWN, *([MISSING] if dialect == "draft4" else [])}
