"""`handfast servers`: what the settings hold, how firmly, and what the gateway really serves."""

import contextlib
import json
import os
import pty
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import DemoGateway, Ran, demo_settings
from tests.contracts.rig import HANDFAST, serve

Run = Callable[..., Ran]


UNASKED = {
    "era": "unknown",
    "calls": 0,
    "in_progress": 0,
    "waiting": 0,
    "p50_ms": None,
    "p95_ms": None,
    "starts": 0,
    "exits": 0,
    "failures": 0,
    "last_error": "",
    "last_error_at": "",
}
BROKEN = "The server cannot start 'no-such-command': no such command. Check the command and the PATH."


def row(server: str, transport: str, state: str, address: str = "") -> dict[str, object]:
    return {
        "server": server,
        "transport": transport,
        "state": state,
        "input": "warn",
        "output": "warn",
        **UNASKED,
        "address": address,
    }


@pytest.mark.usefixtures("settings_file")
def test_every_server_is_listed_in_a_table(handfast: Run) -> None:
    ran = handfast("servers")
    assert ran == Ran(
        0,
        "SERVER    TRANSPORT  STATE               ERA      INPUT  OUTPUT  CALLS  P50 MS  LAST ERROR  ADDRESS\n"
        "broken    stdio      no gateway running  unknown  warn   warn    0\n"
        "contacts  stdio      no gateway running  unknown  warn   warn    0\n"
        "gone      http       no gateway running  unknown  warn   warn    0\n"
        "off       http       disabled            unknown  warn   warn    0\n",
        "",
    )


@pytest.mark.usefixtures("settings_file")
def test_a_running_gateway_gives_the_addresses(
    handfast: Run, fresh: DemoGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [
        row("broken", "stdio", "idle", f"{fresh.url}/mcp/broken"),
        row("contacts", "stdio", "idle", f"{fresh.url}/mcp/contacts"),
        row("gone", "http", "idle", f"{fresh.url}/mcp/gone"),
        row("off", "http", "disabled"),
    ]
    by_flag = handfast("servers", "-o", "json", "--url", fresh.url)
    monkeypatch.setenv("HANDFAST_URL", fresh.url)
    by_environment = handfast("servers", "-o", "json")
    assert [json.loads(ran.out) for ran in (by_flag, by_environment)] == [expected, expected]


def test_a_gateway_that_is_named_needs_no_settings(handfast: Run, fresh: DemoGateway) -> None:
    unknown = {"transport": "unknown", "input": "unknown", "output": "unknown"}
    names = ("broken", "contacts", "gone")
    expected = [{**row(name, "", "idle", f"{fresh.url}/mcp/{name}"), **unknown} for name in names]
    expected.append({**row("off", "", "disabled"), **unknown})
    assert json.loads(handfast("servers", "-o", "json", "--url", fresh.url).out) == expected


@pytest.mark.usefixtures("settings_file")
@pytest.mark.parametrize("endpoint", ["/", "/mcp", "/mcp/", "/mcp/contacts", "/mcp?servers=contacts,gone"])
def test_the_address_of_an_endpoint_names_its_gateway(handfast: Run, fresh: DemoGateway, endpoint: str) -> None:
    shown = handfast("servers", "-o", "json", "--url", fresh.url)
    assert handfast("servers", "-o", "json", "--url", fresh.url + endpoint) == shown


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoGateway]:
    """A gateway of which nothing was asked yet."""
    folder = tmp_path_factory.mktemp("fresh")
    with serve(demo_settings(folder), folder) as url:
        yield DemoGateway(url, folder)


@pytest.mark.usefixtures("settings_file")
def test_it_shows_how_each_server_is(handfast: Run, fresh: DemoGateway) -> None:
    for server in ("broken", "contacts", "gone"):
        handfast("call", server, "contact_stats", "--url", fresh.url)
    broken, contacts, gone, off = json.loads(handfast("servers", "-o", "json", "--url", fresh.url).out)
    assert [one["state"] for one in (broken, contacts, gone, off)] == ["failing", "up", "failing", "disabled"]
    assert (contacts["era"], contacts["calls"], contacts["starts"]) == ("legacy", 1, 1)
    assert 0 < contacts["p50_ms"] <= contacts["p95_ms"]
    assert (broken["last_error"], broken["failures"], broken["starts"]) == (BROKEN, 2, 0)
    assert gone["last_error"].startswith("http://127.0.0.1:1 refused the connection.")
    assert all(one["last_error_at"].endswith("Z") for one in (broken, gone))


@pytest.mark.usefixtures("settings_file")
@pytest.mark.parametrize("columns", [80, 150, 300])
def test_the_table_fits_the_terminal_and_the_error_gives_way_before_the_address(
    handfast: Run, fresh: DemoGateway, tmp_path: Path, columns: int
) -> None:
    handfast("call", "broken", "contact_stats", "--url", fresh.url)
    lines = on_a_terminal(["servers", "--url", fresh.url], tmp_path, columns)
    assert (len(lines), max(map(len, lines)) <= columns) == (6, True)
    assert lines[-1] == f"All of them: {fresh.url}/mcp"
    (shown,) = [line for line in lines if line.startswith("broken")]
    assert (f"{fresh.url}/mcp/broken" in shown, BROKEN in shown) == (columns > 80, columns == 300)


def on_a_terminal(words: list[str], folder: Path, columns: int) -> list[str]:
    """What a command shows on a terminal so wide."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1"}
    with subprocess.Popen([*HANDFAST, *words], stdout=follower, cwd=folder, env=environment) as process:
        os.close(follower)
        shown = b""
        with contextlib.suppress(OSError):  # how a terminal says that it has ended
            while chunk := os.read(leader, 65536):
                shown += chunk
    os.close(leader)
    assert process.returncode == 0
    return shown.decode().splitlines()


def test_a_server_that_the_gateway_does_not_have_is_not_said_to_be_served(
    handfast: Run, demo: DemoGateway, tmp_path: Path
) -> None:
    listen = demo.url.removeprefix("http://")
    servers = {"new": {"command": "x"}, "off": {"command": "x"}}  # the gateway has `off`, but disabled
    (tmp_path / "handfast.json").write_text(json.dumps({"listen": listen, "mcpServers": servers}))
    expected = [row("new", "stdio", "not served"), row("off", "stdio", "not served")]
    assert json.loads(handfast("servers", "-o", "json").out) == expected


def test_the_modes_shown_are_the_ones_that_hold(handfast: Run, tmp_path: Path) -> None:
    entry = {"command": "x", "handfast": {"output_validation": {"mode": "strict"}}}
    settings = {"listen": "127.0.0.1:1", "mcpServers": {"a": entry}, "input_validation": {"mode": "off"}}
    (tmp_path / "handfast.json").write_text(json.dumps(settings))
    (shown,) = json.loads(handfast("servers", "-o", "json").out)
    assert shown == {**row("a", "stdio", "no gateway running"), "input": "off", "output": "strict"}


@pytest.mark.parametrize(
    ("words", "code", "about"),
    [
        ([], 1, "does not exist; write one with: handfast config init"),
        (["--config", "missing.json"], 1, "missing.json: does not exist; write one with: handfast config init"),
    ],
)
def test_without_settings_it_says_what_to_do(handfast: Run, words: list[str], code: int, about: str) -> None:
    ran = handfast("servers", *words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert about in ran.err


@pytest.mark.usefixtures("settings_file")
def test_an_address_that_is_none_is_wrong_usage(handfast: Run) -> None:
    ran = handfast("servers", "--url", "nowhere")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
