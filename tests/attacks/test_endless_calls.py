"""Servers that report progress without end: for a token that was not sent, or for the call's own."""

from pathlib import Path

import pytest

from handfast.gateway.calls.call_time import too_long, too_silent
from handfast.wire.codes import UPSTREAM_TIMEOUT
from tests.contracts.matrix.places import PLACES, Place, connected
from tests.gateway.running import one_record
from tests.stubs.run import Journal, answer, tool, write_stub

FINE = {"content": [{"type": "text", "text": "fine"}]}
SILENT_SECONDS = 1
TOTAL_SECONDS = 2


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("place", [place for place in PLACES if place.can_tell], ids=str)
def test_a_call_ends_though_its_server_reports_progress_for_ever(tmp_path: Path, place: Place) -> None:
    answers = {"stranger": answer(FINE, "progress:400:0.05:stranger"), "creeping": answer(FINE, "progress:400:0.05")}
    stub = write_stub(tmp_path, tools=[tool(name) for name in answers], answers=answers, versions=place.versions)
    limits = {"call_timeout_s": SILENT_SECONDS, "call_total_s": TOTAL_SECONDS}
    with connected(place, stub, tmp_path, {}, limits=limits) as client:
        asked = {name: client.begin_call(name, meta={"progressToken": f"of-{name}"}) for name in answers}
        found = {name: call.answer().message["error"] for name, call in asked.items()}
        assert {error["code"] for error in found.values()} == {UPSTREAM_TIMEOUT}
        if place.way != "http-json":  # there the answer has to begin in time, whatever is said on another stream
            texts = {name: error["message"] for name, error in found.items()}
            assert texts == {"stranger": too_silent(SILENT_SECONDS), "creeping": too_long(TOTAL_SECONDS)}
            for name, text in texts.items():
                record = one_record(tmp_path / "state", type="tool_call", tool=name)
                assert (record.rule, record.reason) == ("upstream.timeout", text)
        if place.server == "legacy" or place.way == "stdio":
            stub.journal.wait_for(lambda journal: cancelled(journal) >= {called(journal, name) for name in answers})


@pytest.mark.requirement("F5")
@pytest.mark.parametrize("place", [place for place in PLACES if place.can_tell and place.front == "server"], ids=str)
def test_a_request_that_is_no_call_ends_too(tmp_path: Path, place: Place) -> None:
    methods = {"prompts/get": answer({"messages": []}, "progress:400:0.05:stranger")}
    stub = write_stub(tmp_path, tools=[], answers={}, methods=methods, versions=place.versions)
    limits = {"call_timeout_s": SILENT_SECONDS, "call_total_s": TOTAL_SECONDS}
    with connected(place, stub, tmp_path, {}, limits=limits) as client:
        error = client.ask("prompts/get", b'"name":"x"').message["error"]
        assert error["code"] == UPSTREAM_TIMEOUT


def called(journal: Journal, name: str) -> object:
    return journal.calls(name)[0].message["id"]


def cancelled(journal: Journal) -> set[object]:
    """The requests that the server was told to give up."""
    received = (entry.message for entry in journal.messages())
    return {
        message["params"]["requestId"] for message in received if message.get("method") == "notifications/cancelled"
    }
