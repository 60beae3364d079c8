"""A server on its own stdin and stdout: every line is answered, the pipes are the protocol's alone, Ctrl-C ends it."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from tests.gateway.running import eventually, read_records

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "open",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
PROGRAM = """
import os, subprocess, sys
from handfast.toolkit import Args, Toolbox
tools = Toolbox("t")
class Size(Args):
    size: int
@tools.read
async def pad(args: Size) -> str:
    \"\"\"Return so much.\"\"\"
    return "x" * args.size
@tools.read
def chatter() -> list[str]:
    \"\"\"Print, and start something that prints and reads.\"\"\"
    print("printed")
    sys.stdout.flush()
    os.system("echo from a child")
    return [subprocess.run(["cat"], capture_output=True, text=True).stdout]
tools.run()
print("over")
"""


class Server:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def stdout(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def send(self, *lines: bytes) -> None:
        self.stdin.write(b"".join(line + b"\n" for line in lines))
        self.stdin.flush()

    def read(self) -> Any:
        return json.loads(self.stdout.readline())

    def ask(self, line: bytes) -> Any:
        self.send(line)
        return self.read()

    def open(self) -> None:
        assert self.ask(json.dumps(INITIALIZE).encode())["id"] == "open"
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')


@contextmanager
def served(state: Path, program: str | None = None, **more: Any) -> Iterator[Server]:
    command = ["-m", "tests.toolkit.contacts"] if program is None else ["-c", program]
    env = {**os.environ, "HANDFAST_STATE": str(state), "HANDFAST_ACTOR": "ada"}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more
    with subprocess.Popen([sys.executable, *command], env=env, **pipes) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


def call(name: str, arguments: str, number: int = 1) -> bytes:
    params = f'{{"name":"{name}","arguments":{arguments}}}'
    return f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{params}}}'.encode()


ODD = {
    "no JSON": (b"nonsense", None, -32700),
    "half a message": (b'{"jsonrpc":"2.0","id":7,"method":', 7, -32700),
    "not UTF-8": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\xff"}}', 7, -32700),
    "a batch": (b"[]", None, -32600),
    "no method": (b'{"jsonrpc":"2.0","id":7,"params":{}}', 7, -32600),
    "method twice": (b'{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/call"}', 7, -32600),
    "params twice": (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","name":"b"}}', 7, -32600),
    "twice below": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"a":{"b":1,"b":2}}}}', 7, -32600),
    "another version": (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, -32600),
    "NaN": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":NaN}}', 7, -32700),
    "an odd notification": (b'{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1,"a":2}}', None, None),
    "a blank line": (b"  ", None, None),
}


@pytest.mark.quick
@pytest.mark.requirement("D20")
def test_every_line_that_is_no_message_is_answered_and_the_next_one_is_read(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.open()
        for name, (line, number, code) in ODD.items():
            server.send(line)
            if code is not None:
                answer = server.read()
                assert (name, answer.get("id"), answer["error"]["code"]) == (name, number, code)
            assert server.ask(b'{"jsonrpc":"2.0","id":1,"method":"ping"}') == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.requirement("D20")
def test_a_call_that_two_readers_could_take_differently_is_refused_and_on_record(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.open()
        answer = server.ask(call("create_contact", '{"email":"a","email":"b"}', 3))
        assert answer == {
            "jsonrpc": "2.0",
            "id": 3,
            "result": {
                "content": [
                    {
                        "type": "text",
                        "text": "The arguments are ambiguous: an object has the same key twice. "
                        "Send plain JSON and call again.",
                    }
                ],
                "isError": True,
                "_meta": {
                    "handfast/code": "invalid_input",
                    "handfast/recoverable": True,
                    "handfast/details": {"kind": "shape"},
                },
            },
        }
        unknown = server.ask(call("nobody", "[]", 4))
        assert (unknown["id"], unknown["error"]["code"]) == (4, -32602)
        assert server.ask(call("count_contacts", "{}"))["result"]["structuredContent"] == {"result": 0}
        server.stdin.close()
        assert server.process.wait(15) == 0
    told = [(record.type.value, record.status.value, record.rule, record.actor) for record in read_records(tmp_path)]
    assert told[:2] == [
        ("policy_decision", "blocked", "arguments.ambiguous", "ada"),
        ("tool_call", "blocked", "arguments.ambiguous", "ada"),
    ]


def test_a_line_beyond_all_measure_is_refused_by_its_id_and_not_kept(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.open()
        # From a thread, since the pipe is full until the server reads.
        line = call("count_contacts", json.dumps({"x": "y" * (17 * 1024 * 1024)}), 9)
        writer = threading.Thread(target=server.send, args=(line,))
        writer.start()
        answer = server.read()
        writer.join()
        assert (answer["id"], answer["error"]["code"]) == (9, -31004)
        assert server.ask(call("count_contacts", "{}"))["result"]["structuredContent"] == {"result": 0}


def test_answers_wait_for_a_client_that_reads_slowly_and_none_is_lost(tmp_path: Path) -> None:
    with served(tmp_path, PROGRAM) as server:
        server.open()
        size = 1_000_000
        server.send(*(call("pad", f'{{"size":{size}}}', number) for number in range(20)))
        answers = [server.read() for _ in range(20)]
    assert sorted(answer["id"] for answer in answers) == list(range(20))
    assert {len(answer["result"]["structuredContent"]["result"]) for answer in answers} == {size}


def test_what_tools_print_and_start_stays_off_the_wire(tmp_path: Path) -> None:
    with served(tmp_path, PROGRAM) as server:
        server.open()
        assert server.ask(call("chatter", "{}"))["result"]["structuredContent"] == {"result": [""]}
        rest, said = server.process.communicate(timeout=15)
    assert rest == b"over\n"  # the server is over, and stdout is what it was
    assert b"printed" in said
    assert b"from a child" in said


@pytest.mark.parametrize("is_calling", [False, True], ids=["idle", "in a call"])
def test_ctrl_c_ends_the_server_though_its_client_is_there(is_calling: bool, tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.open()
        if is_calling:
            server.send(call("create_contact", '{"email":"a"}'), call("go_wrong", '{"how":"hang"}', 2))
            assert server.read()["id"] == 1
        server.process.send_signal(signal.SIGINT)
        _, said = server.process.communicate(timeout=15)
    assert (server.process.returncode, said) == (130, b"")
    if is_calling:
        statuses = {record.tool: record.status.value for record in read_records(tmp_path)}
        assert statuses["create_contact"] == "success"


def test_input_may_come_from_a_file(tmp_path: Path) -> None:
    lines = [json.dumps(INITIALIZE), '{"jsonrpc":"2.0","method":"notifications/initialized"}']
    script = tmp_path / "lines"
    script.write_text("\n".join([*lines, '{"jsonrpc":"2.0","id":2,"method":"ping"}']))  # its last line does not end
    with script.open("rb") as given, served(tmp_path / "state", stdin=given) as server_process:
        out, _ = server_process.process.communicate(timeout=30)
    assert json.loads(out.partition(b"\n")[0])["id"] == "open"


def test_a_client_that_only_stops_reading_ends_the_server(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        server.open()
        server.stdout.close()
        server.send(call("count_contacts", "{}"))
        eventually(lambda: server.process.poll() is not None, "the server ends")
