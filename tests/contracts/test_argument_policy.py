"""Arguments under every mode and posture at the gateway (D2, D4, D5, D20): what is refused, and what only noted."""

import json

import pytest

from tests.contracts.cases import Case, Seen, case

COUNTED = {
    "type": "object",
    "properties": {"count": {"type": "integer"}, "name": {"type": "string"}},
    "required": ["count"],
}
DECLARED = 'Declared fields: ["count", "name"].'
WRONG = '{"count": "many"}'
WRONG_TEXT = (
    "The arguments do not fit what the tool declares: count: must be an integer, not a string. "
    "Correct them and call again."
)
WRAPPED = '{"data": {"count": 1}}'
WRAPPED_TEXT = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
    'Unwrap \'data\': send "count" directly, not inside "data".\n'
    f"{DECLARED}"
)

OFF_WRAPPED = case("off_wrapped", COUNTED, calls=[WRAPPED], input_mode="off")
OFF_WRONG = case("off_wrong", COUNTED, calls=[WRONG], input_mode="off")
OFF_ALL = case("off_all", COUNTED, calls=[WRAPPED], input_mode="off", unknown_arguments="reject_all")


@pytest.mark.requirement("D2")
@pytest.mark.parametrize("which", [OFF_WRAPPED, OFF_WRONG, OFF_ALL], ids=lambda which: which.tool)
def test_off_judges_nothing_not_even_a_wrapped_payload(seen: Seen, which: Case) -> None:
    assert seen[which].passed()
    assert [record["type"] for record in seen[which].records] == ["tool_call"]
    assert seen[which].call["status"] == "success"


WARN_WRONG = case("warn_wrong", COUNTED, calls=[WRONG])
WARN_RIGHT = case("warn_right", COUNTED, calls=['{"count": 1}'])
STRICT_WRONG = case("strict_wrong", COUNTED, calls=[WRONG], input_mode="strict")
STRICT_MISSING = case("strict_missing", COUNTED, calls=['{"name": "a"}'], input_mode="strict")
STRICT_RIGHT = case("strict_right", COUNTED, calls=['{"count": 1, "other": [1]}'], input_mode="strict")


@pytest.mark.requirement("D2")
@pytest.mark.requirement("D16")
def test_warn_forwards_what_breaks_the_schema_and_leaves_one_record(seen: Seen) -> None:
    warned = seen[WARN_WRONG]
    assert warned.passed()
    decision = warned.decision
    assert (decision["status"], decision["rule"], decision["mode"]) == ("warning", "arguments.schema", "warn")
    assert (decision["server"], decision["tool"], decision["reason"]) == ("up", "warn_wrong", WRONG_TEXT)
    assert decision["details"]["direction"] == "arguments"
    assert warned.call["status"] == "success"
    assert warned.call["request_id"] == decision["request_id"]


@pytest.mark.requirement("D2")
@pytest.mark.requirement("D16")
def test_strict_blocks_what_breaks_the_schema_and_says_what_is_wrong(seen: Seen) -> None:
    blocked = seen[STRICT_WRONG]
    text = f"{WRONG_TEXT}\n{DECLARED}"
    assert blocked.refused(text)
    decision = blocked.decision
    assert (decision["status"], decision["rule"], decision["mode"]) == ("blocked", "arguments.schema", "strict")
    assert decision["reason"] == text
    assert (blocked.call["status"], blocked.call["rule"]) == ("blocked", "arguments.schema")
    assert blocked.call["request_id"] == decision["request_id"]


@pytest.mark.requirement("D2")
def test_strict_names_a_field_that_is_missing(seen: Seen) -> None:
    outcome = seen[STRICT_MISSING]
    assert outcome.reached == []
    assert "count" in outcome.answer.text.splitlines()[0]
    assert outcome.decision["rule"] == "arguments.schema"


@pytest.mark.parametrize("which", [WARN_RIGHT, STRICT_RIGHT], ids=lambda which: which.tool)
def test_what_fits_leaves_no_decision_in_warn_nor_in_strict(seen: Seen, which: Case) -> None:
    assert seen[which].passed()
    assert [record["type"] for record in seen[which].records] == ["tool_call"]


STRICT_WRAPPED = case("strict_wrapped", COUNTED, calls=[WRAPPED], input_mode="strict")
TWICE = "Remove 'data': \"count\" was sent already."
BOTH = case("both_wrong", COUNTED, calls=['{"count": "many", "data": {"count": 1}}'], input_mode="strict")
BOTH_ALL = case(
    "both_all",
    COUNTED,
    calls=['{"x": 1, "data": {"count": 1}}'],
    input_mode="strict",
    unknown_arguments="reject_all",
)


@pytest.mark.requirement("D5")
@pytest.mark.parametrize("which", [STRICT_WRAPPED, BOTH, BOTH_ALL], ids=lambda which: which.tool)
def test_the_wrapper_text_is_the_answer_whatever_else_is_wrong(seen: Seen, which: Case) -> None:
    twice = WRAPPED_TEXT.replace('Unwrap \'data\': send "count" directly, not inside "data".', TWICE)
    assert seen[which].refused(twice if which is BOTH else WRAPPED_TEXT)
    assert seen[which].decision["rule"] == "arguments.nested_wrapper"


FACTS_WRONG = case("facts_wrong", COUNTED, calls=[WRONG], input_mode="strict")
FACTS_UNKNOWN = case("facts_unknown", COUNTED, calls=['{"count": 1, "cuont": 2}'], unknown_arguments="reject_all")
FACTS_WRAPPED = case("facts_wrapped", COUNTED, calls=[WRAPPED])


@pytest.mark.parametrize(
    ("which", "facts"),
    [
        (FACTS_WRONG, [{"pointer": "/count", "rule": "type", "expected": "integer"}]),
        (FACTS_UNKNOWN, [{"pointer": "/cuont", "rule": "unknown"}]),
        (FACTS_WRAPPED, [{"pointer": "/data", "rule": "wrapper"}]),
    ],
    ids=lambda value: getattr(value, "tool", ""),
)
def test_a_refusal_carries_its_violations_for_programs(seen: Seen, which: Case, facts: list[object]) -> None:
    assert seen[which].answer.message["result"]["_meta"] == {"handfast/violations": facts}


DAY = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
DAY_WRONG = case("day_wrong", DAY, calls=['{"day": "17.03.2026"}'], input_mode="strict", input_formats="assert")
DAY_RIGHT = case("day_right", DAY, calls=['{"day": "2026-03-17"}'], input_mode="strict", input_formats="assert")


def test_formats_are_held_to_where_the_settings_say_so(seen: Seen) -> None:
    assert seen[DAY_RIGHT].passed()
    assert seen[DAY_WRONG].refused(
        "The arguments do not fit what the tool declares: day: must be a date such as 2026-03-01. "
        'Correct them and call again.\nDeclared fields: ["day"].'
    )


PROTOCOL_WRAPPED = case("protocol_wrapped", COUNTED, calls=[WRAPPED], errors="protocol")
PROTOCOL_WRONG = case("protocol_wrong", COUNTED, calls=[WRONG], errors="protocol", input_mode="strict")


@pytest.mark.requirement("D2")
@pytest.mark.parametrize(
    ("which", "text"),
    [(PROTOCOL_WRAPPED, WRAPPED_TEXT), (PROTOCOL_WRONG, f"{WRONG_TEXT}\n{DECLARED}")],
    ids=["wrapped", "wrong"],
)
def test_errors_protocol_answers_invalid_params_with_the_same_text(seen: Seen, which: Case, text: str) -> None:
    outcome = seen[which]
    assert outcome.reached == []
    message = outcome.answer.message
    assert message == {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": text}}
    assert outcome.decision["reason"] == text


ALL_ONE = case("all_one", COUNTED, calls=['{"count": 1, "extra": 2}'], unknown_arguments="reject_all")
ALL_TWO = case("all_two", COUNTED, calls=['{"b": [1], "count": 1, "a": "x"}'], unknown_arguments="reject_all")
ALL_RIGHT = case("all_right", COUNTED, calls=['{"count": 1}'], unknown_arguments="reject_all")
ALL_IGNORE = case(
    "all_ignore",
    COUNTED,
    calls=['{"count": 1, "trace": "x", "meta": {"a": 1}}'],
    unknown_arguments="reject_all",
    ignore=["trace", "meta"],
)
IGNORE = case("ignore_one", COUNTED, calls=['{"count": 1, "meta": {"a": 1}}', WRAPPED], ignore=["meta"])
OPEN_ALL = case("open_all", {"type": "object"}, calls=['{"a": 1, "b": {}}'], unknown_arguments="reject_all")


@pytest.mark.requirement("000-6")
@pytest.mark.requirement("D4")
def test_reject_all_refuses_undeclared_scalars_and_lists_even_in_warn(seen: Seen) -> None:
    assert seen[ALL_ONE].refused(f"Argument 'extra' is not a declared field. Remove it and call again.\n{DECLARED}")
    assert seen[ALL_TWO].refused(f"Arguments 'b', 'a' are not declared fields. Remove them and call again.\n{DECLARED}")
    assert seen[ALL_ONE].decision["rule"] == "arguments.unknown"
    assert seen[ALL_ONE].decision["status"] == "blocked"
    assert seen[ALL_RIGHT].passed()


@pytest.mark.requirement("D4")
def test_ignored_names_are_let_pass_and_no_others(seen: Seen) -> None:
    assert seen[ALL_IGNORE].passed()
    let_pass, refused = seen[IGNORE].sent
    assert let_pass.answer.text == "created"
    assert refused.answer.text == WRAPPED_TEXT


@pytest.mark.requirement("D4")
def test_reject_all_believes_an_author_who_says_that_the_object_is_open(seen: Seen) -> None:
    assert seen[OPEN_ALL].passed()


SCHEMA_OPEN = case("schema_says_nothing", COUNTED, calls=['{"count": 1, "data": {"a": 1}}'], unknown_arguments="schema")
SCHEMA_WRAPPED = case("schema_wrapped", COUNTED, calls=[WRAPPED], unknown_arguments="schema")
SCHEMA_CLOSED = case(
    "schema_closed",
    COUNTED | {"additionalProperties": False},
    calls=['{"count": 1, "data": {"a": 1}}'],
    unknown_arguments="schema",
    input_mode="strict",
)


@pytest.mark.requirement("D4")
def test_schema_leaves_unknown_arguments_to_what_the_schema_says(seen: Seen) -> None:
    assert seen[SCHEMA_OPEN].passed()
    assert seen[SCHEMA_OPEN].decisions == []
    assert seen[SCHEMA_WRAPPED].passed()
    assert seen[SCHEMA_WRAPPED].decision["rule"] == "arguments.schema"
    assert seen[SCHEMA_CLOSED].reached == []
    assert seen[SCHEMA_CLOSED].decision["rule"] == "arguments.schema"


TYPED = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "x": {"type": "number"}, "b": {"type": "boolean"}},
    "required": ["n"],
}
LENIENT = case(
    "lenient",
    TYPED,
    calls=['{"n": "3"}', '{"n": "3", "x": "1.5", "b": "true"}', '{"n": "three"}', '{"x": "1"}', '{"n": "3.5"}'],
    input_mode="strict",
    lenient_scalars=True,
)
NOT_LENIENT = case("not_lenient", TYPED, calls=['{"n": "3"}'], input_mode="strict")
LENIENT_BOMB = case(
    "lenient_bomb",
    TYPED,
    calls=[json.dumps({"n": "[" * 5000}), json.dumps({"n": "9" * 5000})],
    input_mode="strict",
    lenient_scalars=True,
)


@pytest.mark.requirement("D7")
def test_lenient_scalars_let_numbers_and_booleans_be_sent_as_text_and_forward_the_text(seen: Seen) -> None:
    outcome = seen[LENIENT]
    assert [sent.answer.is_error for sent in outcome.sent] == [False, False, True, True, True]
    assert [entry.message["params"]["arguments"] for entry in outcome.reached] == [
        {"n": "3"},
        {"n": "3", "x": "1.5", "b": "true"},
    ]
    assert seen[NOT_LENIENT].reached == []


def test_text_that_no_reader_survives_is_not_a_scalar(seen: Seen) -> None:
    deep, _long = seen[LENIENT_BOMB].sent
    assert deep.answer.text.startswith("The arguments do not fit what the tool declares: n: must be an integer")


NOT_OBJECTS = {
    text: case(f"not_object_{number}", COUNTED, calls=[text])
    for number, text in enumerate(("[]", "1", '"a"', "true", '[{"count": 1}]'))
}
NO_ARGUMENTS = case("no_arguments", {"type": "object", "properties": {"a": {}}}, calls=[None, "null", "{}"])
NO_ARGUMENTS_STRICT = case("no_arguments_strict", COUNTED, calls=[None, "null"], input_mode="strict")


@pytest.mark.parametrize("text", NOT_OBJECTS)
def test_arguments_that_are_no_object_are_refused(seen: Seen, text: str) -> None:
    assert seen[NOT_OBJECTS[text]].refused("The arguments must be a JSON object. Send one and call again.")
    assert seen[NOT_OBJECTS[text]].decision["rule"] == "arguments.schema"


def test_missing_and_null_arguments_are_no_arguments(seen: Seen) -> None:
    assert seen[NO_ARGUMENTS].passed()
    assert seen[NO_ARGUMENTS].decisions == []
    missing, null = seen[NO_ARGUMENTS_STRICT].sent
    assert "count" in missing.answer.text
    assert null.answer.text == missing.answer.text
    assert seen[NO_ARGUMENTS_STRICT].reached == []


AMBIGUOUS = {
    "twice": ('{"count": 1, "count": 2}', "an object has the same key twice"),
    "twice_escaped": ('{"count": 1, "c\\u006funt": 2}', "an object has the same key twice"),
    "twice_below": ('{"count": 1, "list": [{"a": 1, "a": 1}]}', "an object has the same key twice"),
}
NO_NUMBERS = {"nan": '{"count": NaN}', "infinity": '{"count": Infinity}', "minus": '{"count": -Infinity}'}
AMBIGUOUS_CASES = {
    f"{name}_{mode}": (
        case(f"ambiguous_{name}_{mode}", COUNTED, calls=[text], input_mode=mode, unknown_arguments="schema"),
        f"The arguments are ambiguous: {why}. Send plain JSON and call again.",
    )
    for name, (text, why) in AMBIGUOUS.items()
    for mode in ("warn", "strict")
}
NO_NUMBER_CASES = {
    f"{name}_{mode}": case(f"no_number_{name}_{mode}", COUNTED, calls=[text], input_mode=mode)
    for name, text in NO_NUMBERS.items()
    for mode in ("off", "warn", "strict")
}
LONE = case("lone_surrogate", {"type": "object"}, calls=['{"a": "\\ud83d"}'])
BIG = case("big_numbers", COUNTED, calls=['{"count": 9007199254740993}', f'{{"count": {"7" * 300}}}'])
BEYOND = {
    text: case(f"beyond_a_double_{number}", {"type": "object"}, calls=[text])
    for number, text in enumerate(
        (
            '{"a": 1e400}',
            '{"a": [{"b": -1E+400}]}',
            '{"a": 1.8e308}',
            f'{{"a": {"9" * 309}}}',
            f'{{"a": -{"1" * 4000}}}',
        )
    )
}


@pytest.mark.requirement("D20")
@pytest.mark.parametrize("name", AMBIGUOUS_CASES)
def test_ambiguous_arguments_are_refused_in_every_judging_mode(seen: Seen, name: str) -> None:
    which, text = AMBIGUOUS_CASES[name]
    assert seen[which].refused(text)
    decision = seen[which].decision
    assert (decision["status"], decision["rule"]) == ("blocked", "arguments.ambiguous")


@pytest.mark.requirement("D20")
@pytest.mark.parametrize("name", NO_NUMBER_CASES)
def test_a_request_with_what_json_does_not_have_never_reaches_the_tool(seen: Seen, name: str) -> None:
    outcome = seen[NO_NUMBER_CASES[name]]
    assert outcome.reached == []
    assert outcome.answer.is_error


@pytest.mark.requirement("D20")
def test_half_a_character_in_the_arguments_is_refused(seen: Seen) -> None:
    assert seen[LONE].refused(
        "The arguments are ambiguous: it holds text that is not valid Unicode. Send plain JSON and call again."
    )


@pytest.mark.requirement("D20")
@pytest.mark.requirement("S6")
@pytest.mark.parametrize("text", BEYOND)
def test_a_number_beyond_a_double_is_refused_because_readers_differ_on_it(seen: Seen, text: str) -> None:
    outcome = seen[BEYOND[text]]
    why = "it holds a number beyond the range of a double"
    assert outcome.refused(f"The arguments are ambiguous: {why}. Send plain JSON and call again.")
    assert (outcome.decision["status"], outcome.decision["rule"]) == ("blocked", "arguments.ambiguous")


@pytest.mark.requirement("D20")
def test_big_integers_are_forwarded_as_sent(seen: Seen) -> None:
    assert seen[BIG].passed()
    assert seen[BIG].decisions == []


# --- names that are almost right -------------------------------------------------------------------------------------

ALMOST = "A tool may take one for the other: send each field once, by its exact name, and call again."
NEAR = {
    text: case(f"near_{number}", COUNTED, calls=[text])
    for number, text in enumerate(
        (
            '{"count": 1, "Name": "a"}',
            '{"count": 1, "name\\u0000": "a"}',
            '{"count": 1, " name": "a"}',
            '{"count": 1, "na\\u2028me": "a"}',
            '{"count": 1, "NAME": "a", "name": "b"}',
            '{"count": 1, "nam\u0117": 1, "NAM\u0116": 2}',
        )
    )
}
NEAR_OPEN = case("near_open", COUNTED | {"additionalProperties": True}, calls=['{"count": 1, "COUNT": 2}'])
NEAR_STRICT = case("near_strict", COUNTED, calls=['{"count": 1, "COUNT": 2}'], input_mode="strict")
NEAR_DECLARED = case(
    "near_declared", {"type": "object", "properties": {"a": {}, "A": {}}}, calls=['{"a": 1, "A": 2}', '{"A": 2}']
)
NEAR_IGNORED = case("near_ignored", COUNTED, calls=['{"count": 1, "COUNT": 2}'], ignore=["COUNT"])
NEAR_SCHEMA = case("near_schema", COUNTED, calls=['{"count": 1, "COUNT": 2}'], unknown_arguments="schema")
NEAR_OFF = case("near_off", COUNTED, calls=['{"count": 1, "COUNT": 2}'], input_mode="off")
NOT_NEAR = case("not_near", COUNTED, calls=['{"count": 1, "counts": 2, "c_ount": 3}'])


@pytest.mark.requirement("D21")
@pytest.mark.requirement("S6")
@pytest.mark.parametrize("which", [*NEAR.values(), NEAR_OPEN, NEAR_STRICT], ids=lambda which: which.tool)
def test_an_argument_whose_name_is_almost_right_is_refused_in_warn_too(seen: Seen, which: Case) -> None:
    outcome = seen[which]
    assert outcome.reached == []
    assert outcome.answer.text.splitlines()[1:] == [ALMOST, DECLARED]
    assert (outcome.decision["status"], outcome.decision["rule"]) == ("blocked", "arguments.unknown")


@pytest.mark.requirement("S6")
def test_the_agent_reads_which_name_was_meant(seen: Seen) -> None:
    upper, *_, both = [seen[which] for which in NEAR.values()]
    assert upper.refused(f"Argument 'Name' is spelled almost like the declared field 'name'.\n{ALMOST}\n{DECLARED}")
    assert both.refused(f"Arguments 'nam\u0117' and 'NAM\u0116' differ only in case or blanks.\n{ALMOST}\n{DECLARED}")


@pytest.mark.requirement("S6")
@pytest.mark.parametrize(
    "which", [NEAR_DECLARED, NEAR_IGNORED, NEAR_SCHEMA, NEAR_OFF, NOT_NEAR], ids=lambda which: which.tool
)
def test_declared_names_ignored_ones_and_a_schema_alone_do_not_clash(seen: Seen, which: Case) -> None:
    assert seen[which].passed()
    assert seen[which].decisions == []


# --- tools that are not listed ---------------------------------------------------------------------------------------

UNLISTED = "The server lists no tool of this name. Take a name from tools/list and call again."
HIDDEN = {
    "arguments strict": case("hidden_in", is_listed=False, input_mode="strict"),
    "results strict": case("hidden_out", is_listed=False, output_mode="strict"),
    "only results judged": case("hidden_off", is_listed=False, output_mode="strict", input_mode="off"),
    "warn and block": case("hidden_warn", is_listed=False, unknown_tools="block"),
    "off and block": case(
        "hidden_both_off", is_listed=False, unknown_tools="block", input_mode="off", output_mode="off"
    ),
    "upper case": case("BIG_NUMBERS", is_listed=False, input_mode="strict"),
}
LET_PASS = {
    "warn": case("hidden_let_pass", is_listed=False),
    "strict and allow": case("hidden_allowed", is_listed=False, input_mode="strict", unknown_tools="allow"),
}


@pytest.mark.requirement("D21")
@pytest.mark.requirement("S6")
@pytest.mark.parametrize("which", HIDDEN)
def test_a_tool_that_is_not_listed_is_refused_in_strict(seen: Seen, which: str) -> None:
    outcome = seen[HIDDEN[which]]
    assert outcome.reached == []
    message = outcome.answer.message
    assert message["error"] == {"code": -32602, "message": UNLISTED}
    assert (outcome.decision["status"], outcome.decision["rule"]) == ("blocked", "contract.unlisted")
    assert (outcome.call["status"], outcome.call["rule"]) == ("blocked", "contract.unlisted")


@pytest.mark.requirement("D21")
@pytest.mark.parametrize("which", LET_PASS)
def test_elsewhere_it_is_forwarded_and_on_record_as_unjudged(seen: Seen, which: str) -> None:
    outcome = seen[LET_PASS[which]]
    assert outcome.passed()
    assert (outcome.call["status"], outcome.call["rule"]) == ("warning", "contract.unknown")
