"""004 at the gateway: results under every mode, on every route, for clients of both eras."""

import json

import pytest

from tests.contracts.cases import Case, Seen, case
from tests.contracts.judged import (
    RIGHT,
    TOTAL,
    WRONG,
    WRONG_REASON,
    is_blocked,
    is_unremarkable,
    is_warned,
    structured,
)

OFF = case("result_off", None, TOTAL, result=structured(WRONG), output_mode="off")
WARN = case("result_warn", None, TOTAL, result=structured(WRONG))
STRICT = case("result_strict", None, TOTAL, result=structured(WRONG), output_mode="strict")
CONFORMING = [
    case(f"conforming_{mode}", None, TOTAL, result=structured(RIGHT), output_mode=mode)
    for mode in ("off", "warn", "strict")
]
SPELLED = case(
    "spelled",
    None,
    TOTAL,
    result='{ "structuredContent" : {"z":1.0, "total" :\t9007199254740993,"e":"\\u00e9é\\/"} ,'
    '"content":[ ],"_meta":{"k":1e2}}',
    output_mode="strict",
)


@pytest.mark.requirement("004-2")
@pytest.mark.requirement("004-4")
def test_off_judges_nothing_and_leaves_no_decision(seen: Seen) -> None:
    assert is_unremarkable(seen[OFF])


@pytest.mark.requirement("004-2")
@pytest.mark.requirement("004-4")
@pytest.mark.requirement("004-5")
@pytest.mark.requirement("004-11")
@pytest.mark.requirement("004-15")
@pytest.mark.requirement("D16")
def test_warn_is_the_default_and_forwards_a_violation_unaltered_with_one_record(seen: Seen) -> None:
    assert is_warned(seen[WARN], "result.schema", WRONG_REASON)


@pytest.mark.requirement("004-2")
@pytest.mark.requirement("004-4")
@pytest.mark.requirement("004-5")
@pytest.mark.requirement("004-15")
@pytest.mark.requirement("D16")
def test_strict_replaces_a_violation_by_one_clear_text(seen: Seen) -> None:
    assert is_blocked(seen[STRICT], "result.schema", WRONG_REASON)


@pytest.mark.requirement("004-3")
@pytest.mark.parametrize("which", [*CONFORMING, SPELLED], ids=lambda which: which.tool)
def test_what_conforms_arrives_byte_for_byte_without_a_decision(seen: Seen, which: Case) -> None:
    assert is_unremarkable(seen[which])


@pytest.mark.requirement("D17")
def test_no_value_of_a_result_is_on_record(seen: Seen) -> None:
    assert "s3cret" not in json.dumps([record for which in (WARN, STRICT) for record in seen[which].records])


SEVERAL = case(
    "result_several",
    None,
    TOTAL | {"properties": {"total": {"type": "integer"}, "name": {"type": "string"}}},
    result=structured('{"total":"x","name":1}'),
)
TWICE = case("result_twice", None, TOTAL, result=structured(WRONG), calls=["{}", "{}", "{}"])


@pytest.mark.requirement("D16")
def test_all_violations_of_a_result_are_in_one_decision(seen: Seen) -> None:
    reason = seen[SEVERAL].decision["reason"]
    assert "total: must be an integer, not a string" in reason
    assert "name: must be a string, not an integer" in reason


@pytest.mark.requirement("004-5")
def test_every_failing_call_leaves_exactly_one_decision_of_its_own(seen: Seen) -> None:
    twice = seen[TWICE]
    calls = [record["request_id"] for record in twice.records if record["type"] == "tool_call"]
    assert [decision["request_id"] for decision in twice.decisions] == calls
    assert len(set(calls)) == 3


NO_SCHEMA = [
    case(f"no_schema_{mode}", None, None, result=structured(WRONG), output_mode=mode) for mode in ("warn", "strict")
]


@pytest.mark.requirement("004-7")
@pytest.mark.parametrize("which", NO_SCHEMA, ids=lambda which: which.tool)
def test_without_a_schema_nothing_is_judged(seen: Seen, which: Case) -> None:
    assert is_unremarkable(seen[which])


TEXT_ONLY = '{"content":[{"type":"text","text":"only"}]}'
MISSING_ALLOWED = [
    case("missing_warn", None, TOTAL, result=TEXT_ONLY),
    case("missing_warn_block", None, TOTAL, result=TEXT_ONLY, missing_structured_content="block"),
    case("missing_strict", None, TOTAL, result=TEXT_ONLY, output_mode="strict"),
    case("missing_off", None, TOTAL, result=TEXT_ONLY, output_mode="off", missing_structured_content="block"),
]
MISSING_BLOCKED = case(
    "missing_block", None, TOTAL, result=TEXT_ONLY, output_mode="strict", missing_structured_content="block"
)


@pytest.mark.requirement("004-8")
@pytest.mark.parametrize("which", MISSING_ALLOWED, ids=lambda which: which.tool)
def test_missing_structured_content_passes_unless_strict_is_told_to_block_it(seen: Seen, which: Case) -> None:
    assert is_unremarkable(seen[which])


@pytest.mark.requirement("004-8")
def test_missing_structured_content_is_blocked_where_strict_is_told_to(seen: Seen) -> None:
    reason = "the tool declares an output schema but sent no structured content"
    assert is_blocked(seen[MISSING_BLOCKED], "result.missing", reason)


NULL_WRONG = case(
    "null_wrong",
    None,
    TOTAL,
    result=structured("null"),
    output_mode="strict",
    missing_structured_content="block",
)
ANY_VALUE = [
    case(f"any_{kind}", None, {"type": kind}, result=structured(text), output_mode="strict")
    for kind, text in {
        "null": "null",
        "array": "[1]",
        "string": '"s"',
        "number": "1.50",
        "boolean": "false",
    }.items()
]
NOT_OBJECTS = [
    case(f"no_object_{n}", None, TOTAL, result=structured(text)) for n, text in enumerate(("[1]", '"s"', "5"))
]


@pytest.mark.requirement("D15")
def test_null_is_present_and_judged(seen: Seen) -> None:
    reason = "the structured content does not match the declared output schema: must be an object, not null"
    assert is_blocked(seen[NULL_WRONG], "result.schema", reason)


@pytest.mark.requirement("D15")
@pytest.mark.parametrize("which", ANY_VALUE, ids=lambda which: which.tool)
def test_any_json_value_is_legal_where_the_schema_says_so(seen: Seen, which: Case) -> None:
    assert is_unremarkable(seen[which])


@pytest.mark.requirement("D15")
@pytest.mark.parametrize("which", NOT_OBJECTS, ids=lambda which: which.tool)
def test_structured_content_that_is_no_object_is_judged_like_any_other(seen: Seen, which: Case) -> None:
    assert seen[which].passed()
    assert seen[which].decision["rule"] == "result.schema"


IS_ERROR = [
    case("error_wrong", None, TOTAL, result=structured(WRONG, ',"isError":true'), output_mode="strict"),
    case(
        "error_missing",
        None,
        TOTAL,
        result='{"content":[],"isError":true}',
        output_mode="strict",
        missing_structured_content="block",
    ),
    case("error_huge", None, TOTAL, result=structured(WRONG, ',"isError":true'), output_mode="strict", max_bytes=1),
]
NOT_ERROR = case("error_false", None, TOTAL, result=structured(WRONG, ',"isError":false'), output_mode="strict")


@pytest.mark.requirement("004-10")
@pytest.mark.parametrize("which", IS_ERROR, ids=lambda which: which.tool)
def test_a_result_that_says_it_failed_is_neither_judged_nor_replaced(seen: Seen, which: Case) -> None:
    assert is_unremarkable(seen[which], "error")


@pytest.mark.requirement("004-10")
def test_is_error_false_is_judged(seen: Seen) -> None:
    assert is_blocked(seen[NOT_ERROR], "result.schema", WRONG_REASON)


CONTENT = (
    '{"content":[{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"audio","data":"","mimeType":"a/b"},'
    '{"type":"resource","resource":{"uri":"a:b","text":"x"}},{"type":"resource_link","uri":"a:b","name":"n"},'
    '{"type":"hologram","total":"x","total":"y"},7,null],"total":"x","_meta":{}'
)
ONLY_STRUCTURED = [
    case("odd_content", None, TOTAL, result=CONTENT + "}", output_mode="strict"),
    case("odd_content_right", None, TOTAL, result=CONTENT + ',"structuredContent":{"total":1}}', output_mode="strict"),
    case("no_content", None, TOTAL, result='{"structuredContent":{"total":1}}', output_mode="strict"),
    case("odd_text", None, TOTAL, result=structured(RIGHT, ',"x":"cut \\ud83d"'), output_mode="strict"),
    case("deep_content", None, TOTAL, result=structured(RIGHT, ',"x":' + "[" * 500 + "]" * 500), output_mode="strict"),
    case("no_object_result", None, TOTAL, result='["not","an","object"]', output_mode="strict"),
    case("empty_result", None, TOTAL, result="{}", output_mode="strict"),
]


@pytest.mark.requirement("004-14")
@pytest.mark.requirement("B5")
@pytest.mark.parametrize("which", ONLY_STRUCTURED, ids=lambda which: which.tool)
def test_only_structured_content_is_judged(seen: Seen, which: Case) -> None:
    assert is_unremarkable(seen[which])


NOT_FINAL = [
    case(
        f"not_final_{kind}",
        None,
        TOTAL,
        result=f'{{"content":[],"resultType":"{kind}"}}',
        output_mode="strict",
        missing_structured_content="block",
    )
    for kind in ("input_required", "task")
]
KINDS = {"complete": '"complete"', "unheard_of": '"odd"', "null": "null", "number": "1"}
KINDS |= {"task": '"task"', "input_required": '"input_required"', "escaped": '"t\\u0061sk"'}
FINAL = [
    case(f"final_{kind}", None, TOTAL, result=structured(WRONG, f',"resultType":{text}'), output_mode="strict")
    for kind, text in KINDS.items()
]


@pytest.mark.requirement("D19")
@pytest.mark.parametrize("which", NOT_FINAL, ids=lambda which: which.tool)
def test_what_is_not_final_passes_unjudged_where_the_revision_has_such_results(
    seen: Seen, which: Case, is_modern: bool
) -> None:
    """A server of 2025 knows no such word, and what it calls itself is no way past its schema."""
    if is_modern:
        assert is_unremarkable(seen[which])
    else:
        missing = "the tool declares an output schema but sent no structured content"
        assert is_blocked(seen[which], "result.missing", missing)


@pytest.mark.requirement("D19")
@pytest.mark.requirement("S5")
@pytest.mark.parametrize("which", FINAL, ids=lambda which: which.tool)
def test_structured_content_is_judged_whatever_its_result_type_says(seen: Seen, which: Case) -> None:
    assert is_blocked(seen[which], "result.schema", WRONG_REASON)


PROTOCOL_ERROR = case(
    "protocol_error",
    None,
    TOTAL,
    scripted={"error": '{"code":-32000,"message":"no"}'},
    output_mode="strict",
    missing_structured_content="block",
)


@pytest.mark.requirement("004-10")
def test_a_protocol_error_is_passed_on_and_recorded_as_an_error(seen: Seen) -> None:
    outcome = seen[PROTOCOL_ERROR]
    assert outcome.answer.message["error"] == {"code": -32000, "message": "no"}
    assert [(record["type"], record["status"]) for record in outcome.records] == [("tool_call", "error")]
