"""The stub is a server to every official client, in each era and over each transport."""

from pathlib import Path

import pytest

from tests.parts import Mode, Parts
from tests.stubs.run import answer, serving, tool, write_stub

DONE = {"resultType": "complete", "content": []}
VERSIONS: dict[Mode, str] = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}


@pytest.mark.parametrize("transport", ["stdio", "http-json", "http-sse"])
@pytest.mark.parametrize("mode", VERSIONS)
def test_the_official_clients_use_the_stub(parts: Parts, tmp_path: Path, transport: str, mode: Mode) -> None:
    answers = {"plain": answer(DONE), "busy": answer(DONE, "progress:2:0.001"), "cut": answer(DONE, "resume")}
    stub = write_stub(tmp_path, tools=[tool(name) for name in answers], answers=answers)
    # Resuming is for the 2025 revisions and SSE; elsewhere the fault changes nothing.
    steps = [{"info": True}, {"list": True}, *({"call": {"name": name, "arguments": {}}} for name in answers)]
    if mode != "legacy":
        steps.pop()
    for drive in (parts.ts_client, parts.py_client):
        if transport == "stdio":
            outcomes = drive(stub.command, steps, mode=mode)
        else:
            with serving(stub, "http-json" if transport == "http-json" else "http-sse") as url:
                outcomes = drive(url, steps, mode=mode)
        assert [outcome.get("error") for outcome in outcomes] == [None] * len(steps)
        assert outcomes[0]["result"]["protocolVersion"] == VERSIONS[mode]
    assert len(stub.journal.calls("busy")) == 2
