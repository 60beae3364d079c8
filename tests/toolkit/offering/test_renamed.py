"""Old names: they work for their window, say so, and then point to the new name."""

import asyncio
import json
from datetime import date
from typing import Any

import pytest
from mcp.types import CallToolResult

from handfast.core.answers.outcome import Failed
from handfast.toolkit import Answer, ContractError, Toolbox, ToolRegistry, UnknownTool, read_tool
from handfast.toolkit.offering.renamed import Renamed, today_utc
from handfast.toolkit.running.call_result import result_of
from tests.toolkit.contacts import make_toolbox
from tests.toolkit.records import Kept

LAST = date(2027, 3, 1)
ENVELOPES = ("plain", "result", "status")


def renamed(today: date = LAST, envelope: str = "plain", **more: Any) -> Toolbox:
    tools = make_toolbox(envelope, today=lambda: today, **more)
    tools.renamed("add_contact", to="create_contact", until=LAST)
    return tools


def run(tools: Toolbox, name: str, arguments: Any) -> Answer:
    return asyncio.run(tools.dispatch(name, arguments))


@pytest.mark.requirement("002-11")
@pytest.mark.parametrize("envelope", ENVELOPES)
@pytest.mark.parametrize("today", [date(2026, 11, 16), LAST])
def test_within_the_window_the_old_name_works_and_says_what_to_use(today: date, envelope: str) -> None:
    kept = Kept()
    tools = renamed(today, envelope, recorder=kept)
    old = result_of(run(tools, "add_contact", {"email": "a"}))
    new = result_of(run(renamed(today, envelope), "create_contact", {"email": "a"}))
    notice = {
        "type": "text",
        "text": "The tool 'add_contact' is now called 'create_contact'; the old name works until 2027-03-01."
        " Use the new one from now on.",
    }
    deprecated = {"handfast/deprecated": {"use": "create_contact", "until": "2027-03-01"}}
    assert old == {**new, "content": [*new["content"], notice], "_meta": deprecated}
    assert CallToolResult.model_validate(old).structured_content == old["structuredContent"]
    assert kept.told() == [("tool_call", "success", "create_contact", "")]
    assert kept.records[0].details["called_as"] == "add_contact"
    assert tools.registry.outcomes.of("create_contact") == {"success": 1}


@pytest.mark.requirement("002-11")
def test_in_the_list_it_says_what_to_use_and_until_when() -> None:
    found = {tool["name"]: tool for tool in renamed().registry.published()}
    assert list(found) == sorted(found)
    assert found["add_contact"] == {
        **found["create_contact"],
        "name": "add_contact",
        "description": "Deprecated: use create_contact instead. This name works until 2027-03-01.\n\n"
        "Create one contact.",
    }
    assert "add_contact" not in {spec.name for spec in renamed().list_registered()}


@pytest.mark.requirement("002-11")
@pytest.mark.parametrize("envelope", ENVELOPES)
def test_after_the_window_it_is_not_found_and_names_the_new_one(envelope: str) -> None:
    kept = Kept()
    tools = renamed(date(2027, 3, 2), envelope, recorder=kept)
    answer = run(tools, "add_contact", {"email": "a"})
    text = (
        "The tool 'add_contact' is now called 'create_contact', and the old name stopped working after 2027-03-01."
        " Call it by the new one."
    )
    assert answer.outcome == Failed("not_found", text, True, {"use": "create_contact"})
    assert tools.app == {}
    assert kept.told() == [
        ("policy_decision", "blocked", "add_contact", "tool.renamed"),
        ("tool_call", "blocked", "add_contact", "tool.renamed"),
    ]
    assert "add_contact" not in {tool["name"] for tool in tools.registry.published()}
    assert not run(tools, "create_contact", {"email": "a"}).is_error


def test_the_list_changes_on_the_day_while_the_server_runs() -> None:
    days = [LAST]
    tools = make_toolbox(today=lambda: days[0])
    tools.renamed("add_contact", to="create_contact", until=LAST)
    tools.build_server()

    def names() -> set[str]:
        return {tool["name"] for tool in tools.registry.published()}

    before = names()
    days[0] = date(2027, 3, 2)
    assert before - names() == {"add_contact"}


def test_what_goes_wrong_under_an_old_name_is_the_new_tools_and_is_told_the_same() -> None:
    kept = Kept()
    tools = renamed(recorder=kept)
    refused = run(tools, "add_contact", {"data": {"email": "a"}})
    assert refused.text.startswith("Argument 'data' is not a declared field")
    assert refused.meta is not None
    assert set(refused.meta) == {"handfast/code", "handfast/recoverable", "handfast/details", "handfast/deprecated"}
    explained = run(tools, "add_contact", {"help": True})
    assert json.loads(explained.text.partition("\n")[2])["description"] == "Create one contact."
    assert [record.details["called_as"] for record in kept.records if record.type == "tool_call"] == ["add_contact"] * 2


def test_an_old_name_may_lead_to_a_dispatcher_and_is_as_hidden_as_its_tool() -> None:
    tools = make_toolbox()
    tools.dispatcher("people", "People.", actions=["create_contact"], hides_tools=True)
    tools.renamed("persons", to="people", until=LAST)
    tools.renamed("add_contact", to="create_contact", until=LAST)
    made = run(tools, "persons", {"action": "create_contact", "arguments": {"email": "a"}})
    assert made.payload == {"id": 1, "email": "a", "born": None, "score": 0.5}
    assert made.meta == {"handfast/deprecated": {"use": "people", "until": "2027-03-01"}}
    names = {tool["name"] for tool in tools.registry.published()}
    assert {"people", "persons"} <= names
    assert not {"create_contact", "add_contact"} & names


def test_a_name_that_is_taken_and_a_tool_that_is_not_there_are_refused() -> None:
    tools = renamed()
    for name in ("echo", "add_contact"):
        with pytest.raises(ContractError, match=f"There is a tool '{name}' already"):
            tools.renamed(name, to="create_contact", until=LAST)
    with pytest.raises(ContractError, match="'older' names a tool 'nope', which is not there"):
        tools.renamed("older", to="nope", until=LAST)
    with pytest.raises(ContractError, match="'older' names a tool 'add_contact', which is not there"):
        tools.renamed("older", to="add_contact", until=LAST)
    with pytest.raises(ContractError, match=r"'a\.b' cannot name a tool"):
        tools.renamed("a.b", to="create_contact", until=LAST)
    with pytest.raises(ContractError, match="There is a tool 'add_contact' already"):
        tools.add(read_tool("add_contact", "Add.", handler=_nothing))
    tools.build_server()
    with pytest.raises(ContractError, match="comes too late"):
        tools.renamed("late", to="create_contact", until=LAST)
    with pytest.raises(UnknownTool):
        run(tools, "older", {})


async def _nothing(*, app_state: Any, arguments: dict[str, Any], actor: Any = None) -> str:
    raise AssertionError("never reached")


def test_a_registry_has_old_names_without_a_toolbox_and_the_day_is_that_of_utc() -> None:
    registry = ToolRegistry("r")
    registry.add(read_tool("one", "One.", handler=_nothing))
    registry.renamed("uno", to="one", until=today_utc())
    assert [tool["name"] for tool in registry.published()] == ["one", "uno"]
    assert Renamed(name="uno", tool=registry.registered("one"), until=LAST).new_name == "one"
