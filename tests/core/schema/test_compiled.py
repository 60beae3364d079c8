"""A schema is compiled within bounds or refused with a reason, and nothing is ever fetched for it."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handfast.core.schema.compiled import (
    CompiledSchema,
    SchemaBounds,
    SchemaRefused,
    UncompilableSchema,
    build_slow_validator,
    build_validator,
    compile_schema,
    is_valid_if_coerced,
)
from handfast.core.schema.patterns import linear_engine
from handfast.core.schema.weight import OVER
from tests.core.schema.test_weight import BOMBS, EVENTS, ISSUE, TREE


def validator_of(schema: object) -> jsonschema_rs.Validator:
    found = compile_schema(json.dumps(schema).encode())
    assert isinstance(found, CompiledSchema)
    assert found.validator is not None
    return found.validator


TYPED = validator_of(
    {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "maximum": 10},
            "x": {"type": "number"},
            "b": {"type": "boolean"},
            "s": {"type": "string"},
            "list": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["n"],
    }
)


@pytest.mark.requirement("D7")
@pytest.mark.parametrize(
    "value",
    [
        {"n": "3"},
        {"n": " 3 "},
        {"n": "3", "x": "1.5", "b": "true"},
        {"n": "3", "b": "True"},
        {"n": 1, "list": ["1", 2, "3"]},
        {"n": "3", "s": "3"},
        {"n": 3},
    ],
)
def test_text_that_spells_the_declared_scalar_is_valid(value: object) -> None:
    assert is_valid_if_coerced(TYPED, value)


@pytest.mark.parametrize(
    "value",
    [
        {"n": "three"},
        {"n": "3.5"},
        {"n": "11"},
        {"n": ""},
        {"n": "null"},
        {"n": "[3]"},
        {"n": "{}"},
        {"n": None},
        {"n": {}},
        {"n": "3", "b": "yes"},
        {"n": "3", "s": 3},
        {},
        {"n": "NaN"},
        {"n": "[" * 10_000},
        {"n": "9" * 10_000},
        {"n": 1, "list": ["x"] * 60},
        "3",
        [],
    ],
    ids=lambda value: str(value)[:24],
)
def test_anything_else_is_not(value: object) -> None:
    assert not is_valid_if_coerced(TYPED, value)


@given(st.dictionaries(st.sampled_from(["n", "x", "b", "s"]), st.text(max_size=6) | st.integers() | st.booleans()))
def test_judging_changes_nothing(value: dict[str, object]) -> None:
    before = json.dumps(value)
    is_valid_if_coerced(TYPED, value)
    assert json.dumps(value) == before


@given(st.integers(-(10**30), 10))
def test_an_integer_counts_the_same_spelled_as_text(number: int) -> None:
    assert is_valid_if_coerced(TYPED, {"n": str(number)}) == is_valid_if_coerced(TYPED, {"n": number})


def compiled(schema: object) -> CompiledSchema:
    result = compile_schema(json.dumps(schema).encode())
    assert isinstance(result, CompiledSchema), result
    return result


def refusal(text: str | bytes, bounds: SchemaBounds | None = None) -> str:
    raw = text if isinstance(text, bytes) else text.encode()
    result = compile_schema(raw, bounds or SchemaBounds())
    assert isinstance(result, UncompilableSchema), result
    return result.reason


OUTSIDE = "The schema refers to something outside itself; references are never fetched."
NOT_IN_IT = "The schema refers to something that is not in it."


@pytest.mark.requirement("004-9")
@pytest.mark.requirement("D14")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "The schema is not valid JSON."),
        (b"\xff", "The schema is not valid JSON."),
        ("[]", "The schema is neither an object nor a boolean."),
        ('{"maximum": NaN}', "The schema contains NaN or Infinity, which JSON does not have."),
        (
            '{"type": "string", "type": "integer"}',
            "The schema has the same key twice in one object, so readers may disagree about it.",
        ),
        ('{"type": "strin"}', "The schema is not valid at #/type."),
        ('{"$ref": "#/$defs/none"}', NOT_IN_IT),
        ('{"$ref": "other.json"}', OUTSIDE),
        ('{"$defs": {"x": {"$ref": "https://example.com/x"}}}', OUTSIDE),
        (
            '{"$schema": "https://example.com/mine"}',
            "The schema's $schema names no draft known here; use draft-07 or 2020-12.",
        ),
        (
            '{"properties": {"a": {"pattern": "(a"}}}',
            "The pattern at #/properties/a/pattern is not a valid regular expression.",
        ),
        (
            # Found behind another one that only needs the other engine.
            '{"properties": {"a": {"pattern": "(?=x)"}, "b": {"pattern": "[z-a]"}}}',
            "The pattern at #/properties/b/pattern is not a valid regular expression.",
        ),
        (
            '{"patternProperties": {"\\\\p{Nonsense}": {}}}',
            "The pattern at #/patternProperties/\\p{Nonsense} uses something that no engine here can match.",
        ),
        ('{"const": "\\ud800"}', "The schema cannot be compiled."),
        ("[" * 100_000, "The schema is nested more than 64 levels deep."),
        ('{"a":' * 40_000 + "1" + "}" * 40_000, "The schema is nested more than 64 levels deep."),
        ('"' + "x" * 1_048_576, "The schema's text is larger than 1048576 bytes."),
        (
            json.dumps({"enum": ["x" * 262_144]}),
            "The schema is larger than 262144 bytes, not counting its annotations.",
        ),
        (json.dumps({"x": [{}] * 10_001}), "The schema has more than 10000 subschemas."),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_with_its_reason(text: str | bytes, reason: str) -> None:
    assert refusal(text) == reason


@pytest.mark.requirement("S3")
@pytest.mark.parametrize(
    "text",
    [
        '{"properties": {"a": {}, "b": {"$ref": "https://example.com/x"}}}',
        '{"properties": {"a": {}, "b": {"pattern": "("}}}',
        '{"properties": {"a": {}}, "properties": {"b": {}}}',
        '{"properties": {"a": {"maximum": NaN}, "b": {}}}',
        '{"$schema": "https://example.com/mine", "properties": {"a": {}, "b": {}}}',
        json.dumps({"properties": {"a": {"enum": ["x" * 300_000]}, "b": {}}}),
        '{"properties": {"a": ' + '{"not":' * 90 + "true" + "}" * 90 + ', "b": {}}}',
    ],
    ids=["remote", "pattern", "twice", "NaN", "draft", "large", "deep"],
)
def test_what_a_schema_declares_is_known_although_it_cannot_be_compiled(text: str) -> None:
    schema = compile_schema(text.encode())
    assert isinstance(schema, UncompilableSchema)
    assert (schema.declared.names, schema.declared.is_open("other")) == (("a", "b"), False)


@pytest.mark.requirement("S3")
@pytest.mark.parametrize(
    "text", ["{", '{"x":' * 600 + "1" + "}" * 600, '{"properties": {"a": {}}, "$ref": "https://example.com/x"}']
)
def test_where_it_cannot_be_known_what_is_declared_every_name_is_let_be(text: str) -> None:
    schema = compile_schema(text.encode())
    assert isinstance(schema, UncompilableSchema)
    assert schema.declared.is_open("other")


@pytest.mark.requirement("S3")
def test_annotations_count_towards_no_bound() -> None:
    prose = "x" * 300_000
    schema = compiled(
        {"description": prose, "examples": [{}] * 11_000, "properties": {"default": {"type": "integer", "title": "t"}}}
    )
    assert [schema.is_valid(value) for value in ({"default": 1}, {"default": "x"})] == [True, False]
    assert json.loads(schema.text) == {"properties": {"default": {"type": "integer"}}}
    assert schema.declared.names == ("default",)


@pytest.mark.requirement("S3")
@pytest.mark.parametrize("pattern", [r"^(?=.*[A-Z])(?=.*\d).{8,}$", r"^(?!-)[a-z0-9-]+$", r"(a)\1"])
def test_a_pattern_beyond_the_linear_engine_is_left_to_the_slow_lane(pattern: str) -> None:
    assert compiled({"pattern": pattern}).validator is None
    assert build_slow_validator({"pattern": pattern}).backtracks


@pytest.mark.parametrize("name", ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema"])
def test_draft_07_is_chosen_by_any_spelling_of_its_name(name: str) -> None:
    schema = compiled({"$schema": name, "items": [{"type": "string"}], "additionalItems": False})
    assert [schema.is_valid(value) for value in (["a"], [1], ["a", "b"])] == [True, False, False]


def test_2020_12_is_chosen_by_name_and_by_default() -> None:
    rule = {"prefixItems": [{"type": "string"}], "items": False}
    named = compiled({"$schema": "https://json-schema.org/draft/2020-12/schema#", **rule})
    assert [schema.is_valid(["a", "b"]) for schema in (named, compiled(rule))] == [False, False]


def test_boolean_schemas_are_schemas() -> None:
    assert [compiled(schema).is_valid(1) for schema in (True, False)] == [True, False]


def test_a_format_is_an_annotation_in_every_draft() -> None:
    for draft in ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"):
        assert compiled({"$schema": draft, "format": "date-time"}).is_valid("2026-03-01T10:00:00")


def test_brackets_within_strings_are_not_depth() -> None:
    assert compiled({"const": '\\"' + "[" * 500}).is_valid('\\"' + "[" * 500)


def test_a_compiled_schema_keeps_its_exact_text_and_digest() -> None:
    schema = compile_schema(b' { "type" : "object" }')
    assert isinstance(schema, CompiledSchema)
    assert (schema.text, schema.digest[:12], schema.weight) == (b' { "type" : "object" }', "69e98f373d42", 1)


@pytest.mark.requirement("D14")
def test_no_reference_is_ever_fetched(tmp_path: Path) -> None:
    asked: list[str] = []

    class Canary(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"true")

        def log_message(self, *_: object) -> None:
            pass

    (tmp_path / "schema.json").write_text("true")
    with HTTPServer(("127.0.0.1", 0), Canary) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for address in (f"http://127.0.0.1:{server.server_port}/schema", (tmp_path / "schema.json").as_uri()):
            for keyword in ("$ref", "$dynamicRef", "$recursiveRef", "$schema"):
                refusal(json.dumps({keyword: address}))
            refusal(json.dumps({"$id": address, "$ref": "#/none"}))
            # Never reached by any value, yet the library would fetch it.
            refusal(json.dumps({"$defs": {"x": {"$ref": address}}}))
            with pytest.raises(SchemaRefused):
                build_validator({"$ref": address}, linear_engine(65_536))
        server.shutdown()
    assert asked == []


@pytest.mark.requirement("D14")
def test_a_bundled_meta_schema_is_known_but_left_to_the_slow_lane() -> None:
    schema = compiled({"$ref": "https://json-schema.org/draft/2020-12/schema"})
    assert (schema.weight, schema.validator) == (OVER, None)


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_never_run_in_place(name: str) -> None:
    schema = compiled(BOMBS[name])
    assert (schema.validator, schema.fits_in_place(1), schema.words_fit_in_place(1)) == (None, False, False)


@pytest.mark.requirement("C1")
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {f"p{n}": {"pattern": rf"\p{{L}}{{1,50}}{n}"} for n in range(2_000)}},
        {"pattern": "^.{1,255}$"},
        {"properties": {f"p{n}": {"type": "string"} for n in range(5_000)}},
    ],
)
def test_what_takes_long_to_compile_is_left_to_the_slow_lane(schema: object) -> None:
    started = time.process_time()
    assert compiled(schema).validator is None
    assert time.process_time() - started < 1.0


def test_a_schema_without_a_validator_says_where_to_send_it() -> None:
    with pytest.raises(RuntimeError, match="too heavy to run in place; send it to the slow lane"):
        compiled(BOMBS["doubling references"]).is_valid({})


@pytest.mark.requirement("C1")
def test_whether_a_value_fits_in_place_follows_weight_and_size() -> None:
    light, heavier = compiled({"type": "object"}), compiled(ISSUE)
    sizes = (100, 3_000, 150_000, 300_000)
    assert [light.fits_in_place(size) for size in sizes] == [True, True, True, False]
    assert [heavier.fits_in_place(size) for size in sizes] == [True, True, False, False]


@pytest.mark.requirement("C1")
def test_words_fit_in_place_only_for_small_values() -> None:
    schema = compiled({"properties": {"a": {"type": "string"}}})
    wide = {str(number): number for number in range(2_000)}
    assert not compiled({"not": {"const": "x" * 1_000}}).words_fit_in_place(1)
    named = compiled({"propertyNames": {"maxLength": 1}})
    fits = [
        schema.words_fit_in_place({"a": 1}),
        schema.words_fit_in_place([wide]),
        schema.words_fit_in_place("x" * 10**6),
    ]
    assert fits == [True, False, False]
    assert [named.words_fit_in_place({"aa": 1}), named.words_fit_in_place({str(n): n for n in range(200)})] == [
        True,
        False,
    ]


@pytest.mark.requirement("C2")
@pytest.mark.parametrize("huge", [1.7976931348623157e308, 10**400])
def test_a_number_of_any_size_is_judged_as_a_number(huge: float) -> None:
    assert [compiled(schema).is_valid(huge) for schema in ({"maximum": 10}, {"minimum": 10}, {"type": "number"})] == [
        False,
        True,
        True,
    ]
    assert [compiled(schema).is_valid(-huge) for schema in ({"maximum": 10}, {"minimum": 10})] == [True, False]


@pytest.mark.requirement("C2")
@pytest.mark.parametrize("limit", ["1E400", "1" + "0" * 400, "1" + "0" * 9_000])
def test_a_limit_beyond_a_double_is_the_largest_double(limit: str) -> None:
    schema = compile_schema(f'{{"maximum": {limit}, "minimum": -{limit}}}'.encode())
    assert isinstance(schema, CompiledSchema)
    assert [schema.is_valid(value) for value in (1.7976931348623157e308, -1e308, 10**400)] == [True, True, False]


def test_text_that_is_not_unicode_conforms_to_nothing() -> None:
    schema = compiled({"type": "string"})
    assert (schema.is_valid("\ud800"), schema.describe("\ud800")) == (
        False,
        ("contains text that is not valid Unicode",),
    )


@pytest.mark.requirement("000-14")
def test_a_compiled_schema_knows_what_it_declares() -> None:
    assert compiled(EVENTS).declared.names == ("calendar", "window", "kinds", "limit", "repeat")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (ISSUE, {"total": 1, "issues": [{"number": 1, "state": "open", "author": {"id": 1, "login": "a"}}]}),
        (EVENTS, {"calendar": "home", "repeat": None, "limit": 5}),
        (TREE, {"left": None, "right": {"name": "x"}, "children": [{}], "other": {"name": "y"}}),
    ],
)
def test_ordinary_schemas_judge_in_place(schema: object, value: object) -> None:
    assert compiled(schema).is_valid(value)
    assert not compiled(schema).is_valid([])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(json_values)
def test_any_json_text_is_compiled_or_refused(value: Any) -> None:  # Any: whatever hypothesis draws
    result = compile_schema(json.dumps(value).encode())
    assert isinstance(result, CompiledSchema | UncompilableSchema)


@given(st.binary(max_size=200))
def test_any_bytes_are_compiled_or_refused(text: bytes) -> None:
    assert isinstance(compile_schema(text), CompiledSchema | UncompilableSchema)
