"""The protocol's arguments in calls: help, and what means nothing is refused; a declared field is the tool's."""

import asyncio
import json
from typing import Any

import pytest

from handfast.core.answers.outcome import Failed
from handfast.toolkit import Actor, Answer, Args, Toolbox, read_tool
from handfast.toolkit.offering.protocol_calls import about
from tests.toolkit.directory import make_toolbox
from tests.toolkit.records import Kept


def run(tools: Toolbox, name: str, arguments: Any, *, actor: Any = None) -> Answer:
    return asyncio.run(tools.dispatch(name, arguments, actor=actor))


def failure(answer: Answer) -> Failed:
    assert isinstance(answer.outcome, Failed)
    return answer.outcome


@pytest.mark.requirement("000-17")
@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
def test_help_explains_a_tool_and_does_not_run_it(envelope: str) -> None:
    kept = Kept()
    tools = make_toolbox(envelope, recorder=kept)
    answer = run(tools, "create_contact", {"email": "a", "help": True})
    told = failure(answer)
    assert (told.code, told.is_recoverable, told.details) == ("invalid_input", True, {"kind": "help"})
    head, _, schema = told.message.partition("\n")
    assert head == "Nothing was run: this explains 'create_contact'. Call it again without help."
    assert json.loads(schema) == about(tools.registry.registered("create_contact"))
    assert json.loads(schema)["inputSchema"]["required"] == ["email"]
    assert tools.app == {}
    assert kept.told() == [("tool_call", "success", "create_contact", "tool.help")]
    assert tools.registry.outcomes.of("create_contact") == {"explained": 1}


def test_help_needs_no_guardrails() -> None:
    assert failure(run(make_toolbox(), "delete_contact", {"help": True})).details == {"kind": "help"}


@pytest.mark.parametrize("arguments", [{"email": "a", "help": False}, {"email": "a", "help": None, "mode": None}])
def test_not_asking_for_help_is_a_plain_call(arguments: dict[str, Any]) -> None:
    assert not run(make_toolbox(), "create_contact", arguments).is_error


class Searching(Args):
    help: bool = False
    mode: str = "any"
    page: int = 1
    page_size: int = 10
    filters: dict[str, str]
    filter_keys: list[str]
    continuation_token: str = ""


@pytest.mark.requirement("000-17")
def test_a_declared_field_of_the_same_name_is_the_tools() -> None:
    tools = Toolbox("t")

    @tools.read
    async def search(args: Searching) -> Searching:
        """Search."""
        return args

    sent = {
        "help": True,
        "mode": "fuzzy",
        "page": 3,
        "page_size": 900,
        "filters": {"a": "b"},
        "filter_keys": ["c"],
        "continuation_token": "mine",
    }
    assert run(tools, "search", sent).payload == sent


@pytest.mark.requirement("000-17")
@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"page": 2}, "Argument 'page'"),
        ({"mode": "full"}, "Argument 'mode'"),
        ({"filters": {"email": "a"}}, "Argument 'filters'"),
        ({"continuation_token": "x"}, "Argument 'continuation_token'"),
        ({"page_size": 2, "filter_keys": ["id"]}, "Arguments 'page_size', 'filter_keys'"),
    ],
)
def test_what_means_nothing_to_a_tool_is_refused_and_never_dropped(more: dict[str, Any], names: str) -> None:
    kept = Kept()
    tools = make_toolbox(recorder=kept)
    refused = failure(run(tools, "create_contact", {"email": "a", **more}))
    assert refused.code == "invalid_input"
    assert refused.message.startswith(f"{names} cannot be used here: this tool does not answer in pieces. Remove ")
    assert refused.message.endswith('Declared fields: ["email", "first_name"].')
    assert tools.app == {}
    assert kept.told() == [
        ("policy_decision", "blocked", "create_contact", "arguments.protocol"),
        ("tool_call", "blocked", "create_contact", "arguments.protocol"),
    ]


def test_what_is_no_such_argument_is_said_and_guardrails_come_first() -> None:
    tools = make_toolbox()
    refused = failure(run(tools, "create_contact", {"email": "a", "help": "please"}))
    assert refused.message == '"help" must be true or false. Send it so, or leave it out, and call again.'
    assert failure(run(tools, "delete_contact", {"id": 1, "page": 1})).code == "guardrail_violated"
    guarded = {"id": 1, "confirm": True, "reason": "r", "page": 1}
    assert failure(run(tools, "delete_contact", guarded, actor=Actor(id="ada"))).message.startswith("Argument 'page'")


@pytest.mark.parametrize(
    ("tool", "more", "words"),
    [
        ("report", {"page": 1}, "Argument 'page' cannot be used here: the result of this tool is not a list."),
        (
            "report",
            {"filters": {"a": 1}},
            "Argument 'filters' cannot be used here: the result of this tool is not a list.",
        ),
        ("list_contacts", {"filter_keys": ["id", "emial"]}, "The items of the result have no 'emial'. Their keys: id,"),
        ("page_contacts", {"filters": {"nope": 1}}, "The items of the result have no 'nope'. Their keys: id, email,"),
        (
            "numbers",
            {"filters": {"a": 1}, "page": 1},
            "Argument 'filters' cannot be used here: the items of the result",
        ),
    ],
)
def test_a_tool_that_answers_in_pieces_says_what_it_cannot_narrow(tool: str, more: dict[str, Any], words: str) -> None:
    tools = make_toolbox()

    @tools.read(in_pieces=True)
    async def numbers() -> list[int]:
        """Count."""
        raise AssertionError("never reached")

    arguments = {} if tool == "numbers" else {"count": 3}
    assert failure(run(tools, tool, {**arguments, **more})).message.startswith(words)


def test_the_contract_of_a_tool_without_properties_does_not_swallow_help() -> None:
    async def handler(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
        raise AssertionError("never reached")

    tools = Toolbox("t")
    tools.add(
        read_tool("bare", "Bare.", input_schema={"type": "object", "additionalProperties": False}, handler=handler)
    )
    assert failure(run(tools, "bare", {"help": True})).details == {"kind": "help"}
