"""Schemas that cannot be compiled, and those that only the slow lane can run: what is judged all the same (D14)."""

import pytest

from tests.contracts.cases import Case, Outcome, Seen, case
from tests.contracts.judged import RIGHT, TOTAL, WRONG, is_blocked, is_unremarkable, is_warned, structured
from tests.contracts.rig import Json

pytestmark = [pytest.mark.requirement("S3"), pytest.mark.requirement("D14")]


def deep(levels: int) -> Json:
    return {"not": deep(levels - 1)} if levels else {"type": "string"}


# One part of each cannot be compiled; what it declares can be read from every one of them.
TOO_LARGE = "^(\\p{L}{1,1000}){1,50}$"
FAULTS: dict[str, tuple[Json, str]] = {
    "type": ({"type": "nonsense"}, "The schema is not valid at #/properties/b/type."),
    "elsewhere": (
        {"$ref": "https://example.com/schema.json"},
        "The schema refers to something outside itself; references are never fetched.",
    ),
    "dangling": ({"$ref": "#/$defs/none"}, "The schema refers to something that is not in it."),
    "pattern": ({"pattern": "(a"}, "The pattern at #/properties/b/pattern is not a valid regular expression."),
    "class": (
        {"pattern": "\\p{Nonsense}"},
        "The pattern at #/properties/b/pattern uses something that no engine here can match.",
    ),
    "deep": (deep(70), "The schema is nested more than 64 levels deep."),
    "large": ({"enum": ["x" * 300_000]}, "The schema is larger than 262144 bytes, not counting its annotations."),
    "in_the_lane": ({"pattern": TOO_LARGE}, "The pattern at #/properties/b/pattern is too large."),
}
DRAFT = "The schema's $schema names no draft known here; use draft-07 or 2020-12."


def with_fault(name: str) -> Json:
    return {"type": "object", "properties": {"a": {"type": "integer"}, "b": FAULTS[name][0]}, "required": ["a"]}


SCHEMAS = {name: with_fault(name) for name in FAULTS}
SCHEMAS["draft"] = {"$schema": "https://example.com/own-draft", "type": "object", "properties": {"a": {}, "b": {}}}
REASONS = {name: reason for name, (_, reason) in FAULTS.items()} | {"draft": DRAFT}

FITTING, WRAPPED = '{"a": 1, "b": "c"}', '{"data": {"a": 1}}'
WRAPPED_TEXT = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
    'Unwrap \'data\': send "a" directly, not inside "data".\n'
    'Declared fields: ["a", "b"].'
)


def inputs(kind: str, *calls: str, **policy: Json) -> dict[str, Case]:
    return {name: case(f"unusable_{kind}_{name}", schema, calls=calls, **policy) for name, schema in SCHEMAS.items()}


INPUT_WRAPPED = inputs("wrapped", WRAPPED)
INPUT_UNKNOWN = inputs("unknown", '{"a": 1, "extra": 2}', unknown_arguments="reject_all")
INPUT_WARN = inputs("warn", FITTING, FITTING)
INPUT_STRICT = inputs("strict", FITTING, input_mode="strict")
INPUT_ALLOW = inputs("allow", FITTING, input_mode="strict", input_uncompilable_schema="allow")
INPUT_WARN_BLOCK = inputs("warn_block", FITTING, input_uncompilable_schema="block")


@pytest.mark.requirement("000-4")
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_wrapped_payload_is_refused_although_the_schema_cannot_be_compiled(seen: Seen, name: str) -> None:
    assert seen[INPUT_WRAPPED[name]].refused(WRAPPED_TEXT)
    assert seen[INPUT_WRAPPED[name]].decision["rule"] == "arguments.nested_wrapper"


@pytest.mark.requirement("D4")
@pytest.mark.parametrize("name", SCHEMAS)
def test_an_undeclared_name_is_refused_although_the_schema_cannot_be_compiled(seen: Seen, name: str) -> None:
    text = 'Argument \'extra\' is not a declared field. Remove it and call again.\nDeclared fields: ["a", "b"].'
    assert seen[INPUT_UNKNOWN[name]].refused(text)
    assert seen[INPUT_UNKNOWN[name]].decision["rule"] == "arguments.unknown"


def refusal(name: str) -> str:
    return (
        f"The arguments cannot be checked, because the tool's input schema cannot be used: {REASONS[name]} "
        "Do not repeat the call. Report this to the operator, who can have the schema corrected, or let such calls "
        'pass with input_validation.uncompilable_schema = "allow".'
    )


def marks(outcome: Outcome) -> list[Json]:
    return [record["details"].get("unjudged") for record in outcome.records if record["type"] == "tool_call"]


def diagnostics(outcome: Outcome) -> list[tuple[str, str]]:
    return [(record["rule"], record["reason"]) for record in outcome.records if record["type"] == "diagnostic"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_strict_refuses_arguments_that_cannot_be_judged_and_says_what_to_do(seen: Seen, name: str) -> None:
    outcome = seen[INPUT_STRICT[name]]
    assert outcome.refused(refusal(name))
    assert (outcome.decision["status"], outcome.decision["rule"]) == ("blocked", "arguments.schema")
    assert outcome.decision["reason"] == refusal(name)
    assert (outcome.call["status"], marks(outcome)) == ("blocked", [[f"arguments: {REASONS[name]}"]])


@pytest.mark.parametrize("name", SCHEMAS)
def test_warn_forwards_them_each_marked_with_the_true_reason_and_reports_once(seen: Seen, name: str) -> None:
    outcome = seen[INPUT_WARN[name]]
    assert outcome.passed()
    assert outcome.decisions == []
    assert marks(outcome) == [[f"arguments: {REASONS[name]}"]] * 2
    told = f"The tool's input schema cannot be used, so only what needs none is judged: {REASONS[name]}"
    assert diagnostics(outcome) == [("schema.uncompilable", told)]


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_the_operator_says_about_unjudged_arguments_wins_over_the_mode(seen: Seen, name: str) -> None:
    allowed, warned = seen[INPUT_ALLOW[name]], seen[INPUT_WARN_BLOCK[name]]
    assert allowed.passed()
    assert (allowed.decisions, marks(allowed)) == ([], [[f"arguments: {REASONS[name]}"]])
    assert warned.passed()
    assert (warned.decision["status"], warned.decision["reason"]) == ("warning", refusal(name))


def outputs(kind: str, content: str, calls: int = 1, **policy: Json) -> dict[str, Case]:
    return {
        name: case(f"unusable_{kind}_{name}", None, schema, result=structured(content), calls=["{}"] * calls, **policy)
        for name, schema in SCHEMAS.items()
    }


OUTPUT_WARN = outputs("result_warn", FITTING, 2)
OUTPUT_STRICT = outputs("result_strict", FITTING, output_mode="strict")
OUTPUT_ALLOW = outputs("result_allow", FITTING, output_mode="strict", uncompilable_schema="allow")
OUTPUT_WARN_BLOCK = outputs("result_warn_block", FITTING, uncompilable_schema="block")
OUTPUT_TWICE = outputs("result_twice", '{"a":1,"a":2,"b":"c"}', output_mode="strict", uncompilable_schema="allow")
OUTPUT_BYTES = outputs("result_bytes", FITTING, output_mode="strict", uncompilable_schema="allow", max_bytes=5)


def result_reason(name: str) -> str:
    return (
        f"the tool's declared output schema cannot be used ({REASONS[name].removesuffix('.')}), "
        "and output_validation.uncompilable_schema does not allow that"
    )


@pytest.mark.requirement("004-9")
@pytest.mark.parametrize("name", SCHEMAS)
def test_strict_blocks_a_result_that_cannot_be_judged(seen: Seen, name: str) -> None:
    outcome = seen[OUTPUT_STRICT[name]]
    assert is_blocked(outcome, "result.schema", result_reason(name))
    assert marks(outcome) == [[f"result: {REASONS[name]}"]]


@pytest.mark.requirement("004-9")
@pytest.mark.parametrize("name", SCHEMAS)
def test_warn_forwards_a_result_that_cannot_be_judged_marked_and_reports_once(seen: Seen, name: str) -> None:
    outcome = seen[OUTPUT_WARN[name]]
    assert outcome.passed()
    assert outcome.decisions == []
    assert marks(outcome) == [[f"result: {REASONS[name]}"]] * 2
    told = f"The tool's output schema cannot be used, so only what needs none is judged: {REASONS[name]}"
    assert diagnostics(outcome) == [("schema.uncompilable", told)]


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_the_operator_says_about_unjudged_results_wins_over_the_mode(seen: Seen, name: str) -> None:
    assert seen[OUTPUT_ALLOW[name]].passed()
    assert (seen[OUTPUT_ALLOW[name]].decisions, marks(seen[OUTPUT_ALLOW[name]])) == (
        [],
        [[f"result: {REASONS[name]}"]],
    )
    assert is_warned(seen[OUTPUT_WARN_BLOCK[name]], "result.schema", result_reason(name))


@pytest.mark.requirement("004-6")
@pytest.mark.requirement("D20")
@pytest.mark.parametrize("name", SCHEMAS)
def test_guards_and_ambiguity_are_judged_although_the_schema_cannot_be_compiled(seen: Seen, name: str) -> None:
    twice = "the structured content is ambiguous: an object has the same key twice"
    assert is_blocked(seen[OUTPUT_TWICE[name]], "result.ambiguous", twice)
    bytes_reason = f"the structured content has {len(FITTING)} bytes, over the limit of 5"
    assert is_blocked(seen[OUTPUT_BYTES[name]], "result.max_bytes", bytes_reason)


PASSWORD, SLUG, REPEATED = r"^(?=.*[A-Z])(?=.*\d).{8,}$", r"^(?!-)[a-z0-9-]+$", r"^(['\"]).*\1$"
HARD = {
    "ahead": (PASSWORD, "Passw0rd", "password"),
    "not_ahead": (SLUG, "a-b", "-ab"),
    "behind": (r"(?<!-)$", "ab", "ab-"),
    "back": (REPEATED, "'a'", "'a"),
}
# Matching it takes longer the more letters there are: 2 to the power of them.
ENDLESS, ENDLESS_TEXT = r"^(?:(a+)\1?)+$", "a" * 30 + "b"


def patterned(pattern: str) -> Json:
    return {"type": "object", "properties": {"p": {"type": "string", "pattern": pattern}, "n": {"type": "integer"}}}


def sent(text: str) -> str:
    escaped = text.replace('"', '\\"')
    return f'{{"p": "{escaped}"}}'


HARD_INPUT = {
    name: case(f"hard_{name}", patterned(pattern), calls=[sent(right), sent(wrong), '{"n": "x"}'], input_mode="strict")
    for name, (pattern, right, wrong) in HARD.items()
}
HARD_WRAPPED = case("hard_wrapped", patterned(PASSWORD), calls=['{"data": {"p": "Passw0rd"}}'])
HARD_RIGHT = {
    name: case(f"hard_right_{name}", None, patterned(pattern), result=structured(sent(right)), output_mode="strict")
    for name, (pattern, right, _) in HARD.items()
}
HARD_WRONG = {
    name: case(f"hard_wrong_{name}", None, patterned(pattern), result=structured(sent(wrong)), output_mode="strict")
    for name, (pattern, _, wrong) in HARD.items()
}
HARD_LENIENT = case(
    "hard_lenient",
    patterned(PASSWORD),
    calls=['{"n": "3"}', '{"n": "three"}', '{"n": "3", "p": "password"}'],
    input_mode="strict",
    lenient_scalars=True,
)


@pytest.mark.parametrize("name", HARD)
def test_arguments_are_judged_by_look_around_and_backreferences(seen: Seen, name: str) -> None:
    outcome = seen[HARD_INPUT[name]]
    assert [each.answer.is_error for each in outcome.sent] == [False, True, True]
    assert len(outcome.reached) == 1
    texts = [each.answer.text.splitlines()[0] for each in outcome.sent[1:]]
    assert texts == [
        f"The arguments do not fit what the tool declares: {words}. Correct them and call again."
        for words in (f"p: must match the pattern {HARD[name][0]}", "n: must be an integer, not a string")
    ]
    assert [decision["rule"] for decision in outcome.decisions] == ["arguments.schema"] * 2
    assert (marks(outcome), diagnostics(outcome)) == ([None] * 3, [])


def test_a_wrapper_is_refused_beside_a_look_ahead(seen: Seen) -> None:
    outcome = seen[HARD_WRAPPED]
    assert outcome.reached == []
    assert outcome.decision["rule"] == "arguments.nested_wrapper"


@pytest.mark.parametrize("name", HARD)
def test_results_are_judged_by_look_around_and_backreferences(seen: Seen, name: str) -> None:
    assert is_unremarkable(seen[HARD_RIGHT[name]])
    what = f"p: must match the pattern {HARD[name][0]}"
    reason = f"the structured content does not match the declared output schema: {what}"
    assert is_blocked(seen[HARD_WRONG[name]], "result.schema", reason)


@pytest.mark.requirement("D7")
def test_lenient_scalars_hold_beside_a_look_ahead(seen: Seen) -> None:
    outcome = seen[HARD_LENIENT]
    assert [each.answer.is_error for each in outcome.sent] == [False, True, True]


ENDLESS_INPUT = case(
    "hard_endless",
    patterned(ENDLESS),
    calls=[sent(ENDLESS_TEXT)] * 4 + [sent("aaaa"), sent("b")],
    input_mode="strict",
)
ENDLESS_WARN = case("hard_endless_warn", patterned(ENDLESS), calls=[sent(ENDLESS_TEXT)])
ENDLESS_RESULT = case(
    "hard_endless_result", None, patterned(ENDLESS), result=structured(sent(ENDLESS_TEXT)), output_mode="strict"
)


@pytest.mark.requirement("C1")
def test_a_text_that_makes_a_pattern_search_without_end_is_stopped_and_holds_up_no_other(seen: Seen) -> None:
    outcome = seen[ENDLESS_INPUT]
    stopped = (
        "The arguments do not fit what the tool declares: checking them took too long and was stopped. "
        "Correct them and call again."
    )
    assert [each.answer.text.splitlines()[0] for each in outcome.sent[:4]] == [stopped] * 4
    # Nor is the tool lost to the others afterwards.
    assert [each.answer.is_error for each in outcome.sent[4:]] == [False, True]
    assert "must match the pattern" in outcome.sent[5].answer.text
    assert len(outcome.reached) == 1
    assert seen[ENDLESS_WARN].passed()
    assert (seen[ENDLESS_WARN].decision["status"], seen[ENDLESS_WARN].decision["rule"]) == (
        "warning",
        "arguments.schema",
    )


@pytest.mark.requirement("C1")
def test_a_result_that_makes_a_pattern_search_without_end_is_blocked(seen: Seen) -> None:
    reason = "checking the structured content against the declared output schema took too long and was stopped"
    assert is_blocked(seen[ENDLESS_RESULT], "result.schema", reason)


PROSE = "x" * 300_000
ANNOTATED: Json = {
    "type": "object",
    "description": PROSE,
    # A property of that name is no annotation.
    "properties": {"description": {"type": "integer", "default": 1, "examples": [PROSE]}, "title": {"const": 1}},
}
LONG_PROSE = case(
    "long_prose", ANNOTATED, calls=['{"description": 1, "title": 1}', '{"description": "x"}'], input_mode="strict"
)
LONG_PROSE_RESULT = case(
    "long_prose_result", None, TOTAL | {"description": PROSE}, result=structured(WRONG), output_mode="strict"
)
LONG_PROSE_RIGHT = case(
    "long_prose_right", None, TOTAL | {"description": PROSE}, result=structured(RIGHT), output_mode="strict"
)


def test_prose_does_not_count_towards_the_size_of_a_schema(seen: Seen) -> None:
    outcome = seen[LONG_PROSE]
    assert [each.answer.is_error for each in outcome.sent] == [False, True]
    assert "description: must be an integer" in outcome.sent[1].answer.text
    assert seen[LONG_PROSE_RESULT].decision["rule"] == "result.schema"
    assert is_unremarkable(seen[LONG_PROSE_RIGHT])
