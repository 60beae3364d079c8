"""Results that try to reach the client without being judged."""

import json
from pathlib import Path

import pytest

from handfast.gateway.backend import Backend
from tests.gateway.bridge.asking import LEGACY, WAYS, Asker, Json, Way, asking, entry_for
from tests.gateway.running import running
from tests.stubs.run import Stub, answer, tool, write_stub

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
BAD: Json = {"content": [], "structuredContent": {"n": "one"}}
STRICT: Json = {"output_validation": {"mode": "strict"}}
DISGUISES: dict[str, Json] = {
    "input_required": {"resultType": "input_required", "requestState": "x"},
    "task": {"resultType": "task", "taskId": "1", "task": {"taskId": "1", "status": "working"}},
}


def disguised(folder: Path) -> Stub:
    """A legacy server whose results say of themselves that they are none."""
    answers = {name: answer({**BAD, **disguise}) for name, disguise in DISGUISES.items()}
    return write_stub(folder, tools=[tool(name, NUMBER, NUMBER) for name in answers], answers=answers, versions=LEGACY)


@pytest.mark.parametrize("way", WAYS)
def test_a_word_of_the_modern_revision_hides_no_result_from_a_legacy_client(tmp_path: Path, way: Way) -> None:
    with entry_for(disguised(tmp_path), way) as entry, running({"up": entry}, tmp_path, **STRICT) as gateway:
        for path in ("/mcp/up", "/mcp"):
            client = gateway.client(opens=False)
            client.path = path
            client.open()
            for name in DISGUISES:
                tool_name = name if path == "/mcp/up" else f"up__{name}"
                reply = client.call(tool_name, {"n": 1})
                assert b'"one"' not in reply.raw, (path, name)
                reply = client.exchange(
                    json.dumps(
                        client.render("tools/call", {"name": tool_name, "arguments": {"n": 1}, "task": {"ttl": 1000}})
                    ).encode()
                )
                assert b'"one"' not in reply.raw, (path, name, "asked for a task")


@pytest.mark.parametrize("way", WAYS)
def test_a_word_of_the_modern_revision_hides_no_result_behind_the_bridge(tmp_path: Path, way: Way) -> None:
    async def work(backend: Backend) -> None:
        for name in DISGUISES:
            result = (await Asker(backend).call(name, {"n": 1}))["result"]
            assert (result["resultType"], result.get("isError")) == ("complete", True)
            assert "structuredContent" not in result

    with entry_for(disguised(tmp_path), way) as entry:
        asking(entry, tmp_path, work, STRICT)
