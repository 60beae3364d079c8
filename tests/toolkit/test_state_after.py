"""`state_after` with plain models: declared, typed, checked, and there in every envelope."""

import asyncio
import json
from typing import Any

import jsonschema_rs
import pytest

from handfast.core.answers.outcome import Failed
from handfast.toolkit import Args, Call, Toolbox
from tests.toolkit.directory import Changed, Created, make_toolbox

STATE: dict[str, Any] = {"contacts": 1, "last_id": 1}


def published(tools: Toolbox, name: str) -> dict[str, Any]:
    (tool,) = [tool for tool in tools.registry.published() if tool["name"] == name]
    found: dict[str, Any] = tool["outputSchema"]
    return found


@pytest.mark.parametrize("envelope", ["plain", "result", "status"])
def test_a_tool_that_changes_something_says_what_came_of_it(envelope: str) -> None:
    tools = make_toolbox(envelope, hides_tools=False)
    answer = asyncio.run(tools.dispatch("create_contact", {"email": "a"}))
    assert answer.payload is not None
    data = answer.payload if envelope == "plain" else answer.payload["data"]
    assert data == {"contact": {"id": 1, "email": "a", "note": None}, "state_after": STATE}
    assert jsonschema_rs.validator_for(json.dumps(published(tools, "create_contact"))).is_valid(answer.payload)


def test_it_is_declared_and_required() -> None:
    schema = published(make_toolbox(hides_tools=False), "create_contact")
    assert schema["required"] == ["state_after", "contact"]
    assert schema["properties"]["state_after"] == {"$ref": "#/$defs/State"}
    assert schema["$defs"]["State"]["properties"]["last_id"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}


@pytest.mark.parametrize("given", [{}, {"state_after": {"contacts": 1}}, {"state_after": None}])
def test_a_tool_that_leaves_it_out_or_gives_half_of_it_is_held_to_its_word(given: dict[str, Any]) -> None:
    tools = Toolbox("t")

    class Nothing(Args):
        pass

    @tools.write
    async def change(args: Nothing, call: Call) -> Changed:
        """Change something."""
        return given  # type: ignore[return-value]  # that is the fault

    answer = asyncio.run(tools.dispatch("change"))
    assert isinstance(answer.outcome, Failed)
    assert answer.outcome.code == "output_violation"


def test_every_such_result_is_one() -> None:
    assert issubclass(Created, Changed)
