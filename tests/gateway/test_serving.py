"""`handfast serve` as a process: where it listens, and that nothing of it is left when it ends."""

import json
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.contracts.rig import HANDFAST
from tests.gateway.running import (
    TEXT,
    OpenPost,
    call,
    eventually,
    is_running,
    meanwhile,
    pids,
    running,
    send,
    stdio,
    verify,
)
from tests.stubs.run import answer, tool, write_stub


def serve(folder: Path, listen: str, *, mode: str = "none", **servers: object) -> "subprocess.CompletedProcess[str]":
    config = folder / "handfast.json"
    config.write_text(json.dumps({"mcpServers": servers or {"up": {"command": "true"}}, "auth": {"mode": mode}}))
    command = [*HANDFAST, "serve", "--config", str(config), "--listen", listen, "--state", str(folder / "state")]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


def test_a_port_in_use_is_one_line_and_a_failure(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = serve(tmp_path, address)
    why = "Address already in use. Stop what uses it, or choose another with --listen."
    assert (done.returncode, done.stdout) == (1, "")
    assert f"cannot listen on {address}: {why}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_address_that_is_not_ours_is_one_line_too(tmp_path: Path) -> None:
    done = serve(tmp_path, "192.0.2.1:80", mode="token")
    assert (done.returncode, done.stderr.count("\n"), "cannot listen on 192.0.2.1:80" in done.stderr) == (1, 1, True)


def test_a_name_that_leads_off_this_machine_needs_callers_that_sign_in(tmp_path: Path) -> None:
    """Only when the socket is bound is it known where a name leads."""
    listen = f"{socket.gethostname()}:0"
    if socket.gethostbyname(socket.gethostname()).startswith("127."):
        listen = "0.0.0.0:0"
    done = serve(tmp_path, listen)
    assert (done.returncode, done.stderr.count("\n"), "open to other machines" in done.stderr) == (1, 1, True)


def test_a_url_that_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    done = serve(tmp_path, "127.0.0.1:0", up={"url": "ftp://example/"})
    assert done.returncode != 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_with_every_child(tmp_path: Path, number: signal.Signals) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        assert gateway.client().call("add").text == "fine"
        assert gateway.client(capabilities={"roots": {}}).call("add").text == "fine"
        assert gateway.client(is_modern=True).call("add").text == "fine"
        children = pids(stub)
        gateway.process.send_signal(number)
        assert gateway.process.wait(10) == 0
        assert (len(children), [is_running(pid) for pid in children]) == (3, [False] * 3)
    assert verify(gateway.state) == "intact"
    assert not any(b"Traceback" in line for line in gateway.errors)


def test_a_call_under_way_is_answered_before_the_end(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("slow")], answers={"slow": answer(TEXT, "slow:0.7")})
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        client = gateway.client()
        with meanwhile(lambda: client.post(call(1, "slow")).text) as answered:
            stub.journal.wait_for(lambda journal: journal.calls("slow"))
            gateway.process.terminate()
            assert answered.result(10) == "fine"
        assert gateway.process.wait(10) == 0


def test_open_streams_do_not_hold_up_the_end(tmp_path: Path) -> None:
    stub = write_stub(tmp_path)
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        stream = OpenPost(gateway.client(), b"", method="GET")
        before = time.monotonic()
        gateway.process.terminate()
        assert gateway.process.wait(15) == 0
        assert time.monotonic() - before < 10
        stream.leave()


def test_a_killed_gateway_leaves_no_child_behind(tmp_path: Path) -> None:
    """Their input ends with it, which is how a stdio server learns that its client is gone."""
    stub = write_stub(tmp_path)
    with running({"up": stdio(stub)}, tmp_path, leaves_calls=True) as gateway:
        gateway.client()
    (child,) = pids(stub)
    eventually(lambda: not is_running(child), "the child's end")


def test_it_says_where_everything_is(tmp_path: Path) -> None:
    with running({"b": {"command": "true"}, "a": {"url": "http://127.0.0.1:9/mcp"}}, tmp_path) as gateway:
        eventually(lambda: len(gateway.errors) == 3, "both servers announced")
        assert send(gateway.base, "GET", "/health").status == 200
    assert [line.decode() for line in gateway.errors[:3]] == [
        f"  {gateway.base}/mcp  (all servers; tools are named server__tool)\n",
        f"  {gateway.base}/mcp/a  (http; input warn, output warn)\n",
        f"  {gateway.base}/mcp/b  (stdio; input warn, output warn)\n",
    ]
