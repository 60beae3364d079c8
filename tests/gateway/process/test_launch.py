"""The environment a server is started with: enough to run, and no other server's secrets."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from handfast.gateway.process.launch import child_environment
from tests.contracts.rig import HANDFAST
from tests.gateway.running import running, started

SHOWS = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        text = json.dumps(dict(os.environ))
        result = {"content": [{"type": "text", "text": text}], "protocolVersion": "2025-11-25", "capabilities": {}}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
GATEWAYS = {
    "PATH": os.environ["PATH"],
    "HOME": "/",
    "GATEWAY_TOKEN": "secret",
    "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
}


@pytest.mark.requirement("P6")
def test_a_server_inherits_a_short_list_and_its_own_entry_wins() -> None:
    ours = {"PATH": "/bin", "HOME": "/nobody", "TERM": "() { evil; }", "TOKEN": "x", "AWS_SECRET_ACCESS_KEY": "y"}
    assert child_environment({"HOME": "/srv", "OWN": "1"}, ours) == {"PATH": "/bin", "HOME": "/srv", "OWN": "1"}


@pytest.mark.requirement("P6")
def test_children_of_serve_see_their_own_environment_and_nobody_elses(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": ["-c", SHOWS]}
    servers = {"up": entry | {"env": {"OWN": "mine"}}, "other": entry | {"env": {"OTHERS": "theirs"}}}
    with running(servers, tmp_path, environment=GATEWAYS) as gateway:
        gateway.client("other")
        seen = json.loads(gateway.client().call("env").text)
    # What the interpreter itself adds is not ours to judge.
    assert {name: value for name, value in seen.items() if name != "LC_CTYPE"} == {
        "PATH": GATEWAYS["PATH"],
        "HOME": "/",
        "OWN": "mine",
    }


@pytest.mark.requirement("P6")
def test_wrap_passes_its_own_environment(tmp_path: Path) -> None:
    config = tmp_path / "handfast.json"
    config.write_text("{}")
    flags = [*HANDFAST, "wrap", "--config", str(config), "--state", str(tmp_path / "state"), "--"]
    with started([*flags, sys.executable, "-c", SHOWS], stdout=subprocess.PIPE, env=GATEWAYS) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"x"}\n')
        process.stdin.flush()
        seen = json.loads(json.loads(process.stdout.readline())["result"]["content"][0]["text"])
    assert {name: seen.get(name) for name in GATEWAYS} == GATEWAYS
