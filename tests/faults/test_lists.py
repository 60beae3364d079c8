"""Lists of tools that never end, or are huge: calls are answered all the same, and others notice nothing."""

import json
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.contracts.rig import ROUTES, Route, rig
from tests.faults.scene import SteadyCaller, upstream
from tests.gateway.running import TEXT, meanwhile, one_record, running, stdio
from tests.stubs.run import answer, tool, write_stub

SOON_S = 10.0  # a call waits five seconds for its contract at most


@pytest.mark.parametrize("paging", ["fresh", "same"])
@pytest.mark.parametrize("route", ROUTES)
def test_a_list_that_never_ends_holds_no_call_for_ever(route: Route, paging: str, tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("steady")], answers={"steady": answer(TEXT)}, paging=paging)
    with rig(route, stub, tmp_path) as gateway:
        began = time.monotonic()
        assert gateway.call("steady").result == json.loads(TEXT)
        assert gateway.call("steady").result == json.loads(TEXT)
        assert time.monotonic() - began < SOON_S
        # What was asked for on our own account: two hundred pages at most, and one where the cursor repeats itself.
        asked = stub.journal.methods().count("tools/list")
        assert asked <= (200 if paging == "fresh" else 2)
    assert len(gateway.records(tool="steady", type="tool_call")) == 2


@pytest.mark.parametrize("route", ["stdio", "http-json"])
def test_a_huge_list_is_passed_on_up_to_the_bound_and_keeps_nobody_else_from_calling(
    route: Route, tmp_path: Path
) -> None:
    many = [tool(f"tool-{number}", {"type": "object", "description": "x" * 200}) for number in range(11_000)]
    answers = {"steady": answer(TEXT), "tool-9": answer(TEXT)}
    huge = write_stub(tmp_path, tools=many, answers=answers, name="huge")
    good = write_stub(tmp_path, tools=[tool("steady")], answers=answers, name="good")
    with ExitStack() as stack:
        servers = {"up": upstream(stack, route, huge), "other": stdio(good)}
        gateway = stack.enter_context(running(servers, tmp_path))
        steady = SteadyCaller(gateway.client("other"))
        steady.client.call("steady")
        client = gateway.client()
        with meanwhile(client.list_tools) as listed:
            while not listed.done():
                steady.call_once()
            assert len(listed.result()) == 10_000, "limits.tools_per_server"
        assert (steady.failures, steady.calls > 0) == ([], True)
        assert client.call("tool-9").result == json.loads(TEXT)
        assert one_record(gateway.state, type="tool_call", tool="tool-9").rule == ""
