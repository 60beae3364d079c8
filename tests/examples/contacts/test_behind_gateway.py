"""The example behind `handfast serve`, with everything strict: the same answers, and nothing to complain about."""

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.rig import HANDFAST
from tests.django.connecting import MODES, Mode, connected
from tests.examples.contacts.asking import Failure, Json, ask
from tests.examples.contacts.running import EXAMPLE, Project, Served
from tests.examples.contacts.session import hold
from tests.gateway.running import Serving, running


@pytest.fixture
def gateway(served: Served, tmp_path: Path) -> Iterator[Serving]:
    """In front of the example, with the settings that it comes with."""
    settings = json.loads((EXAMPLE / "handfast.json").read_text())
    assert [settings[block]["mode"] for block in ("input_validation", "output_validation")] == ["strict", "strict"]
    led = {"CONTACTS_URL": f"{served.url}/mcp/", "CONTACTS_TOKEN": served.token("admin")}
    with running(settings.pop("mcpServers"), tmp_path, environment={**os.environ, **led}, **settings) as serving:
        yield serving


def records(gateway: Serving, *flags: str) -> list[Json]:
    command = [*HANDFAST, "activity", "list", "--state", str(gateway.state), "-o", "json", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found: list[Json] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_a_whole_session_leaves_nothing_but_success_on_record(project: Project, gateway: Serving, mode: Mode) -> None:
    async def talk() -> int:
        async with connected(f"{gateway.base}/mcp/contacts", mode) as client:
            called = await hold(client)
            assert called == {tool.name for tool in (await client.list_tools()).tools}
            return len(called)

    count = asyncio.run(talk())
    gateway.process.terminate()  # which writes what is still to be recorded
    gateway.process.wait(30)
    assert records(gateway, "--status", "warning,blocked,error,cancelled") == []
    calls = records(gateway, "--type", "tool_call")
    assert len({call["tool"] for call in calls}) == count
    assert {call["status"] for call in calls} == {"success"}


@pytest.mark.parametrize("mode", MODES)
def test_a_wrapped_payload_is_stopped_before_it_reaches_the_project(
    project: Project, gateway: Serving, mode: Mode
) -> None:
    before = project.everything()
    sent = {"data": {"email": "agent@example.com", "first_name": "Agent"}}

    async def talk() -> object:
        async with connected(f"{gateway.base}/mcp/contacts", mode) as client:
            return await ask(client, "contacts__create", sent)

    answer = asyncio.run(talk())
    assert isinstance(answer, Failure)
    assert answer.text.startswith("Argument 'data' is not a declared field and its value is a nested object.\n")
    assert project.everything() == before
    (blocked,) = records(gateway, "--type", "policy_decision")
    assert (blocked["status"], blocked["rule"]) == ("blocked", "arguments.nested_wrapper")
