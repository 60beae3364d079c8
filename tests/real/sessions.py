"""One whole session of a client with a server, and what must hold of it when the gateway stands between them."""

import json
from collections.abc import Sequence
from pathlib import Path

from handfast.core.exchange import Record
from tests.gateway.running import eventually, read_records
from tests.parts import Mode, Outcome, Parts, Target
from tests.real.clients import REVISIONS, RealClient, Sdk
from tests.real.servers import Call, RealServer, refusal

INFO, LIST = {"info": True}, {"list": True}
STRICT = {"input_validation": {"mode": "strict"}, "output_validation": {"mode": "strict"}}


class Direct:
    """What each client gets from each server with nothing in between; asked once."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._known: dict[tuple[str, Sdk, Mode], list[Outcome]] = {}

    def outcomes(self, client: RealClient, server: RealServer) -> list[Outcome]:
        # A server of the older era is the same to a client that probes and to one that does not.
        key = server.name, client.sdk, client.mode if server.is_dual else "legacy"
        if key not in self._known:
            steps = [INFO, LIST, *right_calls(server)]
            self._known[key] = client.drive(self._parts, server.target, steps)
        return self._known[key]


def right_calls(server: RealServer) -> Sequence[Call]:
    return [*server.steady, *server.failing, *server.varying]


def check_session(
    parts: Parts, direct: Direct, *, client: RealClient, server: RealServer, target: Target, state: Path
) -> None:
    """Run the server's whole script through the gateway at `target`, which holds it to strict on both sides."""
    expected = direct.outcomes(client, server)
    before = calls_on_record(state, server.name)
    steps = [INFO, LIST, *right_calls(server), server.lossy]
    answered = client.drive(parts, target, steps)
    assert len(answered) == len(steps), answered
    info, *outcomes, refused = answered
    assert info["result"]["serverInfo"] == expected[0]["result"]["serverInfo"]
    # Version 1 of the TypeScript client does not know its revision over stdio.
    is_modern = client.is_modern_with(is_dual=server.is_dual)
    assert info["result"]["protocolVersion"] in (REVISIONS[is_modern], None)
    same = 1 + len(server.steady) + len(server.failing)
    assert as_text(outcomes[:same]) == as_text(expected[1 : same + 1])
    for outcome in outcomes[same:]:
        assert "isError" not in outcome["result"] or outcome["result"]["isError"] is False
    check_refused(refused, refusal(server))
    check_records(state, server, skip=len(before))


def check_refused(outcome: Outcome, text: str) -> None:
    """The client was given words for the model, and did not raise."""
    assert outcome["result"]["content"] == [{"type": "text", "text": text}]
    assert outcome["result"]["isError"] is True
    assert "structuredContent" not in outcome["result"]


def check_records(state: Path, server: RealServer, *, skip: int) -> None:
    """One record for each call, and the lossy one is the only decision."""
    succeeding = [*((call, "success") for call in server.steady), *((call, "error") for call in server.failing)]
    wanted = [*succeeding, *((call, "success") for call in server.varying), (server.lossy, "blocked")]
    eventually(lambda: len(calls_on_record(state, server.name)) >= skip + len(wanted), "every call on record")
    found = [(record.tool, record.status.value) for record in calls_on_record(state, server.name)[skip:]]
    assert found == [(call["call"]["name"], status) for call, status in wanted]
    decisions = read_records(state, type="policy_decision", server=server.name)
    assert {(record.tool, record.rule) for record in decisions} == {
        (server.lossy["call"]["name"], "arguments.nested_wrapper")
    }


def calls_on_record(state: Path, server: str) -> list[Record]:
    return read_records(state, type="tool_call", server=server) if state.exists() else []


def as_text(outcomes: Sequence[Outcome]) -> list[str]:
    """The JSON as the client had it, the order of keys included."""
    return [json.dumps(outcome) for outcome in outcomes]
