"""What a running gateway has loaded, and how it starts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gateway.running import TEXT, started, wrapping
from tests.stubs.run import answer, tool, write_stub

pytestmark = pytest.mark.new_interpreters

# What would cost as much as everything else together, and belongs to other parts of the product.
HEAVY = (
    "pydantic",
    "mcp",
    "django",
    "fastapi",
    "starlette",
    "httpx",
    "aiohttp",
    "requests",
    "jsonschema",
    "rich",
    "yaml",
)
# Runs a command of handfast's and writes the names of what is loaded at its very end.
PROBE = """
import json, sys
from handfast.cli.main import main
note, sys.argv = sys.argv[1], ["handfast", *sys.argv[2:]]
try:
    code = main()
finally:
    open(note, "w").write(json.dumps(sorted(sys.modules)))
sys.exit(code)
"""


def probe(note: Path) -> list[str]:
    return [sys.executable, "-c", PROBE, str(note)]


def heavy(note: Path) -> list[str]:
    loaded = {name.partition(".")[0] for name in json.loads(note.read_text())}
    return sorted(loaded & set(HEAVY))


@pytest.mark.requirement("P7")
def test_wrap_loads_neither_pydantic_nor_mcp(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    note, config = tmp_path / "modules", tmp_path / "handfast.json"
    config.write_text("{}")
    flags = ["wrap", "--config", str(config), "--state", str(tmp_path / "state"), "--", *stub.command]
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{}}}\n'
    with started([*probe(note), *flags], stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(call)
        process.stdin.flush()
        assert b'"fine"' in process.stdout.readline()
        process.stdin.close()
        assert process.wait(10) == 0
    assert heavy(note) == []
    loaded = set(json.loads(note.read_text()))
    # A wrapper serves no HTTP, and starts once for every client that starts.
    assert loaded.isdisjoint({"uvicorn", "httptools", "handfast.gateway.app", "handfast.slow_lane.worker"})


@pytest.mark.requirement("P7")
def test_serve_loads_neither_pydantic_nor_mcp(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    note, config = tmp_path / "modules", tmp_path / "handfast.json"
    config.write_text(json.dumps({"mcpServers": {"up": {"command": stub.command[0], "args": stub.command[1:]}}}))
    flags = ["serve", "--config", str(config), "--listen", "127.0.0.1:0", "--state", str(tmp_path / "state")]
    with started([*probe(note), *flags], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert b"listening on" in line
        process.terminate()
        assert process.wait(15) == 0
    assert heavy(note) == []


@pytest.mark.requirement("P7")
def test_importing_handfast_loads_no_framework_store_or_server() -> None:
    script = "import sys, handfast; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30)
    loaded = set(done.stdout.split())
    assert loaded.isdisjoint({"sqlite3", "asyncio", "uvicorn", "pydantic", "mcp", "jsonschema_rs"})


@pytest.mark.requirement("P7")
def test_a_wrapper_starts_no_worker_it_does_not_need(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    with wrapping(stub.command, tmp_path) as gateway:
        assert gateway.call("add").text == "fine"
        children = Path(f"/proc/{gateway.process.pid}/task/{gateway.process.pid}/children").read_text().split()
        commands = [Path(f"/proc/{child}/cmdline").read_bytes() for child in children]
        # The server, and the shell that ends it when the wrapper is killed.
        assert sorted(b"handfast-orphans" in command for command in commands) == [False, True]
