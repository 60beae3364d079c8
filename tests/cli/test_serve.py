"""`handfast serve` as a command: what it says when it starts, and what keeps it from starting."""

import json
import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, demo_settings
from tests.contracts.rig import HANDFAST


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_where_each_server_is_and_ends_well_when_told_to(tmp_path: Path, number: signal.Signals) -> None:
    settings = {**demo_settings(tmp_path), "input_validation": {"mode": "strict"}}
    (tmp_path / "handfast.json").write_text(json.dumps(settings))
    command = [*HANDFAST, "serve", "--listen", "127.0.0.1:0", "--state", str(tmp_path / "state")]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        url = first.split()[-1]
        lines = [process.stderr.readline() for _ in range(4)]
        process.send_signal(number)
        out, rest = process.communicate(timeout=30)
    assert first == f"handfast is listening on {url}\n"
    assert lines == [
        f"  {url}/mcp  (all servers; tools are named server__tool)\n",
        f"  {url}/mcp/broken  (stdio; input strict, output warn)\n",
        f"  {url}/mcp/contacts  (stdio; input strict, output warn)\n",
        f"  {url}/mcp/gone  (http; input strict, output warn)\n",
    ]
    assert (process.returncode, out, rest) == (0, "", "")


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ({"handfast": {"surface": "compact"}}, "  {url}/mcp/a  (stdio; input warn, output warn; compact)\n"),
        ({"handfast": {"bridge": "off"}}, "  {url}/mcp/a  (stdio; input warn, output warn; bridge off)\n"),
        ({"disabled": True}, ""),
    ],
)
def test_it_says_what_differs_from_what_most_servers_are(tmp_path: Path, entry: dict[str, object], line: str) -> None:
    (tmp_path / "handfast.json").write_text(json.dumps({"mcpServers": {"a": {"command": "x", **entry}}}))
    command = [*HANDFAST, "serve", "--listen", "127.0.0.1:0", "--state", str(tmp_path / "state")]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first, all_servers = process.stderr.readline(), process.stderr.readline()
        process.terminate()
        rest = process.stderr.read()
    assert rest == line.format(url=first.split()[-1])
    assert ("No server is enabled." in all_servers) == (not line)


def serve(folder: Path, *words: str) -> Ran:
    """A gateway that does not start, in a folder of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HANDFAST_")}
    environment |= {"XDG_CONFIG_HOME": str(folder / "home"), "HANDFAST_STATE": str(folder / "state")}
    done = subprocess.run(
        [*HANDFAST, "serve", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def test_an_address_in_use_is_one_line(tmp_path: Path, settings_file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = serve(tmp_path, "--config", str(settings_file), "--listen", address)
    about = "Address already in use. Stop what uses it, or choose another with --listen."
    assert ran == Ran(1, "", f"handfast: cannot listen on {address}: {about}\n")


@pytest.mark.parametrize(
    ("settings", "words", "about"),
    [
        (None, [], "does not exist; write one with: handfast config init"),
        (None, ["--config", "missing.json"], "missing.json: does not exist; write one with: handfast config init"),
        ("{", [], "handfast.json"),
        ("{}", [], "mcpServers"),
        ('{"mcpServers": {"a": {"command": "x"}}}', ["--listen", "nowhere"], "flag listen must be host:port"),
        ('{"mcpServers": {"a": {"url": "ftp://x"}}}', [], "mcpServers.a.url"),
        ('{"mcpServers": {"a": {"command": "x"}}}', ["--state", "handfast.json"], ""),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    tmp_path: Path, settings: str | None, words: list[str], about: str
) -> None:
    if settings is not None:
        (tmp_path / "handfast.json").write_text(settings)
    ran = serve(tmp_path, *(["--listen", "127.0.0.1:0"] if "--listen" not in words else []), *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert about in ran.err


def test_every_problem_of_the_settings_has_its_line(tmp_path: Path) -> None:
    wrong = {"mcpServers": {"a": {}}, "output_validation": {"mode": "stirct"}}
    (tmp_path / "handfast.json").write_text(json.dumps(wrong))
    ran = serve(tmp_path)
    assert (ran.code, ran.err.count("\n")) == (1, 2)
