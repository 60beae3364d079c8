"""000 at the gateway: a wrapped payload never reaches the tool, whatever the way of running."""

import json

import pytest

from tests.contracts.cases import Case, Seen, case

CONTACT = {
    "type": "object",
    "properties": {"email": {"type": "string"}, "first_name": {"type": "string"}, "notes": {"type": "string"}},
    "required": ["email"],
}
CAUSE = "Likely cause: REST-style wrapper — send fields flat at the top level."
DECLARED = 'Declared fields: ["email", "first_name", "notes"].'


def nested(name: str) -> str:
    return f"Argument '{name}' is not a declared field and its value is a nested object."


def message(name: str, inner: str, declared: str = DECLARED, *, unknown: str = "") -> str:
    """The four lines."""
    rest = f" Leave out {unknown}: it is not declared." if unknown else ""
    return f"{nested(name)}\n{CAUSE}\nUnwrap '{name}': send {inner} directly, not inside \"{name}\".{rest}\n{declared}"


WHOLE = case("whole", CONTACT, calls=['{"data": {"email": "a@example.com", "first_name": "A"}}'])
MIXED = case("mixed", CONTACT, calls=['{"email": "a", "first_name": "A", "data": {"notes": "n"}}'])


@pytest.mark.requirement("000-1")
@pytest.mark.requirement("000-3")
@pytest.mark.requirement("000-4")
@pytest.mark.requirement("000-13")
@pytest.mark.requirement("000-14")
@pytest.mark.requirement("D2")
@pytest.mark.requirement("D16")
def test_a_wholly_wrapped_payload_is_refused_with_the_repair_in_the_text(seen: Seen) -> None:
    whole = seen[WHOLE]
    text = message("data", '"email", "first_name"')
    assert whole.refused(text)
    decision, call = whole.decision, whole.call
    assert (decision["status"], decision["rule"], decision["mode"]) == ("blocked", "arguments.nested_wrapper", "warn")
    assert (decision["server"], decision["tool"], decision["reason"]) == ("up", "whole", text)
    assert (call["status"], call["rule"], call["reason"]) == ("blocked", "arguments.nested_wrapper", text)
    assert call["request_id"] == decision["request_id"]


@pytest.mark.requirement("000-2")
@pytest.mark.requirement("000-3")
def test_flat_fields_beside_one_undeclared_object_are_refused_too(seen: Seen) -> None:
    assert seen[MIXED].refused(message("data", '"notes"'))


KEYS = ("payload", "config", "Data", "e-mail", "名前", "a b", "it's", 'say "so"', "__proto__", "")
NAMED = {
    key: case(f"named_{number}", CONTACT, calls=[json.dumps({key: {"email": "a"}}, ensure_ascii=False)])
    for number, key in enumerate(KEYS)
}


@pytest.mark.requirement("000-5")
@pytest.mark.parametrize("key", KEYS)
def test_the_name_of_the_wrapper_does_not_matter(seen: Seen, key: str) -> None:
    assert seen[NAMED[key]].refused(message(key, '"email"'))


HIDDEN = case(
    "hidden",
    CONTACT,
    calls=['{"a\\u202eb\\n": {"email": 1, "x\\u0000": 1}}', json.dumps({"k" * 200: {"email": 1, "v" * 200: 1}})],
)


@pytest.mark.requirement("000-14")
@pytest.mark.requirement("D17")
def test_names_are_shown_without_control_characters_and_cut_at_64(seen: Seen) -> None:
    texts = [sent.answer.text for sent in seen[HIDDEN].sent]
    assert texts == [
        message("a?b?", '"email"', unknown='"x?"'),
        message("k" * 64 + "…", '"email"', unknown=f'"{"v" * 64}…"'),
    ]


SEVERAL = case("several", CONTACT, calls=['{"b": {"x": 1}, "email": "a", "c": {}, "a": {"notes": 1, "z": {}}}'])
EMPTY = case("empty", CONTACT, calls=['{"email": "a", "config": {}}'])


@pytest.mark.requirement("000-14")
def test_several_offenders_are_named_in_the_order_of_the_call(seen: Seen) -> None:
    assert seen[SEVERAL].refused(
        f"{nested('b')}\n{nested('c')}\n{nested('a')}\n{CAUSE}\n"
        "Remove 'b': none of its fields is declared.\n"
        "Remove 'c': it is empty.\n"
        'Unwrap \'a\': send "notes" directly, not inside "a". Leave out "z": it is not declared.\n'
        f"{DECLARED}"
    )
    assert len(seen[SEVERAL].decisions) == 1


@pytest.mark.requirement("000-14")
def test_an_empty_object_is_refused_and_the_text_says_to_remove_it(seen: Seen) -> None:
    assert seen[EMPTY].refused(f"{nested('config')}\n{CAUSE}\nRemove 'config': it is empty.\n{DECLARED}")


def fields(count: int) -> dict[str, object]:
    return {f"f{number:02}": {"type": "string"} for number in range(count)}


def listed(count: int) -> str:
    return ", ".join(f'"f{number:02}"' for number in range(count))


TWENTY = case(
    "twenty",
    {"type": "object", "properties": fields(20)},
    calls=[json.dumps({"data": fields(20)})],
)
MORE = case(
    "more",
    {"type": "object", "properties": fields(21)},
    calls=[json.dumps({"data": fields(21)})],
)


@pytest.mark.requirement("000-14")
def test_lists_of_fields_stop_at_twenty_with_a_literal_ellipsis_and_not_before(seen: Seen) -> None:
    assert seen[TWENTY].refused(message("data", listed(20), f"Declared fields: [{listed(20)}]."))
    assert seen[MORE].refused(message("data", f"{listed(20)}, ...", f"Declared fields: [{listed(20)}, ...]."))


CONFIG = {"properties": {"config": {"type": "object"}}}
DECLARING: dict[str, Case] = {
    name: case(f"declared_{name}", schema, calls=['{"config": {"a": 1}}', '{"other": {"a": 1}}'])
    for name, schema in {
        "properties": {"type": "object", **CONFIG},
        "ref": {"type": "object", "$ref": "#/$defs/A", "$defs": {"A": CONFIG}},
        "definitions": {"$ref": "#/definitions/A", "definitions": {"A": CONFIG}},
        "ref_to_ref": {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": CONFIG}},
        "all_of": {"type": "object", "allOf": [{"properties": {"a": {}}}, CONFIG]},
        "any_of": {"type": "object", "anyOf": [{"properties": {"a": {}}}, CONFIG]},
        "one_of": {"type": "object", "oneOf": [{"properties": {"a": {}}, "required": ["a"]}, CONFIG]},
        "then": {"type": "object", "if": {"properties": {"a": {}}}, "then": CONFIG},
        "else": {"type": "object", "if": {"properties": {"a": {}}, "required": ["a"]}, "else": CONFIG},
        "if": {"type": "object", "if": CONFIG},
        "dependent": {"type": "object", "properties": {"a": {}}, "dependentSchemas": {"a": CONFIG}},
        "nested": {"type": "object", "allOf": [{"anyOf": [{"$ref": "#/$defs/A"}]}], "$defs": {"A": CONFIG}},
    }.items()
}


@pytest.mark.requirement("000-14")
@pytest.mark.requirement("000-18")
@pytest.mark.parametrize("way", DECLARING)
def test_what_is_declared_at_the_root_in_any_way_passes_and_what_is_not_does_not(seen: Seen, way: str) -> None:
    outcome = seen[DECLARING[way]]
    declared, other = outcome.sent
    assert declared.answer.text == "created"
    assert other.answer.text.startswith(nested("other"))
    assert [entry.message["params"]["arguments"] for entry in outcome.reached] == [{"config": {"a": 1}}]


BELOW = case(
    "declared_below",
    {"type": "object", "properties": {"a": {"type": "object", **CONFIG}}},
    calls=['{"config": {}}'],
)
DECLARES_NOTHING = case("declares_nothing", {"type": "object", "properties": {}}, calls=['{"any": {"a": 1}}'])
CLOSED = case(
    "closed",
    {"type": "object", "properties": {}, "additionalProperties": False},
    calls=['{"any": {"a": 1}}'],
)


@pytest.mark.requirement("000-14")
def test_a_property_below_the_root_declares_nothing_at_the_root(seen: Seen) -> None:
    assert seen[BELOW].refused(f"{nested('config')}\n{CAUSE}\nRemove 'config': it is empty.\nDeclared fields: [\"a\"].")


@pytest.mark.requirement("000-14")
@pytest.mark.parametrize("which", [DECLARES_NOTHING, CLOSED], ids=lambda which: which.tool)
def test_empty_properties_declare_nothing_and_refuse(seen: Seen, which: Case) -> None:
    removed = "Remove 'any': none of its fields is declared.\nDeclared fields: []."
    assert seen[which].refused(f"{nested('any')}\n{CAUSE}\n{removed}")


OPEN = {
    name: case(f"open_{name}", schema, calls=['{"x_any": {"a": 1}}'])
    for name, schema in {
        "no_properties": {"type": "object"},
        "no_keywords": {"description": "anything"},
        "additional_true": {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
        "additional_schema": {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "object"}},
        "additional_empty_schema": {"type": "object", "properties": {}, "additionalProperties": {}},
        "pattern": {"type": "object", "properties": {"a": {}}, "patternProperties": {"^x_": {"type": "object"}}},
    }.items()
}
UNMATCHED = case(
    "open_unmatched",
    {"type": "object", "properties": {"a": {}}, "patternProperties": {"^y_": {}}},
    calls=['{"x_any": {"b": 1}}'],
)


@pytest.mark.requirement("000-14")
@pytest.mark.parametrize("way", OPEN)
def test_an_author_who_says_that_the_object_is_open_is_believed(seen: Seen, way: str) -> None:
    assert seen[OPEN[way]].passed()
    assert seen[OPEN[way]].decisions == []


@pytest.mark.requirement("000-14")
def test_a_pattern_that_does_not_match_opens_nothing(seen: Seen) -> None:
    assert seen[UNMATCHED].refused(
        f"{nested('x_any')}\n{CAUSE}\nRemove 'x_any': none of its fields is declared.\nDeclared fields: [\"a\"]."
    )


SCALARS = case("scalars", CONTACT, calls=['{"email": "a", "n": 1, "s": "x", "l": [{"a": 1}], "z": null, "t": true}'])
LIST_BODIES = {
    key: case(f"list_{key}", CONTACT, calls=[f'{{"{key}": [{{"email": "a"}}]}}'], unknown_arguments="reject_objects")
    for key in ("objects", "data", "items", "_items", "body")
}


@pytest.mark.requirement("000-6")
def test_undeclared_scalars_and_lists_do_not_trigger_the_rule(seen: Seen) -> None:
    assert seen[SCALARS].passed()
    assert seen[SCALARS].decisions == []


@pytest.mark.requirement("000-11")
@pytest.mark.requirement("000-16")
@pytest.mark.parametrize("key", LIST_BODIES)
def test_a_list_body_is_passed_on_unchanged(seen: Seen, key: str) -> None:
    assert seen[LIST_BODIES[key]].passed()


READ_ONLY = case("read_only", CONTACT, calls=['{"filter": {"email": "a"}}'])
FOREIGN_KEY = case(
    "foreign_key",
    {"type": "object", "properties": {"site": {"oneOf": [{"type": "string"}, {"type": "object"}]}}},
    calls=['{"site": {"name": "hq-1"}}'],
)
DECLARES_DATA = case(
    "declares_data",
    {"type": "object", "properties": {"data": {"type": "object"}}},
    calls=[b'{"data": {"anything": [1.0, 1e2]}}'],
)
FLAT = case("flat", CONTACT, calls=[b'{ "notes":"\\u00e9\xc3\xa9","email" : "a@example.com" ,\t"first_name":"A"}'])


@pytest.mark.requirement("000-7")
def test_a_tool_that_only_reads_gets_the_rule_too(seen: Seen) -> None:
    assert seen[READ_ONLY].refused(message("filter", '"email"'))


@pytest.mark.requirement("000-15")
def test_a_declared_foreign_key_may_be_an_object(seen: Seen) -> None:
    assert seen[FOREIGN_KEY].passed()
    assert seen[FOREIGN_KEY].decisions == []


@pytest.mark.requirement("000-18")
def test_a_tool_that_declares_data_accepts_an_object_there(seen: Seen) -> None:
    assert seen[DECLARES_DATA].passed()


@pytest.mark.requirement("000-20")
def test_a_flat_call_arrives_and_is_answered_byte_for_byte(seen: Seen) -> None:
    flat = seen[FLAT]
    assert flat.passed()
    assert flat.decisions == []
    assert (flat.call["status"], flat.call["rule"], flat.call["reason"]) == ("success", "", "")


@pytest.mark.requirement("D17")
def test_no_value_of_an_argument_is_on_record(seen: Seen) -> None:
    kept = json.dumps(seen[WHOLE].records + seen[FLAT].records)
    assert "a@example.com" not in kept
    assert seen[FLAT].call["details"]["argument_keys"] == ["notes", "email", "first_name"]
