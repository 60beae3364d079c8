"""`handfast tools`: what each server promises, asked through the gateway."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import DemoGateway, Ran
from tests.stubs.run import tool, write_stub

Run = Callable[..., Ran]
TABLE = (
    "SERVER    TOOL            INPUT   OUTPUT  DESCRIPTION\n"
    "contacts  create_contact  schema  schema  Store a new contact and return it with its id.\n"
    "contacts  list_contacts   schema  schema  Every contact, oldest first.\n"
    "contacts  contact_stats   schema  schema  "
    "How many contacts there are, and how many of them have an email address.\n"
)
BROKEN = (
    "handfast: broken: The server cannot start 'no-such-command': no such command. Check the command and the PATH.\n"
)
GONE = (
    "handfast: gone: http://127.0.0.1:1 refused the connection. Check that the server runs and listens on this port.\n"
)


def test_one_servers_tools_are_listed_in_a_table(handfast: Run, demo: DemoGateway) -> None:
    assert handfast("tools", "contacts", "--url", demo.url) == Ran(0, TABLE, "")


@pytest.mark.usefixtures("settings_file")
def test_servers_that_fail_are_named_and_the_others_are_listed(handfast: Run, demo: DemoGateway) -> None:
    assert handfast("tools", "--url", demo.url) == Ran(1, TABLE, BROKEN + GONE)


@pytest.mark.usefixtures("settings_file")
def test_without_a_gateway_it_starts_one_of_its_own(handfast: Run) -> None:
    assert handfast("tools", "contacts") == Ran(0, TABLE, "")


def test_json_output_holds_the_schemas(handfast: Run, demo: DemoGateway) -> None:
    ran = handfast("tools", "contacts", "-o", "json", "--url", demo.url)
    rows = json.loads(ran.out)
    assert [row["tool"] for row in rows] == ["create_contact", "list_contacts", "contact_stats"]
    assert rows[1]["input_schema"] == {"type": "object", "properties": {}}
    assert rows[1]["annotations"] == {"readOnlyHint": True}
    assert set(rows[1]) == {"server", "tool", "input_schema", "output_schema", "annotations", "description"}


def test_every_page_of_a_long_list_is_asked_for(handfast: Run, tmp_path: Path) -> None:
    names = [f"tool{number}" for number in range(5)]
    stub = write_stub(tmp_path, pages=[[tool(name) for name in names[:3]], [tool(name) for name in names[3:]]])
    entry = {"command": stub.command[0], "args": stub.command[1:]}
    (tmp_path / "handfast.json").write_text(json.dumps({"listen": "127.0.0.1:1", "mcpServers": {"up": entry}}))
    rows = json.loads(handfast("tools", "up", "-o", "json").out)
    assert [row["tool"] for row in rows] == names


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (["nope"], "nope: There is no server of this name. Servers: broken, contacts, gone."),
        (["off"], "off: There is no server of this name. Servers: broken, contacts, gone."),
    ],
)
def test_an_unknown_server_is_one_line(handfast: Run, demo: DemoGateway, words: list[str], about: str) -> None:
    ran = handfast("tools", *words, "--url", demo.url)
    assert ran == Ran(1, "", f"handfast: {about}\n")


def test_the_gateway_is_found_by_the_environment(
    handfast: Run, demo: DemoGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANDFAST_URL", f"{demo.url}/mcp")
    assert handfast("tools").out == TABLE


def test_without_settings_and_without_a_name_it_says_what_to_do(handfast: Run) -> None:
    ran = handfast("tools")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "does not exist; write one with: handfast config init" in ran.err


def test_a_gateway_that_is_not_there_is_one_line(handfast: Run) -> None:
    ran = handfast("tools", "contacts", "--url", "http://127.0.0.1:1", "-o", "json")
    about = "http://127.0.0.1:1 refused the connection. Check that the server runs and listens on this port."
    assert (ran.code, json.loads(ran.out), ran.err) == (1, [], f"handfast: contacts: {about}\n")
