"""The inspector's command line through the gateway: each command is a session of its own, and prints the same."""

import json
import signal
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.gateway.running import eventually, read_records
from tests.parts import INSPECTOR, NODE, Parts, Target
from tests.real.gateways import wrap_command
from tests.real.stage import Stage, staged
from tests.real.whole_session import BIG

pytestmark = pytest.mark.skipif(not INSPECTOR.exists(), reason="tests/parts/package.json does not name the inspector")
COMMANDS: Sequence[Sequence[str]] = (
    ("--method", "tools/list"),
    ("--method", "tools/call", "--tool-name", "count_to", "--tool-arg", "number=3"),
    ("--method", "tools/call", "--tool-name", "test_error_handling"),
    ("--method", "tools/call", "--tool-name", "big_text", "--tool-arg", f"size={BIG}"),
    ("--method", "resources/read", "--uri", "test://static-text"),
    ("--method", "prompts/get", "--prompt-name", "test_simple_prompt"),
)
EXIT_CODES = [0, 0, 5, 0, 0, 0]
CALLS = [("big_text", "success"), ("count_to", "success"), ("test_error_handling", "error")]


@pytest.fixture(scope="module")
def stage(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(parts, tmp_path_factory.mktemp("stage")) as running:
        yield running


@pytest.fixture(scope="module")
def direct(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[int, object]]]:
    home = tmp_path_factory.mktemp("home")
    return {era: inspect(stage.targets["witness-http"], era, home) for era in ("legacy", "modern")}


def inspector_command(target: Target, era: str, arguments: Sequence[str]) -> list[str]:
    words = [target, "--transport", "http"] if isinstance(target, str) else list(target)
    flags = ["--protocol-era", era, "--connect-timeout", "60000", "-q", "--format", "json"]
    return [str(NODE), str(INSPECTOR), "--cli", *words, *flags, *arguments]


def inspect(target: Target, era: str, home: Path) -> list[tuple[int, object]]:
    """What every command prints, and how it ends."""
    # Two at a time: a client that can be asked gets a child of its own, and six interpreters at once starve each other.
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(partial(run_inspector, target, era, home), COMMANDS))


def run_inspector(target: Target, era: str, home: Path, arguments: Sequence[str]) -> tuple[int, object]:
    command = ["env", f"HOME={home}", *inspector_command(target, era, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout, done.stderr[-2000:]
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize(
    ("server", "era"), [("witness-http", "modern"), ("witness-stdio", "legacy"), ("witness-stdio", "modern")]
)
def test_the_inspector_prints_the_same_behind_the_gateway(
    stage: Stage, direct: dict[str, list[tuple[int, object]]], tmp_path: Path, server: str, era: str
) -> None:
    before = len(read_records(stage.folder / "state", type="tool_call"))
    found = inspect(f"{stage.base}/mcp/{server}", era, tmp_path)
    assert [code for code, _ in found] == EXIT_CODES
    assert found == direct[era]
    assert calls(stage.folder / "state", skip=before) == CALLS


def test_the_inspector_prints_the_same_through_wrap(
    stage: Stage, direct: dict[str, list[tuple[int, object]]], tmp_path: Path
) -> None:
    command = wrap_command(tmp_path, list(stage.targets["witness-stdio"]))
    assert inspect(command, "legacy", tmp_path) == direct["legacy"]
    assert calls(tmp_path / "state") == CALLS


@pytest.mark.requirement("P3")
@pytest.mark.parametrize("server", ["witness-http", "witness-stdio"])
def test_an_interrupted_inspector_cancels_its_call_in_the_modern_era(stage: Stage, tmp_path: Path, server: str) -> None:
    tag = f"inspector {server}"
    arguments = ("--method", "tools/call", "--tool-name", "wait_until_cancelled", "--tool-arg", f"tag={tag}")
    command = ["env", f"HOME={tmp_path}", *inspector_command(f"{stage.base}/mcp/{server}", "modern", arguments)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        eventually(lambda: stage.events(tag), "the call has begun", seconds=30)
        process.send_signal(signal.SIGINT)
    assert eventually(lambda: stage.events(tag)[1:], "the call was stopped") == ["cancelled"]


def calls(state: Path, *, skip: int = 0) -> list[tuple[str, str]]:
    """Tool and status of each call on record; commands ran side by side, so in no order."""
    eventually(lambda: len(read_records(state, type="tool_call")) >= skip + len(CALLS), "every call on record")
    found = read_records(state, type="tool_call")[skip:]
    return sorted((record.tool, record.status.value) for record in found)
