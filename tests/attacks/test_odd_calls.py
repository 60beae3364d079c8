"""Requests without an id, notifications with one, and methods that are almost right: none reaches the other side."""

import json
from collections.abc import Iterator

import pytest

from tests.contracts.cases import CREATED, Case
from tests.contracts.matrix.client import HttpClient
from tests.contracts.matrix.places import PLACES, Place
from tests.contracts.matrix.stage import Stage, matrix_case, staged
from tests.contracts.rig import Json
from tests.gateway.running import eventually, read_records
from tests.stubs.run import answer

FIELDS = {"type": "object", "properties": {"to": {"type": "string"}}}
PAY = matrix_case("pay", FIELDS, calls=['{"to": "me"}'])


ASIDES = {
    "call_client": {"method": "tools/call", "params": {"name": "pay"}},
    "number_notification": {"id": "1", "method": "notifications/message", "params": {"level": "info", "data": "x"}},
    "spell_oddly": {"id": "2", "method": "Sampling/createMessage", "params": {}},
}
NOISY = {
    name: matrix_case(name, scripted=answer(CREATED, aside={"jsonrpc": "2.0", **aside}))
    for name, aside in ASIDES.items()
}


@pytest.fixture(scope="module", params=PLACES, ids=str)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    place: Place = request.param
    with staged(place, tmp_path_factory.mktemp("place"), methods={}) as running:
        pay(running)  # so that there is a record
        yield running


def pay(stage: Stage) -> None:
    assert not stage.client.begin_call(PAY.tool, b'{"to": "me"}').answer().is_error


def message(stage: Stage, method: str, **members: Json) -> bytes:
    """A message of the client's era that names the tool, whatever else is wrong with it."""
    params = {"name": stage.client.prefix + PAY.tool, "arguments": {"to": "me"}}
    whole = stage.client.render(method, params)
    del whole["id"]
    return json.dumps(whole | members).encode()


def send(stage: Stage, raw: bytes) -> None:
    """Over HTTP with the headers of a call: a method may be spelled as no header can be."""
    client = stage.client
    if isinstance(client, HttpClient):
        method = {"Mcp-Method": "tools/call"} if client.is_modern else {}
        client.post(raw, client.headers(message(stage, "tools/call")) | method)
    else:
        client.send(raw)


def refusals(stage: Stage) -> int:
    return len([record for record in read_records(stage.state) if record.rule == "message.refused"])


REFUSED: dict[str, tuple[str, Json]] = {
    "a call without an id": ("tools/call", {}),
    "a ping without an id": ("ping", {}),
    "a cancellation with an id": ("notifications/cancelled", {"id": 99}),
    "an unknown notification with an id": ("notifications/of/ours", {"id": "x"}),
    "an upper case call": ("Tools/Call", {"id": 99}),
    "a call with a blank": ("tools/call ", {"id": 99}),
    "a call with a NUL": ("tools/call\0", {"id": 99}),
    "a call with a long s": ("tool\u017f/call", {"id": 99}),
    "a cancellation in upper case": ("notifications/Cancelled", {}),
}


@pytest.mark.requirement("S2")
@pytest.mark.parametrize("which", REFUSED)
def test_it_never_reaches_the_server_and_is_on_record(stage: Stage, which: str) -> None:
    method, members = REFUSED[which]
    before = refusals(stage)
    send(stage, message(stage, method, **members))
    # What comes after it on the same way has reached the server, so it would have, too.
    pay(stage)
    reached = [entry.message for entry in stage.stub.journal.messages()]
    assert [found for found in reached if found["method"] == method and found.get("id") == members.get("id")] == []
    assert all("id" in found for found in reached if found["method"] == "tools/call")
    # After twenty of one kind the rest is only counted.
    assert eventually(lambda: refusals(stage) > before or before >= 20, "the refusal on record")


@pytest.mark.requirement("S2")
@pytest.mark.parametrize("which", ASIDES)
def test_it_never_reaches_the_client_either(stage: Stage, which: str) -> None:
    assert not stage.client.begin_call(which).answer().is_error
    pay(stage)
    with pytest.raises(TimeoutError):
        stage.client.inbox.take(lambda heard: heard.method == ASIDES[which]["method"], "it", seconds=0)


NEAR = matrix_case("pay_nearly", FIELDS, calls=['{"to": "me", "TO": "you"}'])
BEYOND = matrix_case("pay_much", FIELDS, calls=['{"amount": 1e400}'])
HIDDEN = matrix_case("hidden", is_listed=False, calls=['{"to": "me"}'], input_mode="strict")


@pytest.mark.requirement("S6")
@pytest.mark.parametrize(
    ("which", "rule"), [(NEAR, "arguments.unknown"), (BEYOND, "arguments.ambiguous")], ids=["near", "beyond"]
)
def test_arguments_that_readers_take_differently_are_refused(stage: Stage, which: Case, rule: str) -> None:
    outcome = stage.run(which)
    assert outcome.reached == []
    assert (outcome.decision["status"], outcome.decision["rule"]) == ("blocked", rule)


@pytest.mark.requirement("S6")
def test_a_tool_that_is_not_listed_is_refused_in_strict(stage: Stage) -> None:
    answer = stage.client.begin_call(HIDDEN.tool, b'{"to": "me"}').answer()
    assert answer.message["error"]["code"] == -32602
    assert stage.stub.journal.calls(HIDDEN.tool) == []
