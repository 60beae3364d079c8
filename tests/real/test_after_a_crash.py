"""Sessions that outlive their server: real clients after a child's crash, a real HTTP server that starts anew."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.gateway.running import TEXT, running, stdio
from tests.parts import Outcome, Parts, Sdk, free_port, npm_server, wait_for_port
from tests.real.servers import call
from tests.stubs.run import answer, tool, write_stub

ANSWERS = {"add": answer(TEXT), "quit": answer(TEXT, "exit:3")}


@pytest.mark.parametrize("answers", [False, True], ids=["shared child", "own child"])
@pytest.mark.parametrize("sdk", ["py", "ts1"])
def test_a_client_of_2025_goes_on_after_a_crash_and_no_call_is_repeated(
    parts: Parts, tmp_path: Path, sdk: Sdk, answers: bool
) -> None:
    stub = write_stub(tmp_path, tools=[tool(name) for name in ANSWERS], answers=ANSWERS, versions=["2025-11-25"])
    steps = [call("add"), call("quit"), {"list": True}, call("add")]
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        session = {"target": f"{gateway.base}/mcp/up", "mode": "legacy", "answers": answers, "steps": steps}
        (report,) = parts.sessions(sdk, [session])
    assert ["error" in step for step in report] == [False, True, False, False]
    assert [len(stub.journal.calls(name)) for name in ANSWERS] == [2, 1]


@contextmanager
def everything_on(port: int) -> Iterator[None]:
    command = ["env", f"PORT={port}", *npm_server("everything", "streamableHttp")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for_port(port, process)
            yield
        finally:
            process.kill()


def test_an_http_server_that_started_anew_is_listed_again_at_once(parts: Parts, tmp_path: Path) -> None:
    port = free_port()

    def tools_of(client_steps: list[object], base: str) -> Outcome:
        return parts.sessions(
            "py", [{"target": f"{base}/mcp", "mode": "2026-07-28", "answers": False, "steps": client_steps}]
        )[0][-1]

    with running({"up": {"url": f"http://127.0.0.1:{port}/mcp"}}, tmp_path) as gateway:
        for _ in range(2):
            with everything_on(port):
                tools = tools_of([{"list": True}], gateway.base)["result"]["tools"]
                assert "up__echo" in [one["name"] for one in tools]
