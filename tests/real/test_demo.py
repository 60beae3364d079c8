"""The demo server, held to strict, with every client: what is blocked reaches the model as words."""

import sys
from pathlib import Path

import pytest

from tests.contracts.rig import serve
from tests.parts import ROOT, Outcome, Parts
from tests.real.clients import CLIENTS, Wanted, hold_sessions
from tests.real.gateways import wrap_command
from tests.real.servers import call
from tests.real.sessions import STRICT, check_refused

ADA = {"email": "ada@example.com", "first_name": "Ada"}
STEPS = [
    call("list_contacts"),
    call("create_contact", data=ADA),
    call("create_contact", **ADA),
    call("list_contacts"),
    call("contact_stats"),
]
WRAPPED = (
    "Argument 'data' is not a declared field and its value is a nested object.\n"
    "Likely cause: REST-style wrapper — send fields flat at the top level.\n"
    'Unwrap \'data\': send "email", "first_name" directly, not inside "data".\n'
    'Declared fields: ["email", "first_name", "notes"].'
)


def demo_command(folder: Path) -> list[str]:
    return [sys.executable, str(ROOT / "examples" / "demo" / "contacts.py"), str(folder / "contacts.db")]


@pytest.fixture(scope="module")
def held(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], list[Outcome]]:
    """The same session of every client, through each kind of gateway."""
    folder = tmp_path_factory.mktemp("demo")
    command = demo_command(folder)
    flags = ("--input", "strict", "--output", "strict")
    wanted = {}
    with serve({"mcpServers": {"contacts": {"command": command[0], "args": command[1:]}}, **STRICT}, folder) as base:
        for name, client in CLIENTS.items():
            own = folder / name
            own.mkdir()
            wanted["serve", name] = Wanted(client, f"{base}/mcp/contacts", STEPS)
            wanted["wrap", name] = Wanted(client, wrap_command(own, demo_command(own), *flags), STEPS)
        return hold_sessions(parts, wanted)


@pytest.mark.requirement("000-1")
@pytest.mark.requirement("000-13")
@pytest.mark.parametrize("route", ["wrap", "serve"])
@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_is_told_in_words_what_was_blocked(
    held: dict[tuple[str, str], list[Outcome]], client: str, route: str
) -> None:
    before, wrapped, created, after, stats = held[route, client]
    check_refused(wrapped, WRAPPED)
    known = before["result"]["structuredContent"]["contacts"]
    made = {"id": created["result"]["structuredContent"]["id"], **ADA, "notes": ""}
    assert after["result"]["structuredContent"]["contacts"] == [*known, made]
    (block,) = stats["result"]["content"]
    assert stats["result"]["isError"] is True
    assert "structuredContent" not in stats["result"]
    assert "contact_stats" in block["text"]
    assert "integer" in block["text"]


def test_directly_the_broken_result_raises_in_the_client_and_says_nothing_to_the_model(
    parts: Parts, tmp_path: Path
) -> None:
    for drive in (parts.py_client, parts.ts_client):
        _, stats = drive(demo_command(tmp_path), [{"list": True}, call("contact_stats")])
        assert set(stats) == {"error"}
