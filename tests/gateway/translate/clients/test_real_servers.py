"""Official clients of one era in front of real servers of the other, through a front and the bridge behind it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conformance.servers import running_direct

from tests.contracts.rig import Json
from tests.gateway.translate.clients.asking_clients import LEGACY, drive
from tests.gateway.translate.clients.fronted import fronted
from tests.parts import FOLDER, PYTHON, ROOT, Parts


@contextmanager
def both_eras(transport: str, folder: Path) -> Iterator[Json]:
    """The suite's server, which handfast asks in the modern form because it knows it."""
    if transport == "stdio":
        script = str(ROOT / "conformance" / "stdio_server.py")
        yield {"command": "env", "args": [f"PYTHONPATH={FOLDER / 'everything'}", str(PYTHON), script]}
        return
    with running_direct(folder) as server:
        yield {"url": f"http://127.0.0.1:{server.port}/mcp"}


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("client", LEGACY)
def test_a_legacy_client_in_front_of_a_modern_server(client: str, transport: str, tmp_path: Path, parts: Parts) -> None:
    with both_eras(transport, tmp_path) as entry, fronted(entry, tmp_path) as running:
        found = drive(
            client,
            [f"{running.base}/mcp/legacy"],
            {"call": ["test_simple_text", {}]},
            {"call": ["test_input_required_result_elicitation", {}]},
            {"call": ["test_input_required_result_sampling", {}]},
            {"call": ["test_input_required_result_list_roots", {}]},
            {"call": ["test_input_required_result_multiple_inputs", {}]},
            {"call": ["test_input_required_result_multi_round", {}]},
            {"follow": ["test_tool_with_progress", {}]},
            {"heard": 3},
            {"call": ["test_trigger_tool_change", {}]},
            {"heard": 1},
        )
    assert found[:6] == [
        "This is a simple text response for testing.",
        "Hello, Ada!",
        "Model said: hm",
        "Client exposed 1 root(s).",
        "All inputs received.",
        "Ada likes Ada.",
    ]
    assert found[7] == ["progress 0/100", "progress 100/100", "progress 50/100"]
    assert found[9] == ["notifications/tools/list_changed"]


@pytest.mark.parametrize("client", ["py-modern", "py-legacy", "ts1"])
def test_clients_of_both_eras_in_front_of_a_legacy_server(client: str, tmp_path: Path, parts: Parts) -> None:
    command, *args = parts.everything
    with fronted({"command": command, "args": args}, tmp_path) as running:
        found = drive(
            client,
            [f"{running.base}/mcp/both"],
            {"call": ["echo", {"message": "hello"}]},
            {"call": ["trigger-sampling-request", {"prompt": "Hm?", "maxTokens": 10}]},
            {"call": ["trigger-elicitation-request", {}]},
        )
    assert found[0] == "Echo: hello"
    assert '"hm"' in found[1]
    assert "Ada" in found[2]
