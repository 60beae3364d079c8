"""One call of a tool of our own: guardrails, arguments, run, result, envelope, record."""

import asyncio
import json
import logging
from typing import Any

import pytest

from handfast.core.answers.outcome import Failed, Succeeded
from handfast.toolkit import Actor, Answer, Toolbox, ToolError, err, read_tool
from tests.toolkit.contacts import SECRET, make_toolbox
from tests.toolkit.records import Kept

ADA = Actor(id="ada")


def run(tools: Toolbox, name: str, arguments: Any = None, *, actor: Any = None) -> Answer:
    return asyncio.run(tools.dispatch(name, arguments, actor=actor))


def failure(answer: Answer) -> Failed:
    assert isinstance(answer.outcome, Failed)
    return answer.outcome


# --- what goes right ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("002-1")
def test_structured_content_and_text_are_the_same_payload() -> None:
    for envelope in ("plain", "result", "status"):
        answer = run(make_toolbox(envelope), "create_contact", {"email": "a@b.c"})
        assert answer.payload is not None
        assert json.loads(answer.text) == answer.payload
        assert answer.outcome == Succeeded({"id": 1, "email": "a@b.c", "born": None, "score": 0.5})


@pytest.mark.requirement("D7")
def test_dates_are_read_from_text_and_numbers_are_not() -> None:
    tools = make_toolbox()
    assert run(tools, "create_contact", {"email": "a", "born": "2020-02-29"}).payload == {
        "id": 1,
        "email": "a",
        "born": "2020-02-29",
        "score": 0.5,
    }
    refused = failure(run(tools, "get_contact", {"id": "1"}))
    assert refused.message == (
        "The arguments do not fit what the tool declares: id: must be an integer, not a string. Correct them and call "
        'again.\nDeclared fields: ["id"].'
    )
    assert run(tools, "get_contact", {"id": 1.0}).payload is not None  # 1.0 is an integer to JSON Schema


@pytest.mark.requirement("001-11")
@pytest.mark.requirement("001-14")
def test_a_handler_gets_a_copy_of_its_own_and_the_guards_of_an_explicit_admin_tool() -> None:
    sent = {"text": "ha", "times": 2}
    tools = make_toolbox("status")
    assert run(tools, "echo", sent).payload == {"status": "ok", "data": "haha"}
    assert sent == {"text": "ha", "times": 2}
    purged = run(tools, "purge", {"id": 4, "confirm": True, "reason": "why not"}, actor=ADA)
    assert purged.outcome == Succeeded(
        {"arguments": {"id": 4, "confirm": True, "reason": "why not"}, "by": "ada", "left": 0}
    )


def test_progress_goes_to_whoever_asked_and_else_to_nobody() -> None:
    assert run(make_toolbox(), "count_contacts").payload == {"result": 0}


# --- what is refused before the tool runs ------------------------------------------------------------------------


@pytest.mark.requirement("000-8")
@pytest.mark.requirement("002-8")
@pytest.mark.requirement("D5")
def test_a_wrapped_payload_is_refused_with_the_one_text_and_nothing_is_stored() -> None:
    kept = Kept()
    tools = make_toolbox(recorder=kept)
    refused = failure(run(tools, "create_contact", {"data": {"email": "a", "first_name": "b"}}))
    assert (refused.code, refused.details) == ("invalid_input", {"kind": "shape"})
    assert refused.message == (
        "Argument 'data' is not a declared field and its value is a nested object.\n"
        "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
        'Unwrap \'data\': send "email", "first_name" directly, not inside "data".\n'
        'Declared fields: ["email", "first_name", "born", "address"].'
    )
    assert tools.app == {}
    assert kept.told() == [
        ("policy_decision", "blocked", "create_contact", "arguments.nested_wrapper"),
        ("tool_call", "blocked", "create_contact", "arguments.nested_wrapper"),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"email": "a", "bogus": 1}, "Argument 'bogus' is not a declared field. Remove it and call again."),
        ({"email": "a", "address": {"city": "x", "zap": 1}}, "address: has 1 property that is not allowed"),
        ({}, "must have the property 'email'"),
        ({"email": True}, "email: must be a string, not a boolean"),
        ({"email": "a", "born": "yesterday"}, "born: must be a date such as 2026-03-01"),
        ([], "The arguments must be a JSON object."),
        ({"email": float("nan")}, "it holds NaN or Infinity, which JSON does not have"),
        ({"email": "\ud800"}, "The arguments are ambiguous: it holds text that is not valid Unicode."),
    ],
)
@pytest.mark.requirement("D4")
def test_what_the_tool_does_not_declare_is_refused_at_every_level(arguments: Any, words: str) -> None:
    tools = make_toolbox()
    refused = failure(run(tools, "create_contact", arguments))
    assert refused.code == "invalid_input"
    assert words in refused.message
    assert tools.app == {}


@pytest.mark.requirement("003-4")
@pytest.mark.requirement("001-14")
@pytest.mark.parametrize(("tool", "arguments"), [("create_contact", {"email": 1}), ("echo", {"text": 1})])
def test_both_forms_refuse_with_the_same_envelope_event_and_count(
    tool: str, arguments: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    tools = make_toolbox("status")
    answer = run(tools, tool, arguments)
    assert answer.payload is not None
    field = next(iter(arguments))
    assert {key: answer.payload[key] for key in ("status", "error_type", "domain_code", "tool", "code")} == {
        "status": "error",
        "error_type": "ArgumentValidationError",
        "domain_code": "invalid_argument",
        "tool": tool,
        "code": "invalid_input",
    }
    assert f"{field}: must be a string, not an integer" in answer.payload["message"]
    events = [getattr(record, "event", "") for record in caplog.records]
    assert events.count("mcp.server.invoke.failed") == 1
    assert events.count("api.boundary.validation_failed") == (tool == "create_contact")
    assert tools.registry.outcomes.of(tool) == {"validation_error": 1}


@pytest.mark.requirement("D10")
@pytest.mark.requirement("D18")
@pytest.mark.parametrize(
    ("arguments", "actor", "violation"),
    [
        ({"id": "no number", "confirm": True, "reason": "r"}, None, "missing_actor"),
        ({"id": "no number", "actor": "root", "confirm": True, "reason": "r"}, Actor(name=" "), "missing_actor"),
        ({"id": "no number"}, ADA, "missing_confirm"),
        ({"id": "no number", "confirm": 1, "reason": "r"}, ADA, "missing_confirm"),
        ({"id": "no number", "confirm": True, "reason": " "}, ADA, "missing_reason"),
    ],
)
@pytest.mark.parametrize("tool", ["delete_contact", "purge"])
def test_guardrails_come_before_the_arguments(tool: str, arguments: Any, actor: Any, violation: str) -> None:
    kept = Kept()
    refused = failure(run(make_toolbox(recorder=kept), tool, arguments, actor=actor))
    assert (refused.code, refused.details) == ("guardrail_violated", {"violation": violation})
    assert [rule for *_, rule in kept.told()] == [f"access.{violation}"] * 2


@pytest.mark.requirement("003-10")
def test_an_admin_call_leaves_one_event_and_one_record_when_it_succeeds_and_none_otherwise(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "handfast.toolkit")
    kept = Kept()
    tools = make_toolbox(recorder=kept)
    run(tools, "create_contact", {"email": "a"})
    guards = {"confirm": True, "reason": "asked to, Bearer hunter2"}
    for arguments in ({"id": 9, **guards}, {"id": 1}, {"id": "x", **guards}):
        assert run(tools, "delete_contact", arguments, actor=ADA).is_error
    assert "mcp.admin.op_executed" not in [getattr(record, "event", "") for record in caplog.records]
    assert "admin_operation" not in [told[0] for told in kept.told()]

    deleted = run(tools, "delete_contact", {"id": 1, **guards}, actor=ADA)
    assert deleted.payload == {"id": 1, "reason": guards["reason"], "by": "ada"}
    assert [getattr(record, "event", "") for record in caplog.records].count("mcp.admin.op_executed") == 1
    (record,) = [record for record in kept.records if record.type == "admin_operation"]
    (call,) = [record for record in kept.records if record.type == "tool_call" and record.status == "success"][1:]
    assert (record.actor, record.tool, record.request_id) == ("ada", "delete_contact", call.request_id)
    assert "asked to" in str(record.details["stated_reason"])
    assert "hunter2" not in str(record.details)


# --- what a handler may do wrong ---------------------------------------------------------------------------------


@pytest.mark.requirement("002-7")
@pytest.mark.requirement("D3")
@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
@pytest.mark.parametrize(
    ("how", "code", "rule"),
    [
        ("raise", "internal_error", ""),
        ("undeclared", "internal_error", ""),
        ("hang", "timeout", ""),
        ("block", "timeout", ""),
        ("type", "output_violation", "result.schema"),
        ("shape", "output_violation", "result.schema"),
        ("nan", "output_violation", "result.ambiguous"),
        ("surrogate", "output_violation", "result.ambiguous"),
        ("object", "output_violation", "result.schema"),
        ("itself", "output_violation", "result.schema"),
        ("huge", "output_violation", "result.max_bytes"),
        ("details", "conflict", ""),
    ],
)
def test_whatever_a_handler_does_is_a_coded_error_and_the_server_lives(
    envelope: str, how: str, code: str, rule: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept = Kept()
    tools = make_toolbox(envelope, recorder=kept)

    async def both() -> tuple[Answer, Answer]:
        return await tools.dispatch("go_wrong", {"how": how}), await tools.dispatch("count_contacts")

    answer, after = asyncio.run(both())
    assert answer.is_error
    assert failure(answer).code == code
    assert len(answer.text) < 2_000
    said = f"{answer.text} {answer.payload} {answer.meta} {caplog.text} {kept.records}"
    assert SECRET not in said
    assert after.outcome == Succeeded(0)
    (record,) = [record for record in kept.records if record.type == "tool_call" and record.tool == "go_wrong"]
    assert (record.status, record.rule) == ("blocked" if rule else "error", rule)


def test_a_plain_dict_that_meets_the_schema_is_a_good_result() -> None:
    assert run(make_toolbox(), "go_wrong", {"how": "dict"}).payload == {"id": 1, "email": "e"}


def test_a_cancelled_call_is_recorded_and_the_next_one_runs() -> None:
    kept = Kept()
    tools = make_toolbox(recorder=kept)

    async def leave() -> None:
        task = asyncio.create_task(tools.dispatch("go_wrong", {"how": "hang"}))
        while not tools.registry.freeze().path.open_calls:  # noqa: ASYNC110 - a count, not an event
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not (await tools.dispatch("count_contacts")).is_error

    asyncio.run(leave())
    assert kept.told()[0] == ("tool_call", "cancelled", "go_wrong", "")
    assert tools.registry.outcomes.of("go_wrong") == {"cancelled": 1}


@pytest.mark.requirement("002-4")
def test_a_handler_may_say_how_it_ended_and_details_that_no_json_can_hold_stay_behind() -> None:
    soft = run(make_toolbox("result"), "fail_softly")
    assert soft.payload == {
        "success": False,
        "data": None,
        "error": {
            "code": "quota_error",
            "message": "The quota is used up. Try again tomorrow.",
            "details": {"left": 0},
            "recoverable": True,
        },
    }
    odd = run(make_toolbox("result"), "go_wrong", {"how": "details"})
    assert failure(odd) == Failed("conflict", "It is taken.", True, {})


def test_what_is_recorded_of_a_failure_names_its_code() -> None:
    kept = Kept()
    run(make_toolbox(recorder=kept), "get_contact", {"id": 7})
    (record,) = kept.records
    assert (record.status, record.details["code"]) == ("error", "not_found")


@pytest.mark.parametrize(("text", "told"), [("It broke", "It broke."), ("It broke.", "It broke."), ("Why?", "Why?")])
def test_the_request_id_is_a_sentence_of_its_own(text: str, told: str) -> None:
    tools = Toolbox("t")

    @tools.read
    async def broken() -> str:
        """Fail."""
        raise ToolError("internal_error", text)

    assert failure(run(tools, "broken")).message.startswith(f"{told} The request id is ")


def test_an_internal_error_that_a_handler_returns_has_the_request_id_too() -> None:
    async def broken(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return err(ValueError("secret"))

    kept = Kept()
    tools = Toolbox("t", recorder=kept)
    tools.add(read_tool("broken", "Fail.", handler=broken))
    told = failure(run(tools, "broken"))
    (call,) = kept.records
    assert told.message.endswith(f"The request id is {call.request_id}.")
    assert told.details == {"request_id": call.request_id}
