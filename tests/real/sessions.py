"""One whole session of a client with a server, and what must hold of it when the gateway stands between them."""

import json
from collections.abc import Sequence
from pathlib import Path

from handfast.core.call.exchange import Record
from tests.gateway.running import eventually, read_records
from tests.parts import Outcome
from tests.real.clients import REVISIONS, RealClient
from tests.real.servers import Call, RealServer, refusal

INFO, LIST = {"info": True}, {"list": True}
STRICT = {"input_validation": {"mode": "strict"}, "output_validation": {"mode": "strict"}}


def right_calls(server: RealServer) -> Sequence[Call]:
    return [*server.steady, *server.failing, *server.varying]


def direct_steps(server: RealServer) -> Sequence[object]:
    return [INFO, LIST, *right_calls(server)]


def whole_script(server: RealServer) -> Sequence[object]:
    """What is asked through a gateway: the same, and then what it must refuse."""
    return [*direct_steps(server), server.lossy]


def check_session(
    answered: Sequence[Outcome], expected: Sequence[Outcome], *, client: RealClient, server: RealServer
) -> None:
    """The whole script through a gateway that is strict on both sides, against the same with nothing in between."""
    assert len(answered) == len(whole_script(server)), answered
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


def check_refused(outcome: Outcome, text: str) -> None:
    """The client was given words for the model, and did not raise."""
    assert outcome["result"]["content"] == [{"type": "text", "text": text}]
    assert outcome["result"]["isError"] is True
    assert "structuredContent" not in outcome["result"]


def check_records(state: Path, server: RealServer, *, number: int = 0, sessions: int = 1) -> None:
    """One record for each call of each session, and the lossy one is the only decision; `number` is the session's."""
    succeeding = [*((call, "success") for call in server.steady), *((call, "error") for call in server.failing)]
    wanted = [*succeeding, *((call, "success") for call in server.varying), (server.lossy, "blocked")]
    every = sessions * len(wanted)
    eventually(lambda: len(calls_on_record(state, server.name)) >= every, "every call on record")
    found = [(record.tool, record.status.value) for record in calls_on_record(state, server.name)]
    assert len(found) == every
    assert found[number * len(wanted) :][: len(wanted)] == [(call["call"]["name"], status) for call, status in wanted]
    decisions = read_records(state, type="policy_decision", server=server.name)
    assert [(record.tool, record.rule) for record in decisions] == [
        (server.lossy["call"]["name"], "arguments.nested_wrapper")
    ] * sessions


def calls_on_record(state: Path, server: str) -> list[Record]:
    return read_records(state, type="tool_call", server=server) if state.exists() else []


def as_text(outcomes: Sequence[Outcome]) -> list[str]:
    """The JSON as the client had it, the order of keys included."""
    return [json.dumps(outcome) for outcome in outcomes]
