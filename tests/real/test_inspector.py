"""The inspector's command line through the gateway: each command is a session of its own, and prints the same."""

import json
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any  # Any: what is printed is JSON

import pytest

from tests.gateway.running import eventually, read_records
from tests.parts import INSPECTOR, NODE, Target
from tests.real.gateways import wrap_command
from tests.real.stage import Stage
from tests.real.test_whole_sessions import shortened, without_added
from tests.real.whole_session import BIG

# Listing, calling, failing, a big result: each a process of Node's, which is why there are no more of them.
COMMANDS: Sequence[tuple[str, ...]] = (
    ("tools/list",),
    ("tools/call", "count_to", "--tool-arg", "number=3"),
    ("tools/call", "test_error_handling"),
    ("tools/call", "big_text", "--tool-arg", f"size={BIG}"),
)
EXIT_CODES = [0, 0, 5, 0]
CALLS = [("big_text", "success"), ("count_to", "success"), ("test_error_handling", "error")]
PLACES = (
    # Where the eras fit and where they do not, over both transports, alone and among all.
    ("/mcp/witness-http", "", "modern"),
    ("/mcp/modern-http", "", "legacy"),
    # A legacy session that can be asked has children of its own, so here it is one server of each era and not all six.
    ("/mcp?servers=everything-http,modern-stdio,witness-http", "witness-http__", "legacy"),
    ("/mcp", "modern-stdio__", "modern"),
)
Printed = tuple[int, Any]  # Any: JSON


@pytest.fixture(scope="module")
def direct(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Printed]]:
    home = tmp_path_factory.mktemp("home")
    return {era: inspect(stage.targets["witness-http"], era, home) for era in ("legacy", "modern")}


def words(prefix: str, method: str, tool: str = "", *more: str) -> list[str]:
    return ["--method", method, *(("--tool-name", prefix + tool) if tool else ()), *more]


def inspector_command(target: Target, era: str, arguments: Sequence[str]) -> list[str]:
    place = [target, "--transport", "http"] if isinstance(target, str) else list(target)
    flags = ["--protocol-era", era, "--connect-timeout", "60000", "-q", "--format", "json"]
    return [str(NODE), str(INSPECTOR), "--cli", *place, *flags, *arguments]


def inspect(
    target: Target, era: str, home: Path, prefix: str = "", commands: Sequence[tuple[str, ...]] = COMMANDS
) -> list[Printed]:
    """What every command prints, and how it ends."""
    # Two at a time: a client that can be asked gets a child of its own, and more of them at once starve each other.
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(partial(run_inspector, target, era, home), [words(prefix, *one) for one in commands]))


def run_inspector(target: Target, era: str, home: Path, arguments: Sequence[str]) -> Printed:
    command = ["env", f"HOME={home}", *inspector_command(target, era, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert done.stdout, done.stderr[-2000:]
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize(("path", "prefix", "era"), PLACES)
def test_the_inspector_prints_the_same_behind_the_gateway(
    stage: Stage, direct: dict[str, list[Printed]], tmp_path: Path, path: str, prefix: str, era: str
) -> None:
    before = len(stage.recorded())
    found = inspect(stage.base + path, era, tmp_path, prefix)
    assert [code for code, _ in found] == EXIT_CODES
    assert [told(printed, prefix) for _, printed in found] == [told(printed, "") for _, printed in direct[era]]
    assert calls(stage.folder / "state", skip=before) == CALLS


def told(printed: Any, prefix: str) -> Any:  # Any: JSON
    """What was printed, without the other servers' tools and without what results have only in the modern form."""
    result = printed["result"]
    if "tools" not in result:
        return shortened(without_added(result))
    own = [tool for tool in result["tools"] if tool["name"].startswith(prefix)]
    return [{**tool, "name": tool["name"].removeprefix(prefix)} for tool in own]


def test_the_inspector_prints_the_same_through_wrap(
    stage: Stage, direct: dict[str, list[Printed]], tmp_path: Path
) -> None:
    command = wrap_command(tmp_path, list(stage.targets["witness-stdio"]))
    assert inspect(command, "legacy", tmp_path, commands=COMMANDS[:2]) == direct["legacy"][:2]


@pytest.mark.requirement("P3")
@pytest.mark.parametrize(("path", "prefix"), [("/mcp/witness-stdio", ""), ("/mcp", "witness-http__")])
def test_an_interrupted_inspector_cancels_its_call_in_the_modern_era(
    stage: Stage, tmp_path: Path, path: str, prefix: str
) -> None:
    tag = f"inspector {path}"
    arguments = words(prefix, "tools/call", "wait_until_cancelled", "--tool-arg", f"tag={tag}")
    command = ["env", f"HOME={tmp_path}", *inspector_command(stage.base + path, "modern", arguments)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        eventually(lambda: stage.events(tag), "the call has begun", seconds=30)
        process.send_signal(signal.SIGINT)
    assert eventually(lambda: stage.events(tag)[1:], "the call was stopped") == ["cancelled"]


def calls(state: Path, *, skip: int = 0) -> list[tuple[str, str]]:
    """Tool and status of each call on record; commands ran side by side, so in no order."""
    eventually(lambda: len(read_records(state, type="tool_call")) >= skip + len(CALLS), "every call on record")
    found = read_records(state, type="tool_call")[skip:]
    return sorted((record.tool, record.status.value) for record in found)
