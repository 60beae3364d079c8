"""`handfast wrap` as a command: where its settings come from, the name it gives a server, how it ends."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from handfast.cli.wrap import server_name
from tests.cli.conftest import DEMO, Ran
from tests.contracts.rig import HANDFAST
from tests.gateway.running import read_records

Run = Callable[..., Ran]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("npx -y @modelcontextprotocol/server-memory", "memory"),
        ("npx -y @modelcontextprotocol/server-memory@1.2.3", "memory"),
        ("npx -y @scope/files-mcp-server", "files"),
        ("uvx mcp-server-time --local-timezone UTC", "time"),
        ("uv run server.py", "server"),
        ("python3 -m mcp_server_git", "git"),
        ("/usr/bin/python3 examples/contacts.py file.db", "contacts"),
        ("node /opt/things/dist/index.js", "index"),
        ("C:\\tools\\notes.exe --fast", "notes"),
        ("my__odd name", "my-odd"),
        ("---", "server"),
    ],
)
def test_a_server_is_named_after_its_command(command: str, name: str) -> None:
    assert server_name(command.split()) == name


def demo(folder: Path) -> list[str]:
    return [sys.executable, str(DEMO), str(folder / "contacts.db")]


def wrap(folder: Path, *words: str, **environment: str) -> "subprocess.CompletedProcess[bytes]":
    """A session of one call: contact_stats, whose result breaks its own schema."""
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "contact_stats", "arguments": {}}},
    ]
    return subprocess.run(
        [*HANDFAST, "wrap", *words],
        input="".join(json.dumps(message) + "\n" for message in messages).encode(),
        capture_output=True,
        cwd=folder,
        env={**clean_environment(folder), **environment},
        timeout=60,
        check=False,
    )


def clean_environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HANDFAST_")}
    return {**kept, "XDG_CONFIG_HOME": str(folder / "home"), "HANDFAST_STATE": str(folder / "state")}


def answer(done: "subprocess.CompletedProcess[bytes]") -> bool:
    """Whether the call was blocked."""
    (found,) = [message for line in done.stdout.splitlines() if (message := json.loads(line)).get("id") == 2]
    return found["result"].get("isError") is True


STRICT = {"output_validation": {"mode": "strict"}}


def test_no_settings_file_is_needed_and_none_is_written(tmp_path: Path) -> None:
    done = wrap(tmp_path, "--", *demo(tmp_path))
    assert (done.returncode, done.stderr, answer(done)) == (0, b"", False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["contacts.db", "state"]
    (decision,) = read_records(tmp_path / "state", type="policy_decision")
    assert (decision.server, decision.rule, decision.status.value) == ("contacts", "result.schema", "warning")


@pytest.mark.parametrize("source", ["flag", "environment", "named file", "file beside", "server entry"])
def test_the_mode_comes_from_flag_environment_and_file(tmp_path: Path, source: str) -> None:
    words, environment = list[str](), dict[str, str]()
    if source == "flag":
        (tmp_path / "handfast.json").write_text('{"output_validation": {"mode": "off"}}')
        words = ["--output", "strict"]
    elif source == "environment":
        environment["HANDFAST_OUTPUT_VALIDATION_MODE"] = "strict"
    elif source == "server entry":
        entry = {"command": "anything", "handfast": STRICT}
        (tmp_path / "handfast.json").write_text(json.dumps({"mcpServers": {"mine": entry}}))
        words = ["--name", "mine"]
    else:
        name = "handfast.json" if source == "file beside" else "other.json"
        (tmp_path / name).write_text(json.dumps(STRICT))
        words = ["--config", "other.json"] if source == "named file" else []
    done = wrap(tmp_path, *words, "--", *demo(tmp_path), **environment)
    assert (done.returncode, answer(done)) == (0, True)


def test_the_dashes_may_be_left_out(tmp_path: Path) -> None:
    assert wrap(tmp_path, "--name", "short", *demo(tmp_path)).returncode == 0
    assert {record.server for record in read_records(tmp_path / "state", type="tool_call")} == {"short"}


def test_flags_after_the_command_are_the_commands_own(tmp_path: Path) -> None:
    script = "import sys; print(sys.argv[1:], file=sys.stderr)"
    done = wrap(tmp_path, "--", sys.executable, "-c", script, "--name", "x", "--help", "--")
    assert done.stderr == b"['--name', 'x', '--help', '--']\n"


@pytest.mark.parametrize(
    ("words", "code", "about"),
    [
        (["--config", "missing.json", "--", "cat"], 1, "missing.json: does not exist"),
        (["--config", "wrong.json", "--", "cat"], 1, "wrong.json: output_validation.mode"),
        (["--", "no-such-command"], 127, "cannot start 'no-such-command': no such command."),
        (["--state", "wrong.json", "--", "cat"], 1, ""),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    handfast: Run, tmp_path: Path, words: list[str], code: int, about: str
) -> None:
    (tmp_path / "wrong.json").write_text('{"output_validation": {"mode": "stirct"}}')
    ran = handfast("wrap", *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert ran.err.startswith(f"handfast: {about}")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], b"wrap needs a command after --, or a --url, and not both"),
        (
            ["--url", "http://127.0.0.1:1/mcp", "--", "server"],
            b"wrap needs a command after --, or a --url, and not both",
        ),
        (["--url", "ftp://example.com/"], b"http"),
    ],
)
def test_what_cannot_be_wrapped_is_one_clear_line(tmp_path: Path, words: list[str], text: bytes) -> None:
    done = wrap(tmp_path, *words)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)
    assert text in done.stderr


def test_a_url_where_nobody_listens_is_an_error_in_the_answer(tmp_path: Path) -> None:
    done = wrap(tmp_path, "--url", "http://127.0.0.1:1/mcp")
    found = {message["id"]: message["error"] for line in done.stdout.splitlines() if (message := json.loads(line))}
    assert found[1]["code"] == -31001
    assert "127.0.0.1:1" in found[1]["message"]


def test_a_server_does_not_get_the_token_that_settings_may_use(tmp_path: Path) -> None:
    """The rest of the environment is the server's, as without handfast."""
    seen = tmp_path / "seen"
    code = f"import json, os; open({str(seen)!r}, 'w').write(json.dumps(dict(os.environ)))"
    config = tmp_path / "handfast.json"
    config.write_text(
        json.dumps({"mcpServers": {"up": {"url": "http://127.0.0.1:9/", "headers": {"A": "${HANDFAST_TOKEN}"}}}})
    )
    environment = os.environ | {"HANDFAST_TOKEN": "hunter2", "OWN": "kept"}
    flags = ["--name", "other", "--config", str(config), "--state", str(tmp_path / "state")]
    command = [*HANDFAST, "wrap", *flags, "--", sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, check=False
    )
    found = json.loads(seen.read_text())
    assert (done.returncode, "HANDFAST_TOKEN" in found, found["OWN"]) == (0, False, "kept"), done.stderr
