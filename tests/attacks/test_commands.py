"""The commands in front of a peer that answers nonsense, nothing or without end, and files that are no files."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.contracts.rig import HANDFAST
from tests.gateway.running import TEXT, eventually, read_records, running, stdio
from tests.stubs.run import answer, tool, write_stub

Behave = Callable[[socket.socket], None]


@contextmanager
def peer(behave: Behave) -> Iterator[str]:
    """A server that does this with every connection, once a request has come."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while connection.recv(65536):
                behave(connection)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def says(body: bytes, kind: str = "application/json", status: str = "200 OK", more: str = "") -> Behave:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}Content-Length: {len(body)}\r\n\r\n".encode()
    return lambda connection: connection.sendall(head + body)


def speaks(result: object) -> Behave:
    """A handshake that is right, and this as the result of everything else."""
    sent = iter([{"protocolVersion": "2025-06-18", "capabilities": {}}])

    def behave(connection: socket.socket) -> None:
        answer = {"jsonrpc": "2.0", "id": 1, "result": next(sent, result)}
        says(json.dumps(answer).encode())(connection)

    return behave


def for_ever(head: str, chunk: bytes) -> Behave:
    def behave(connection: socket.socket) -> None:
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: {head}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        while True:
            connection.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            time.sleep(0.001)

    return behave


def half(connection: socket.socket) -> None:
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"jsonrpc"')
    connection.shutdown(socket.SHUT_RDWR)


PEERS: dict[str, Behave] = {
    "nothing": lambda _: time.sleep(60),
    "closes": lambda connection: connection.close(),
    "half": half,
    "no-http": lambda connection: connection.sendall(b"\x00\xff garbage \x1b[2J\r\n\r\n"),
    "html": says(b"<html>no</html>", "text/html"),
    "number": says(b"7"),
    "list": says(b"[]"),
    "no-json": says(b"\xff\xfe{"),
    "deep": says(b"[" * 100_000),
    "result-is-list": says(b'{"jsonrpc":"2.0","id":1,"result":[]}'),
    "result-is-null": says(b'{"jsonrpc":"2.0","id":1,"result":null}'),
    "no-version": says(b'{"jsonrpc":"2.0","id":1,"result":{}}'),
    "odd-version": says(b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"a\\r\\nX: y"}}'),
    "error-of-lines": says(b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a\\nb\\u2028c\\u001b[31m"}}'),
    "error-without-end": says(b'{"jsonrpc":"2.0","id":1,"error":{"message":"%b"}}' % (b"x" * 100_000)),
    "error-is-text": says(b'{"jsonrpc":"2.0","id":1,"error":"no"}'),
    "error-without-text": says(b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}'),
    "events-of-nonsense": says(b"data: no json\n\ndata: 7\n\n", "text/event-stream"),
    "events-without-an-answer": says(b": hello\n\n", "text/event-stream"),
    "events-for-ever": for_ever("text/event-stream", b": still here\n\n"),
    "body-for-ever": for_ever("application/json", b" " * 1000),
    "redirects": says(b"", status="307 Temporary Redirect", more="Location: /mcp/up\r\n"),
    "a-gigabyte": lambda connection: connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n "
    ),
    "health-of-nonsense": says(b'{"recording":1,"servers":7}'),
}
# A handshake that is right, and then this.
RESULTS: dict[str, object] = {
    "texts": {"content": "no list", "tools": "no list"},
    "numbers": {"content": [1, None], "tools": [1, None], "nextCursor": {}},
    "pages-without-end": {"tools": [], "nextCursor": "again", "content": []},
    "pages-of-numbers": {"tools": [], "nextCursor": [1], "content": {}},
}


def run(*words: str, timeout: float = 30, folder: Path | None = None) -> "subprocess.CompletedProcess[bytes]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HANDFAST")}
    command = [*HANDFAST, *words]
    return subprocess.run(
        command,
        capture_output=True,
        timeout=timeout,
        check=False,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
    )


def is_plain_failure(done: "subprocess.CompletedProcess[bytes]", codes: tuple[int, ...] = (1, 2)) -> bool:
    """One line on stderr that says what happened, and the documented exit code."""
    lines = done.stderr.decode().splitlines()
    assert b"Traceback" not in done.stderr
    assert b"\x1b" not in done.stderr
    return done.returncode in codes and len(lines) == 1 and len(lines[0]) < 500


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("command", ["call", "tools", "lint"])
@pytest.mark.parametrize("name", PEERS)
def test_a_peer_that_makes_no_sense_costs_one_line(command: str, name: str, tmp_path: Path) -> None:
    words = {"call": ["call", "up", "add"], "tools": ["tools", "up"], "lint": ["lint", "--server", "up"]}[command]
    with peer(PEERS[name]) as url:
        done = run(*words, "--url", url, "--timeout", "3", "--state", str(tmp_path / "state"), folder=tmp_path)
    assert is_plain_failure(done), done


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("command", ["call", "tools", "lint"])
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_of_the_wrong_shape_is_no_traceback(command: str, name: str, tmp_path: Path) -> None:
    words = {"call": ["call", "up", "add"], "tools": ["tools", "up"], "lint": ["lint", "--server", "up"]}[command]
    with peer(speaks(RESULTS[name])) as url:
        done = run(*words, "--url", url, "--timeout", "3", "--state", str(tmp_path / "state"), folder=tmp_path)
    if command == "call":  # what cannot be shown of a result is left out
        assert (done.returncode, done.stderr) == (0, b"")
    else:
        assert is_plain_failure(done), done


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("name", PEERS)
def test_a_gateway_that_makes_no_sense_is_no_gateway(name: str, tmp_path: Path) -> None:
    with peer(PEERS[name]) as url:
        done = run("servers", "--url", url, "--timeout", "3", folder=tmp_path)
    assert is_plain_failure(done), done
    assert url.encode() in done.stderr or b"no answer within 3 s" in done.stderr


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("method", ["tools/list", "tools/call"])
def test_an_error_of_a_peer_is_one_short_line_after_its_handshake_too(method: str, tmp_path: Path) -> None:
    words = ["tools", "up"] if method == "tools/list" else ["call", "up", "add"]
    error = {"code": 1, "message": "first\nsecond\r" + "x" * 100_000}
    sent = iter([{"result": {"protocolVersion": "2025-06-18", "capabilities": {}}}])

    def behave(connection: socket.socket) -> None:
        said = next(sent, {"error": error})
        says(json.dumps({"jsonrpc": "2.0", "id": 1, **said}).encode())(connection)

    with peer(behave) as url:
        done = run(*words, "--url", url, "--timeout", "3", folder=tmp_path)
    assert is_plain_failure(done), done
    assert b": first second xxx" in done.stderr


NO_FILES = ("pipe", "device", "folder", "huge")


def put_instead(path: Path, name: str) -> None:
    """Something that is no settings file."""
    match name:
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case "huge":
            entries = ",".join(f'"s{n}":{{"command":"x","handfast":{{"q{n}":1}}}}' for n in range(2_400))
            path.write_text(f'{{"mcpServers":{{{entries}}}}}')


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("name", NO_FILES)
@pytest.mark.parametrize(
    "words",
    [["tools", "up"], ["tools"], ["call", "up", "add"], ["servers"], ["config", "check"], ["config", "show"]],
    ids=" ".join,
)
def test_settings_that_are_no_file_cost_one_line(words: list[str], name: str, tmp_path: Path) -> None:
    put_instead(tmp_path / "handfast.json", name)
    timeout = [] if words[0] == "config" else ["--timeout", "3"]
    done = run(*words, *timeout, timeout=20, folder=tmp_path)
    assert done.returncode == 1, done
    assert done.stderr.count(b"\n") <= (11 if name == "huge" else 1), "ten problems, and that there may be more"
    assert b"Traceback" not in done.stderr


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("words", [["activity", "export", "--output"], ["config", "init", "--force"]], ids=" ".join)
def test_nothing_waits_for_a_pipe_that_is_not_read(words: list[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    done = run(*words, str(tmp_path / "pipe"), timeout=20, folder=tmp_path)
    assert (done.returncode, b"written" in done.stderr) == (1, True)


@pytest.mark.requirement("F10")
@pytest.mark.requirement("F4")
@pytest.mark.parametrize("name", NO_FILES)
def test_a_running_gateway_goes_on_when_its_settings_become_no_file(name: str, tmp_path: Path) -> None:
    stub = write_stub(tmp_path, tools=[tool("add")], answers={"add": answer(TEXT)})
    with running({"up": stdio(stub)}, tmp_path) as gateway:
        gateway.config.unlink()
        put_instead(gateway.config, name)
        gateway.process.send_signal(signal.SIGHUP)
        eventually(lambda: read_records(gateway.state, rule="settings.refused"), "the refusal")
        assert gateway.client().call("add").text == "fine"
        gateway.process.terminate()
        assert gateway.process.wait(15) == 0


@pytest.mark.requirement("F10")
@pytest.mark.parametrize(
    "script",
    ["yes garbage", "exit 3", "exec sleep 1000", "head -c 100000000 /dev/zero; sleep 1000", "cat"],
    ids=["prints", "exits", "is-silent", "floods", "echoes"],
)
def test_a_command_that_is_no_server_costs_one_line(script: str, tmp_path: Path) -> None:
    done = run("lint", "--timeout", "4", "--", "sh", "-c", script, timeout=60, folder=tmp_path)
    assert b"Traceback" not in done.stderr
    assert done.returncode in (1, 2)
    assert done.stderr.decode().splitlines()[-1].startswith("handfast: ")


@pytest.mark.requirement("F10")
def test_how_long_is_waited_is_said_with_what_to_do(tmp_path: Path) -> None:
    with peer(PEERS["nothing"]) as url:
        begun = time.monotonic()
        done = run("call", "up", "add", "--url", url, "--timeout", "2", folder=tmp_path)
    assert time.monotonic() - begun < 15
    assert done.stderr == b"handfast: no answer within 2 s. Look at the server, or wait longer with --timeout.\n"
    for wrong in ("0", "-1", "soon", "nan", "1e9"):
        done = run("call", "up", "add", "--timeout", wrong, folder=tmp_path)
        assert (done.returncode, b"Traceback" in done.stderr) == (2, False)


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("name", ["pipe", "device", "folder", "text", "huge"])
@pytest.mark.parametrize("end", [".json", ".py"])
def test_lint_reads_files_and_nothing_else(name: str, end: str, tmp_path: Path) -> None:
    path = tmp_path / f"it{end}"
    match name:
        case "text":
            path.write_bytes(b"\xff\xfe\x00 no text")
        case "huge":
            with path.open("wb") as file:
                file.truncate(1 << 40)
        case _:
            put_instead(path, name)
    done = run("lint", str(path), folder=tmp_path)
    assert b"Traceback" not in done.stderr + done.stdout
    # What was found, its remedy and its place, and the count; a failure is one line, what to do about a folder two.
    assert len((done.stderr + done.stdout).decode().splitlines()) <= (4 if done.stdout else 2)
    assert done.returncode == 0 if name == "folder" else done.returncode in (1, 2)


@pytest.mark.requirement("F10")
def test_lint_passes_over_nothing_that_is_no_file_in_a_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "device.py").symlink_to("/dev/zero")
    (tmp_path / "fine.py").write_text("x = 1\n")
    done = run("lint", str(tmp_path), folder=tmp_path)
    assert (done.returncode, done.stdout.count(b"is not a regular file")) == (1, 2)


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("words", [["activity", "list"], ["activity", "verify"]])
def test_a_state_folder_that_is_a_file_is_named_as_such(words: list[str], tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("")
    done = run(*words, "--state", str(state), folder=tmp_path)
    assert (done.returncode, is_plain_failure(done)) == (1, True)
    assert b"is not a folder" in done.stderr


@pytest.mark.requirement("F10")
def test_a_wrapper_whose_state_folder_is_a_file_says_so(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("")
    done = run("wrap", "--state", str(state), "--", "cat", folder=tmp_path)
    assert b"is not a folder" in done.stderr
    assert b"Traceback" not in done.stderr
