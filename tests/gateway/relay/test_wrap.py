"""`handfast wrap` as a process: what the child sees and leaves behind is what it would be without us."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contracts.rig import HANDFAST
from tests.gateway.running import TEXT, call, eventually, one_record, outcome, pids, read_records, started, wrapping
from tests.stubs.run import Stub, answer, tool, write_stub

PYTHON = [sys.executable, "-c"]
ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"


def flags(folder: Path) -> list[str]:
    config = folder / "handfast.json"
    config.write_text("{}")
    return [*HANDFAST, "wrap", "--config", str(config), "--state", str(folder / "state"), "--"]


def run(folder: Path, script: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    command = [*flags(folder), *PYTHON, script]
    return subprocess.run(command, input=given, capture_output=True, timeout=30, check=False)


# --- how it ends ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("pass", 0),
        ("import sys; sys.exit(3)", 3),
        ("import os; os.kill(os.getpid(), 9)", 128 + signal.SIGKILL),
        ("import os; os.kill(os.getpid(), 15)", 128 + signal.SIGTERM),
    ],
)
def test_the_exit_code_is_the_childs(tmp_path: Path, script: str, code: int) -> None:
    assert run(tmp_path, script).returncode == code


# The client's messages come some turns of the loop after the end of the server: in one of them it is just noticed.
ENDS_EARLY = """
import asyncio, os, signal, sys
from pathlib import Path
from handfast.gateway.relay.wrap import Wrapper
from handfast.gateway.runtime import Runtime
from handfast.gateway.settings import load_settings

async def main(folder, turns, session):
    runtime = Runtime(load_settings(None, environ={}, needs_servers=False), Path(folder))
    wrapper = Wrapper(runtime.server_side("up", ["up"]), message_limit=1 << 20, limits=lambda: runtime.settings.limits)
    given, gives = os.pipe()
    sys.stdin = open(given)
    running = asyncio.create_task(wrapper.run(["/bin/sleep", "60"]))
    while len(asyncio.all_tasks()) < 3:  # this one, the wrapper's, and the one that looks for overdue calls
        await asyncio.sleep(0)
    wrapper._child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, wrapper._child.pid, os.WEXITED | os.WNOWAIT)
    for _ in range(int(turns)):
        await asyncio.sleep(0)
    os.write(gives, session.encode())
    code = await running
    await runtime.close()
    os._exit(code)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("turns", range(6))
def test_a_server_that_ends_as_its_client_begins_keeps_nobody_waiting(tmp_path: Path, turns: int) -> None:
    session = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "add", "arguments": {}}},
    ]
    text = "".join(json.dumps(message) + "\n" for message in session)
    command = [*PYTHON, ENDS_EARLY, str(tmp_path / "state"), str(turns), text]
    done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (128 + signal.SIGKILL, b"")
    assert [reply["id"] for reply in replies if "error" in reply] in ([], [1, 2], [2, 1])


def test_stderr_passes_through_untouched(tmp_path: Path) -> None:
    done = run(tmp_path, r"import sys; sys.stderr.buffer.write(b'half \xff\x1b[1m line')")
    assert (done.stderr, done.stdout) == (b"half \xff\x1b[1m line", b"")


def test_a_command_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    done = subprocess.run([*flags(tmp_path), "no-such-server"], capture_output=True, timeout=30, check=False)
    expected = b"cannot start 'no-such-server': no such command. Check the command and the PATH."
    assert (done.returncode, done.stdout, expected in done.stderr, done.stderr.count(b"\n")) == (127, b"", True, 1)


def test_a_file_that_cannot_be_run_is_one_clear_line(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x00")
    done = subprocess.run([*flags(tmp_path), str(program)], capture_output=True, timeout=30, check=False)
    assert (done.returncode, b"Permission denied" in done.stderr, done.stderr.count(b"\n")) == (127, True, 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_reaches_the_child_and_its_answer_to_it_counts(tmp_path: Path, number: signal.Signals) -> None:
    script = f"""
import signal, sys, os
signal.signal({int(number)}, lambda *_: (sys.stderr.write("told"), sys.stderr.flush(), os._exit(7)))
sys.stderr.write("ready"); sys.stderr.flush()
while True: signal.pause()
"""
    with started([*flags(tmp_path), *PYTHON, script], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.read(5) == b"ready"
        process.send_signal(number)
        assert (process.stderr.read(), process.wait(10)) == (b"told", 7)


# Asks its client once the session is over, as npm's everything does, and goes on until that fails.
ASKS_LATE = r"""
import os, sys, time
for line in sys.stdin: pass
try:
    while True:
        os.write(1, b'{"jsonrpc":"2.0","id":1,"method":"roots/list"}\n')
        time.sleep(0.05)
except BrokenPipeError: os._exit(7)
"""


@pytest.mark.parametrize("first", ["stdin", "stdout"])
def test_a_server_notices_that_its_client_reads_no_more(tmp_path: Path, first: str) -> None:
    with started([*flags(tmp_path), *PYTHON, ASKS_LATE], stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if first == "stdin":
            process.stdin.close()
            process.stdout.readline()  # the server goes on without a client
            process.stdout.close()
        else:
            process.stdout.close()
            process.stdin.close()
        assert process.wait(30) == 7, "what it wrote failed, as it would without the wrapper"


def test_a_child_that_dies_leaves_every_pending_request_answered(tmp_path: Path) -> None:
    answers = {"slow": answer(TEXT, "silence"), "last": answer(TEXT, "exit:5")}
    stub = write_stub(tmp_path, tools=[tool("slow"), tool("last")], answers=answers)
    with wrapping(stub.command, tmp_path) as gateway:
        for number in range(20):
            gateway.send(call(f"s{number}", "slow"))
        stub.journal.wait_for(lambda journal: len(journal.calls("slow")) == 20)
        gateway.send(call("last", "last"))
        errors = [gateway.answer_to(name).message["error"] for name in ["last", *(f"s{n}" for n in range(20))]]
        assert gateway.process.wait(10) == 5
    text = "The server exited before it answered. Start it again and repeat the call if that is safe."
    assert errors == [{"code": -31001, "message": text}] * 21
    ended = [(r.status, r.rule) for r in read_records(gateway.state, type="tool_call")]
    assert ended == [("error", "upstream.exited")] * 21


# --- what the child is sent ------------------------------------------------------------------------------------------


def test_the_end_of_input_reaches_the_child_after_calls_that_were_held(tmp_path: Path) -> None:
    """The call comes before the list, so it is held for handfast's own question; the input ends meanwhile."""
    listing = {"tools/list": answer('{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}', "slow:0.3")}
    stub = write_stub(tmp_path, answers={"add": answer(TEXT)}, methods=listing)
    with wrapping(stub.command, tmp_path, opens=False) as gateway:
        gateway.send(call(1, "add"))
        assert gateway.process.stdin is not None
        gateway.process.stdin.close()
        assert gateway.process.wait(10) == 0
    assert stub.journal.methods() == ["tools/list", "tools/call"]


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    done = run(tmp_path, ECHO, b'{"jsonrpc":"2.0","method":"notifications/x"}')
    assert done.stdout == b'{"jsonrpc":"2.0","method":"notifications/x"}\n'


@pytest.mark.requirement("B1")
def test_a_carriage_return_inside_a_line_is_no_second_line_to_the_child(tmp_path: Path) -> None:
    """Python servers split on a lone CR: it would smuggle a call past us."""
    inner = call(2, "add")
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    with wrapping(stub.command, tmp_path) as gateway:
        gateway.send(b'{"jsonrpc":"2.0","id":"x","method":"ping","params":{"x":\r' + inner + b"\r}}")
        assert gateway.answer_to("x").result == {}
    (ping,) = [entry for entry in stub.journal.messages() if entry.message["method"] == "ping"]
    assert ping.bytes == b'{"jsonrpc":"2.0","id":"x","method":"ping","params":{"x": ' + inner + b" }}\n"
    assert stub.journal.calls("add") == []


def test_what_is_no_message_is_answered_and_goes_no_further(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    with wrapping(stub.command, tmp_path) as gateway:
        seen = []
        for line in (b"{", b'{"id":1}', b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b'{"x":"\xff"}'):
            gateway.send(line)
            seen.append(gateway.answer_to(json.loads(line)["id"] if line == b'{"id":1}' else None).message["error"])
        assert gateway.call("add").text == "fine"
    assert [error["code"] for error in seen] == [-32700, -32600, -32600, -32700]
    assert stub.journal.methods() == ["initialize", "notifications/initialized", "tools/list", "tools/call"]


@pytest.mark.requirement("B6")
def test_a_line_over_the_limit_is_refused_both_ways_and_the_next_ones_pass(tmp_path: Path) -> None:
    limit = 200_000
    large = json.dumps({"content": [{"type": "text", "text": "x" * limit}]})
    stub = write_stub(
        tmp_path, tools=[tool("large"), tool("add")], answers={"large": answer(large), "add": answer(TEXT)}
    )
    limits = {"message_bytes": limit, "body_bytes": 1000, "call_timeout_s": 1.5}
    off = {"mode": "off"}
    with wrapping(stub.command, tmp_path, limits=limits, input_validation=off, output_validation=off) as gateway:
        gateway.send(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * limit + b'"}}')
        error = {"code": -31004, "message": f"The message is over the limit of {limit} bytes. Send a smaller one."}
        assert gateway.answer_to(None).message["error"] == error
        gateway.send(call("big", "large"))
        assert gateway.call("add", b'{"x":"' + b"y" * (limit - 1000) + b'"}').text == "fine"
        assert gateway.answer_to("big").message["error"]["code"] in (-31001, -31002)
    assert len(stub.journal.calls("add")[0].bytes) > 65536
    assert one_record(gateway.state, rule="message.too_large").reason == (
        f"A message over the limit of {limit} bytes was dropped."
    )


# --- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("P3")
def test_a_call_without_progress_is_given_up_and_the_child_is_told(tmp_path: Path) -> None:
    answers = {"mute": answer(TEXT, "silence"), "busy": answer(TEXT, "progress:8:0.4")}
    stub = write_stub(tmp_path, tools=[tool("mute"), tool("busy")], answers=answers)
    with wrapping(stub.command, tmp_path, limits={"call_timeout_s": 1.0}) as gateway:
        gateway.send(call("b", "busy", _meta={"progressToken": "b"}))
        gateway.send(call("m", "mute"))
        text = "The server neither answered nor reported progress for 1 s. The call was given up."
        assert gateway.answer_to("m").message["error"] == {"code": -31002, "message": text}
        assert gateway.answer_to("b").text == "fine"
        assert len(gateway.strays) == 8
        (cancelled,) = [e.message for e in stub.journal.messages() if e.message["method"].endswith("cancelled")]
        assert cancelled["params"] == {"requestId": "m", "reason": "timeout"}
        assert outcome(gateway.state, "mute") == ("error", "upstream.timeout")


@pytest.mark.requirement("P3")
def test_a_call_that_was_cancelled_and_never_answered_is_not_given_up_a_second_time(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("mute")], answers={"mute": answer(TEXT, "silence")})
    with wrapping(stub.command, tmp_path, limits={"call_timeout_s": 1.0}) as gateway:
        gateway.send(call("first", "mute"))
        gateway.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"first"}}')
        gateway.send(call("second", "mute"))
        assert gateway.answer_to("second").message["error"]["code"] == -31002
        stub.journal.wait_for(lambda journal: journal.methods().count("notifications/cancelled") == 2)
        told = [e.message["params"] for e in stub.journal.messages() if e.message["method"].endswith("cancelled")]
        assert told == [{"requestId": "first"}, {"requestId": "second", "reason": "timeout"}]


@pytest.mark.requirement("P3")
def test_a_call_its_client_cancelled_is_recorded_so_and_a_late_answer_still_passes(tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("slow")], answers={"slow": answer(TEXT, "slow:0.3")})
    with wrapping(stub.command, tmp_path) as gateway:
        gateway.send(call("s", "slow"))
        stub.journal.wait_for(lambda journal: journal.calls("slow"))
        gateway.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s"}}')
        stub.journal.wait_for(lambda journal: "notifications/cancelled" in journal.methods())
        assert gateway.answer_to("s").text == "fine"
        assert outcome(gateway.state, "slow") == ("cancelled", "")


# --- a client that is slow or gone -----------------------------------------------------------------------------------


def memory(pid: int) -> int:
    """Resident kilobytes."""
    (line,) = [one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmRSS")]
    return int(line.split()[1])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.requirement("B6")
def test_a_client_that_does_not_read_does_not_make_us_grow(tmp_path: Path) -> None:
    """The child writes 60 MB; what nobody reads stays in the child."""
    script = """
import sys
line = b'{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"' + b"x" * 100_000 + b'"}}\\n'
for number in range(600):
    sys.stdout.buffer.write(line); sys.stdout.buffer.flush()
    sys.stderr.write("."); sys.stderr.flush()
"""
    command = [*flags(tmp_path), *PYTHON, script]
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        errors = process.stderr
        os.set_blocking(errors.fileno(), False)
        written = settled(lambda: len(errors.read() or b""))
        assert written < 50
        assert memory(process.pid) < 90_000
        process.stdin.close()
        assert process.stdout.read().count(b"\n") == 600


def settled(more: Callable[[], int]) -> int:
    """The sum of what comes until nothing came for half a second."""
    total, quiet_since = 0, time.monotonic()
    while time.monotonic() - quiet_since < 0.5 or not total:
        if found := more():
            total, quiet_since = total + found, time.monotonic()
        time.sleep(0.01)
    return total


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.requirement("B6")
def test_a_child_that_does_not_read_does_not_make_us_grow(tmp_path: Path) -> None:
    script = "import sys, time\nsys.stdin.buffer.readline()\ntime.sleep(600)"
    command = [*flags(tmp_path), *PYTHON, script]
    line = b'{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"' + b"x" * 100_000 + b'"}}\n'
    with started(command) as process:
        assert process.stdin is not None
        fd = process.stdin.fileno()
        os.set_blocking(fd, False)
        assert settled(Feed(fd, line).write_some) < 5_000_000
        assert memory(process.pid) < 90_000


class Feed:
    """Writes one line again and again, as far as it is taken."""

    def __init__(self, fd: int, line: bytes) -> None:
        self._fd, self._line, self._rest = fd, line, line

    def write_some(self) -> int:
        try:
            written = os.write(self._fd, self._rest)
        except BlockingIOError:
            return 0
        self._rest = self._rest[written:] or self._line
        return written


def test_a_client_that_closed_our_output_is_as_gone_as_one_that_closed_our_input(tmp_path: Path) -> None:
    stub: Stub = write_stub(tmp_path)
    with started([*flags(tmp_path), *stub.command], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        eventually(lambda: pids(stub), "the child")
        process.stdout.close()
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        assert (process.wait(10), process.stderr.read()) == (0, b"")


# --- a client that does not wait for the greeting ------------------------------------------------------------------

OPENING = b"""\
{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"add","arguments":{"data":{"n":1}}}}"""
GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "slow", "version": "1"},
}


@pytest.mark.requirement("C3")
def test_a_call_sent_before_a_slow_server_has_greeted_is_judged_all_the_same(tmp_path: Path) -> None:
    number = {"type": "object", "properties": {"n": {"type": "integer"}}}
    listing = answer({"tools": [tool("add", number)]}, "slow:0.5")
    methods = {"initialize": answer(GREETING, "slow:1"), "tools/list": listing}
    stub = write_stub(tmp_path, answers={"add": answer(TEXT)}, methods=methods)
    # From the call on, the list takes longer than a call waits for it; from the greeting on it does not.
    with wrapping(stub.command, tmp_path, opens=False, limits={"learn_timeout_s": 0.8}) as gateway:
        gateway.send(OPENING)
        assert gateway.answer_to("i").result == GREETING
        assert gateway.answer_to("c").text.startswith("Argument 'data' is not a declared field")
    assert stub.journal.calls("add") == []


def test_a_call_that_waits_for_a_greeting_does_not_outlive_the_server(tmp_path: Path) -> None:
    begun = time.monotonic()
    done = run(tmp_path, "import sys; sys.stdin.readline(); sys.exit(5)", OPENING + b"\n")
    assert done.returncode == 5
    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} == {"i", "c"}
    assert time.monotonic() - begun < 20


def test_a_server_has_the_time_to_end_by_itself_when_its_input_ends(tmp_path: Path) -> None:
    script = (
        "import sys, time, pathlib; sys.stdin.read(); time.sleep(2.5); pathlib.Path(sys.argv[1]).write_text('done')"
    )
    with started(
        [*HANDFAST, "wrap", "--state", str(tmp_path / "s"), "--", sys.executable, "-c", script, str(tmp_path / "x")]
    ) as wrap:
        assert wrap.stdin is not None
        wrap.stdin.close()
        assert wrap.wait(20) == 0
    assert (tmp_path / "x").read_text() == "done"
