"""000 at the gateway: a wrapped payload never reaches the tool, whatever the way of running."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.rig import ROUTES, Gateway, Route, rig
from tests.stubs.run import Stub, answer, tool, write_stub

CONTACT = {
    "type": "object",
    "properties": {"email": {"type": "string"}, "first_name": {"type": "string"}, "notes": {"type": "string"}},
    "required": ["email"],
}
CREATED = '{"content":[{"type":"text","text":"created"}]}'


@pytest.fixture(scope="module", params=ROUTES)
def gateway(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, Stub]]:
    folder: Path = tmp_path_factory.mktemp("wrapper")
    names = ["whole", "mixed", "renamed", "flat", "scalar", "bulk", "empty", "two"]
    tools = [tool(name, CONTACT) for name in names]
    tools += [
        tool("declares_data", {"type": "object", "properties": {"data": {"type": "object"}}}),
        tool(
            "foreign_key",
            {"type": "object", "properties": {"site": {"oneOf": [{"type": "string"}, {"type": "object"}]}}},
        ),
        tool("declares_nothing", {"type": "object", "properties": {}}),
        tool("says_open", {"type": "object", "properties": {"a": {}}, "additionalProperties": True}),
        tool("says_nothing", {"type": "object"}),
        tool("referring", {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {"config": {}}}}}),
    ]
    answers = {str(entry["name"]): answer(CREATED) for entry in tools}
    stub = write_stub(folder, tools=tools, answers=answers)
    route: Route = request.param
    with rig(route, stub, folder) as running:
        yield running, stub


@pytest.mark.requirement("000-1")
@pytest.mark.requirement("000-3")
@pytest.mark.requirement("000-13")
@pytest.mark.requirement("000-14")
def test_a_wrapped_payload_is_refused_with_the_repair_in_the_text(gateway: tuple[Gateway, Stub]) -> None:
    running, stub = gateway
    refused = running.call("whole", {"data": {"email": "a@example.com", "first_name": "A"}})
    assert refused.result == {
        "content": [
            {
                "type": "text",
                "text": "Argument 'data' is not a declared field and its value is a nested object.\n"
                "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
                'Unwrap \'data\': send "email", "first_name" directly, not inside "data".\n'
                'Declared fields: ["email", "first_name", "notes"].',
            }
        ],
        "isError": True,
    }
    assert stub.journal.calls("whole") == []
    (decision,) = running.decisions("whole")
    assert (decision["status"], decision["rule"], decision["mode"]) == ("blocked", "arguments.nested_wrapper", "warn")


@pytest.mark.requirement("000-18")
def test_a_declared_object_passes(gateway: tuple[Gateway, Stub]) -> None:
    running, stub = gateway
    sent = b'{"data": {"anything": [1.0, 1e2]}}'
    assert running.call("declares_data", sent).text == "created"
    (call,) = stub.journal.calls("declares_data")
    assert sent in call.bytes
    assert json.loads(call.bytes)["params"]["arguments"] == json.loads(sent)
