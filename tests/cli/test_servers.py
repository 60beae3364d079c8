"""`handfast servers`: what the settings hold, how firmly, and what the gateway really serves."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import DemoGateway, Ran

Run = Callable[..., Ran]


def row(server: str, transport: str, state: str, address: str = "") -> dict[str, str]:
    return {
        "server": server,
        "transport": transport,
        "state": state,
        "input": "warn",
        "output": "warn",
        "address": address,
    }


@pytest.mark.usefixtures("settings_file")
def test_every_server_is_listed_in_a_table(handfast: Run) -> None:
    ran = handfast("servers")
    assert ran == Ran(
        0,
        "SERVER    TRANSPORT  STATE               INPUT  OUTPUT  ADDRESS\n"
        "broken    stdio      no gateway running  warn   warn\n"
        "contacts  stdio      no gateway running  warn   warn\n"
        "gone      http       no gateway running  warn   warn\n"
        "off       http       disabled            warn   warn\n",
        "",
    )


@pytest.mark.usefixtures("settings_file")
def test_a_running_gateway_gives_the_addresses(
    handfast: Run, demo: DemoGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = [
        row("broken", "stdio", "served", f"{demo.url}/mcp/broken"),
        row("contacts", "stdio", "served", f"{demo.url}/mcp/contacts"),
        row("gone", "http", "served", f"{demo.url}/mcp/gone"),
        row("off", "http", "disabled"),
    ]
    by_flag = handfast("servers", "-o", "json", "--url", demo.url)
    monkeypatch.setenv("HANDFAST_URL", demo.url)
    by_environment = handfast("servers", "-o", "json")
    assert [json.loads(ran.out) for ran in (by_flag, by_environment)] == [expected, expected]


def test_a_server_that_the_gateway_does_not_have_is_not_said_to_be_served(
    handfast: Run, demo: DemoGateway, tmp_path: Path
) -> None:
    listen = demo.url.removeprefix("http://")
    (tmp_path / "handfast.json").write_text(json.dumps({"listen": listen, "mcpServers": {"new": {"command": "x"}}}))
    assert json.loads(handfast("servers", "-o", "json").out) == [row("new", "stdio", "not served")]


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
