"""Dispatchers of the toolkit: actions run as their tools, help at two levels of detail, and nothing is dropped."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.core.answers.outcome import Failed, Succeeded
from handfast.toolkit import Actor, Answer, Args, ContractError, Toolbox, ToolRegistry, read_tool
from handfast.toolkit.offering.dispatcher_tools import name_actions
from tests.toolkit.directory import make_toolbox
from tests.toolkit.records import Kept

ADA = Actor(id="ada")
ENVELOPES = ("plain", "result", "status")
BESIDE = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    'Likely cause: REST-style wrapper — send fields inside "arguments".\n'
    'Unwrap \'data\': send "email" inside "arguments", not inside "data".\n'
    'Declared fields: ["email", "first_name"].'
)
WRAPPED = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
    'Unwrap \'data\': send "email" directly, not inside "data".\n'
    'Declared fields: ["email", "first_name"].'
)


def run(tools: Toolbox, arguments: Any, *, actor: Any = None, name: str = "contacts") -> Answer:
    return asyncio.run(tools.dispatch(name, arguments, actor=actor))


def failure(answer: Answer) -> Failed:
    assert isinstance(answer.outcome, Failed)
    return answer.outcome


def data(answer: Answer) -> Any:
    assert isinstance(answer.outcome, Succeeded)
    return answer.outcome.data


# --- calling -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("000-10")
def test_an_action_is_its_tools_own_call_recorded_and_counted_as_that() -> None:
    kept = Kept()
    tools = make_toolbox(recorder=kept)
    made = run(tools, {"action": "create", "arguments": {"email": "a@b.c"}})
    assert data(made) == {
        "state_after": {"contacts": 1, "last_id": 1},
        "contact": {"id": 1, "email": "a@b.c", "note": None},
    }
    assert made == run(make_toolbox(), {"email": "a@b.c"}, name="create_contact")
    assert kept.told() == [("tool_call", "success", "create_contact", "")]
    assert tools.registry.outcomes.of("create_contact") == {"success": 1}
    assert tools.registry.outcomes.of("contacts") == {}


@pytest.mark.requirement("000-8")
@pytest.mark.requirement("000-10")
def test_an_action_gets_the_nested_wrapper_rule_of_its_tool() -> None:
    kept = Kept()
    tools = make_toolbox(recorder=kept)
    refused = failure(run(tools, {"action": "create", "arguments": {"data": {"email": "a"}}}))
    assert (refused.code, refused.message) == ("invalid_input", WRAPPED)
    assert tools.app == {}
    assert kept.told() == [
        ("policy_decision", "blocked", "create_contact", "arguments.nested_wrapper"),
        ("tool_call", "blocked", "create_contact", "arguments.nested_wrapper"),
    ]


@pytest.mark.requirement("000-9")
@pytest.mark.requirement("000-11")
def test_a_list_body_goes_to_the_action_as_it_came() -> None:
    tools = Toolbox("t")
    seen: list[Any] = []

    class Bulk(Args):
        objects: list[dict[str, str]]

    @tools.write
    async def create_all(args: Bulk) -> int:
        """Create many."""
        seen.extend(args.objects)
        return len(args.objects)

    tools.dispatcher("things", "Things.", actions=["create_all"])
    assert data(run(tools, {"action": "create_all", "arguments": {"objects": [{"a": "b"}]}}, name="things")) == 1
    assert seen == [{"a": "b"}]


@pytest.mark.requirement("D10")
def test_an_admin_action_keeps_its_guardrails_and_its_record() -> None:
    kept = Kept()
    tools = make_toolbox(recorder=kept)
    run(tools, {"action": "create", "arguments": {"email": "a"}})
    call = {"action": "delete", "arguments": {"id": 1, "confirm": True, "reason": "asked to"}}
    unconfirmed = {"action": "delete", "arguments": {"id": 1, "reason": "asked to"}}
    assert failure(run(tools, call)).details == {"violation": "missing_actor"}
    assert failure(run(tools, unconfirmed, actor=ADA)).details == {"violation": "missing_confirm"}
    assert 'send confirm: true (no string) inside "arguments"' in failure(run(tools, unconfirmed, actor=ADA)).message
    beside = {**unconfirmed, "confirm": True}
    assert failure(run(tools, beside, actor=ADA)).message == (
        'The fields of an action go inside "arguments".'
        ' Send {"action": "delete", "arguments": {"id": …, "reason": …, "confirm": …}} and call again.'
    )
    assert list(tools.app) == [1]
    assert data(run(tools, call, actor=ADA)) == {"state_after": {"contacts": 0, "last_id": None}}
    assert [told[:3] for told in kept.told() if told[1] == "success"] == [
        ("tool_call", "success", "create_contact"),
        ("tool_call", "success", "delete_contact"),
        ("admin_operation", "success", "delete_contact"),
    ]


def test_a_resource_and_an_action_name_a_tool_in_both_ways() -> None:
    tools = Toolbox("t")
    for name in ("create_contact", "create_company"):
        tools.add(read_tool(name, f"{name}.", handler=_saying(name)))
    crud = {"contacts": {"create": "create_contact"}, "companies": {"create": "create_company"}}
    tools.dispatcher("crm", "Everything.", actions={"new": "create_contact"}, resources=crud)
    asked: list[dict[str, Any]] = [
        {"action": "create", "resource": "companies"},
        {"action": "companies__create", "arguments": {}},
        {"action": "create", "resource": "contacts", "arguments": None},
        {"action": "new"},
    ]
    assert [data(run(tools, call, name="crm")) for call in asked] == [
        "create_company",
        "create_company",
        "create_contact",
        "create_contact",
    ]
    refused = failure(run(tools, {"action": "create", "resource": "compnies"}, name="crm"))
    assert refused.message.startswith('There is no such "resource" for this action. Nearest: companies.')


def _saying(name: str) -> Any:
    async def handler(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        return json.dumps({"status": "ok", "data": name})

    return handler


def test_a_dispatcher_may_stand_behind_another() -> None:
    tools = make_toolbox()
    tools.dispatcher("all", "All of it.", actions=["contacts", "report"])
    inner = {"action": "create", "arguments": {"email": "a"}}
    made = run(tools, {"action": "contacts", "arguments": inner}, name="all")
    assert data(made)["contact"]["id"] == 1


# --- what is refused ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("000-9")
@pytest.mark.requirement("000-12")
def test_an_object_beside_the_action_is_refused_with_the_fields_of_the_action() -> None:
    kept = Kept()
    tools = make_toolbox(recorder=kept)
    refused = failure(run(tools, {"action": "create", "data": {"email": "a"}}))
    assert (refused.code, refused.message, refused.details) == ("invalid_input", BESIDE, {"kind": "shape"})
    assert tools.app == {}
    assert kept.told() == [
        ("policy_decision", "blocked", "contacts", "arguments.nested_wrapper"),
        ("tool_call", "blocked", "contacts", "arguments.nested_wrapper"),
    ]
    assert kept.records[1].details["action"] == "create"
    assert tools.registry.outcomes.of("contacts") == {"validation_error": 1}


@pytest.mark.requirement("000-12")
@pytest.mark.parametrize("envelope", ENVELOPES)
@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({}, "dispatch.action"),
        (None, "dispatch.action"),
        ([], "arguments.schema"),
        ({"action": "creat"}, "dispatch.unknown_action"),
        ({"action": "create_contact"}, "dispatch.unknown_action"),  # a tool's name is no action here
        ({"action": 1}, "dispatch.malformed"),
        ({"action": "create", "help": "yes"}, "dispatch.malformed"),
        ({"action": "create", "email": "a"}, "dispatch.flat"),
        ({"action": "create", "arguments": {"email": "a"}, "page": 1}, "dispatch.unknown_key"),
        ({"action": "create", "arguments": {"email": "a"}, "bogus": [1]}, "dispatch.unknown_key"),
        ({"action": "create", "arguments": '{"email": "a"}'}, "dispatch.arguments"),
        ({"action": "create", "arguments": [{"email": "a"}]}, "dispatch.arguments"),
        ({"action": "help", "arguments": []}, "dispatch.arguments"),
        ({"action": "creat", "help": True}, "dispatch.unknown_action"),
        ({"action": "create", 1: 2}, "dispatch.unknown_key"),
        ({"action": "create", "x": float("nan")}, "arguments.ambiguous"),
        ({"action": "create", "arguments": {"email": "\ud800"}}, "arguments.ambiguous"),
        ({"action": "create", "arguments": object()}, "arguments.ambiguous"),
    ],
)
def test_whatever_would_reach_no_tool_is_refused(arguments: Any, rule: str, envelope: str) -> None:
    kept = Kept()
    tools = make_toolbox(envelope, recorder=kept)
    answer = run(tools, arguments)
    assert answer.is_error
    assert tools.app == {}
    assert kept.told() == [
        ("policy_decision", "blocked", "contacts", rule),
        ("tool_call", "blocked", "contacts", rule),
    ]
    if answer.payload is not None:
        assert published(tools)["contacts"].is_valid(answer.payload)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)


@pytest.mark.requirement("000-12")
@given(st.dictionaries(st.text(min_size=1, max_size=8).map("x{}".format), JSON, min_size=1, max_size=3))
def test_no_key_beside_an_action_is_ever_dropped(beside: dict[str, Any]) -> None:
    tools = make_toolbox()
    assert run(tools, {"action": "create", "arguments": {"email": "a"}, **beside}).is_error
    assert tools.app == {}


# --- help --------------------------------------------------------------------------------------------------------


def published(tools: Toolbox) -> dict[str, jsonschema_rs.Validator]:
    return {
        tool["name"]: jsonschema_rs.validator_for(json.dumps(tool["outputSchema"]))
        for tool in tools.registry.published()
    }


@pytest.mark.requirement("000-9")
@pytest.mark.requirement("000-12")
@pytest.mark.parametrize("arguments", [{"action": "help"}, {"help": True}, {"action": "help", "help": True}])
def test_help_lists_the_actions_in_a_line_each(arguments: dict[str, Any]) -> None:
    kept = Kept()
    tools = make_toolbox(recorder=kept)
    answer = run(tools, arguments)
    assert answer.payload == {
        "actions": {
            "create": "Create one contact",
            "get": "Read one contact",
            "delete": "Delete one contact for good",
            "list": "List contacts",
        },
        "of": 4,
        "how": 'The fields of one: {"action": "help", "arguments": {"action": NAME}}.'
        ' To call it: {"action": NAME, "arguments": {its fields}}.',
    }
    assert kept.told() == [("tool_call", "success", "contacts", "dispatch.help")]
    assert tools.registry.outcomes.of("contacts") == {"explained": 1}


@pytest.mark.requirement("000-12")
@pytest.mark.parametrize(
    "arguments", [{"action": "help", "arguments": {"action": "create"}}, {"action": "create", "help": True}]
)
def test_help_for_one_action_has_its_schemas(arguments: dict[str, Any]) -> None:
    told = data(run(make_toolbox(), arguments))
    assert (told["action"], told["description"]) == ("create", "Create one contact. It gets the next id.")
    assert told["inputSchema"]["required"] == ["email"]
    assert told["outputSchema"]["required"] == ["state_after", "contact"]
    assert told["annotations"]["readOnlyHint"] is False


def test_help_finds_a_word_says_what_it_ignored_and_what_it_left_out() -> None:
    told = data(run(make_toolbox(), {"action": "help", "data": {}, "arguments": {"find": "GOOD", "x": 1}}))
    assert (told["actions"], told["of"]) == ({"delete": "Delete one contact for good"}, 4)
    assert told["ignored"] == ["data", "x"]
    many = Toolbox("many")
    names = [f"tool_{number:04}" for number in range(1000)]
    for name in names:
        many.add(read_tool(name, "word " * 40, handler=_saying(name)))
    many.dispatcher("all", "All.", actions=names)
    told = data(run(many, {"help": True}, name="all"))
    assert len(told["actions"]) < 1000
    assert told["left_out"].startswith(f"{1000 - len(told['actions'])} more. Narrow the list with")


@pytest.mark.parametrize("envelope", ENVELOPES)
def test_the_published_schema_holds_whatever_comes_back(envelope: str) -> None:
    tools = make_toolbox(envelope)
    schema = published(tools)["contacts"]
    asked: list[dict[str, Any]] = [
        {"action": "create", "arguments": {"email": "a"}},
        {"action": "get", "arguments": {"id": 1}},
        {"action": "get", "arguments": {"id": 7}},
        {"action": "list", "arguments": {"count": 3}},
        {"action": "list", "arguments": {"count": 900}},
        {"action": "help"},
        {"action": "create", "help": True},
        {"action": "nope"},
    ]
    for call in asked:
        answer = run(tools, call)
        assert (answer.payload is None) == (envelope == "plain" and answer.is_error)
        if answer.payload is not None:
            assert schema.is_valid(answer.payload)
            assert json.loads(answer.text) == answer.payload


# --- what is published -------------------------------------------------------------------------------------------


def test_a_dispatcher_is_as_dangerous_as_the_most_dangerous_of_its_actions() -> None:
    def hints(*actions: str) -> tuple[bool, bool, bool]:
        tools = make_toolbox()
        found = tools.dispatcher("d", "D.", actions=actions).annotations
        return found["readOnlyHint"], found["destructiveHint"], found["idempotentHint"]

    assert hints("get_contact", "list_contacts") == (True, False, True)
    assert hints("get_contact", "create_contact") == (False, False, False)
    assert hints("create_contact", "delete_contact", "get_contact") == (False, True, False)


def test_tools_are_hidden_behind_a_dispatcher_or_listed_as_well() -> None:
    listed = {tool["name"] for tool in make_toolbox().registry.published()}
    assert listed == {"contacts", "everything", "page_contacts", "report"}
    assert {spec.name for spec in make_toolbox().list_registered()} >= {"contacts", "create_contact", "report"}
    assert not run(make_toolbox(), {"email": "a"}, name="create_contact").is_error  # its own name still leads to it

    tools = Toolbox("t")
    tools.add(read_tool("seen", "Seen.", handler=_saying("seen")))
    tools.add(read_tool("unseen", "Unseen.", handler=_saying("unseen"), is_listed=False))
    tools.dispatcher("both", "Both.", actions=["seen", "unseen"])
    assert [tool["name"] for tool in tools.registry.published()] == ["both", "seen"]


def test_the_description_names_the_actions_and_the_schema_takes_no_other_key() -> None:
    (tool,) = [tool for tool in make_toolbox().registry.published() if tool["name"] == "contacts"]
    assert tool["description"] == (
        'Work with contacts. Call one with {"action": NAME, "arguments": {its fields}}. Unless its fields are known,'
        ' ask for them first with {"action": "help", "arguments": {"action": NAME}}.\nActions:'
        "\n- create: Create one contact\n- get: Read one contact\n- delete: Delete one contact for good"
        "\n- list: List contacts"
    )
    assert tool["inputSchema"]["additionalProperties"] is False
    assert set(tool["inputSchema"]["properties"]) == {"action", "arguments", "help"}


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"actions": []}, "'d' has no actions"),
        ({"actions": ["nope"]}, "'d' names a tool 'nope', which is not there"),
        ({"actions": {"help": "report"}}, "'help' cannot name an action"),
        ({"actions": {"a.b": "report"}}, r"'a.b' cannot name an action"),
        ({"actions": ["report", "report"]}, "Two actions of 'd' have the same name"),
        ({"actions": {"a__b": "report"}, "resources": {"a": {"b": "report"}}}, "Two actions of 'd'"),
    ],
)
def test_what_cannot_be_a_dispatcher_is_said_when_it_is_written(more: dict[str, Any], problem: str) -> None:
    with pytest.raises(ContractError, match=problem):
        make_toolbox().dispatcher("d", "D.", **more)


def test_a_dispatchers_name_is_a_tools_name_and_comes_before_anything_is_served() -> None:
    tools = make_toolbox()
    with pytest.raises(ContractError, match="There is a tool 'report' already"):
        tools.dispatcher("report", "R.", actions=["report"])
    with pytest.raises(ContractError, match="has no description"):
        tools.dispatcher("d", " ", actions=["report"])
    with pytest.raises(ContractError, match="'alone' would have no actions; make it with dispatcher"):
        tools.add(replace(tools.registry.registered("contacts").spec, name="alone"))
    tools.build_server()
    with pytest.raises(ContractError, match="comes too late"):
        tools.dispatcher("late", "L.", actions=["report"])


def test_a_registry_has_dispatchers_without_a_toolbox() -> None:
    registry = ToolRegistry("r")
    registry.add(read_tool("one", "One.", handler=_saying("one")))
    registry.dispatcher("all", "All.", actions=["one"])
    assert asyncio.run(registry.dispatch("all", {"action": "one"})).payload == {"result": "one"}


def test_actions_are_named_by_a_map_or_by_their_tools() -> None:
    assert name_actions("d", ["one"], {"r": {"make": "two"}, "s": ["three"]}) == {
        "one": "one",
        "r__make": "two",
        "s__three": "three",
    }
