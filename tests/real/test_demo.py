"""The demo server, held to strict, with every client: what is blocked reaches the model as words."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.rig import serve
from tests.parts import ROOT, Parts
from tests.real.clients import CLIENTS
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
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("demo")
    command = demo_command(folder)
    with serve({"mcpServers": {"contacts": {"command": command[0], "args": command[1:]}}, **STRICT}, folder) as base:
        yield f"{base}/mcp/contacts"


@pytest.mark.requirement("000-1")
@pytest.mark.requirement("000-13")
@pytest.mark.parametrize("route", ["wrap", "serve"])
@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_is_told_in_words_what_was_blocked(
    parts: Parts, tmp_path: Path, gateway: str, client: str, route: str
) -> None:
    flags = ("--input", "strict", "--output", "strict")
    target = gateway if route == "serve" else wrap_command(tmp_path, demo_command(tmp_path), *flags)
    before, wrapped, created, after, stats = CLIENTS[client].drive(parts, target, STEPS)
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
