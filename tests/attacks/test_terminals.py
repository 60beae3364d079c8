"""What a server sends and prints, on a real terminal: it is seen, and drives nothing."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts.rig import HANDFAST, MODERN_META, HttpGateway, end
from tests.gateway.running import read_records, running, send, wrapping
from tests.stubs.run import Stub, answer, tool, write_stub
from tests.terminal import on_a_terminal, read_all

# A title, a cleared screen, an answer-back, a link; 8-bit controls; direction marks; line ends that nobody sees.
EVIL = (
    "\x1b]0;owned\x07\x1b[2J\x1b[8mhid\x1b[0m\x1b[6n\x1b]8;;http://x\x1b\\\x9b31m\x90q\x9c\x85"
    "\u202ecod\u2066\u2069\u200e\u200f\u061c\u2028\u2029\x7f\x08\U000e0041end"
)
# Our own: colours that are chosen here, and the line that says what is waited for.
OWN = re.compile(r"\x1b\[\d+m|\r\x1b\[K(?:waiting for [^\r]*)?")
NAMES = ("say", "fail", "image", "structured", "error")
QUIET = {"NO_COLOR": "1"}
SHOUT = (
    "import os, sys\nos.write(2, bytes.fromhex(sys.argv[1]))\n"
    "if sys.argv[2:]: os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"
)
BYTES = (EVIL + "\r\nsecond\n").encode() + b"\xff\xc0\xaf half a line"


def is_harmless(shown: str) -> bool:
    return all(char.isprintable() or char in "\r\n\t" for char in OWN.sub("", shown))


def evil_stub(folder: Path) -> Stub:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    described = {**tool(f"tool{EVIL}"), "description": EVIL}
    return write_stub(
        folder,
        tools=[tool("say"), tool("fail"), tool("image"), tool("structured", None, schema), tool("error"), described],
        answers={
            "say": answer({"content": [{"type": "text", "text": f"{EVIL}\nsecond line"}]}),
            "fail": answer({"content": [{"type": "text", "text": EVIL}], "isError": True}),
            "image": answer({"content": [{"type": EVIL, "data": EVIL}]}),
            "structured": answer({"content": [], "structuredContent": {f"key{EVIL}": EVIL}}),
            "error": answer(error={"code": -32000, "message": EVIL}),
        },
    )


def entry(stub: Stub) -> dict[str, object]:
    """A server that shouts at whoever started it before it begins."""
    return {"command": sys.executable, "args": ["-c", SHOUT, BYTES.hex(), *stub.command[1:]]}


@pytest.mark.requirement("S10")
@pytest.mark.parametrize(
    "words",
    [
        *(["call", "up", name] for name in NAMES),
        *(["call", "up", name, "-o", "json"] for name in NAMES),
        ["call", "up", f"tool{EVIL}"],
        ["call", f"up{EVIL}", "say"],
        ["call", "up", "say", EVIL],
        ["tools"],
        ["tools", "-o", "json"],
        ["tools", f"up{EVIL}"],
        ["lint", "--server", "up"],
        ["lint", "--server", "up", "-o", "json"],
        ["lint", "--server", "up", "-o", "sarif"],
        ["servers"],
        ["call", "up", "--no-such-flag", EVIL],
        [EVIL],
    ],
    ids=lambda words: ascii(" ".join(words))[:40],
)  # fmt: skip
def test_no_command_lets_a_server_drive_the_terminal(tmp_path: Path, words: list[str]) -> None:
    stub = evil_stub(tmp_path)
    config = tmp_path / "handfast.json"
    config.write_text(json.dumps({"listen": "127.0.0.1:1", "mcpServers": {"up": entry(stub)}}))
    command = [*HANDFAST, *words]
    if words[0] in ("call", "tools", "lint", "servers"):
        command += ["--config", str(config), "--state", str(tmp_path / "state")]
    shown = on_a_terminal(command, columns=200, more=QUIET)
    assert shown
    assert is_harmless(shown), ascii(shown)


@pytest.mark.requirement("S10")
def test_json_on_a_terminal_says_what_the_server_sent(tmp_path: Path) -> None:
    stub = evil_stub(tmp_path)
    config = tmp_path / "handfast.json"
    quiet = {"command": stub.command[0], "args": stub.command[1:]}
    config.write_text(json.dumps({"listen": "127.0.0.1:1", "mcpServers": {"up": quiet}}))
    flags = ["--config", str(config), "--state", str(tmp_path / "state"), "-o", "json"]
    shown = on_a_terminal([*HANDFAST, "call", "up", "structured", *flags], columns=200, more=QUIET)
    assert json.loads(OWN.sub("", shown))["structuredContent"] == {f"key{EVIL}": EVIL}


@pytest.mark.requirement("S10")
@pytest.mark.parametrize("words", [["list"], ["list", "-o", "json"], ["list", "-o", "csv"], ["summary"], ["export"]])
def test_the_history_shows_names_of_clients_and_servers_harmlessly(tmp_path: Path, words: list[str]) -> None:
    with running({"up": {"command": sys.executable, "args": evil_stub(tmp_path).command[1:]}}, tmp_path) as gateway:
        client = gateway.client()
        client.list_tools()
        client.call(f"tool{EVIL}", {EVIL: {EVIL: 1}})
    shown = on_a_terminal([*HANDFAST, "activity", *words, "--state", str(gateway.state)], columns=200, more=QUIET)
    assert "tool" in shown
    assert is_harmless(shown), ascii(shown)
    (called,) = read_records(gateway.state, type="tool_call")
    one = on_a_terminal(
        [*HANDFAST, "activity", "show", called.id, "--state", str(gateway.state)], columns=200, more=QUIET
    )
    assert is_harmless(one), ascii(one)


@pytest.mark.requirement("S10")
@pytest.mark.parametrize("surface", ["full", "compact"])
def test_what_a_wrapped_server_prints_is_text_on_a_terminal(tmp_path: Path, surface: str) -> None:
    config = tmp_path / "handfast.json"
    server = [sys.executable, "-c", SHOUT, BYTES.hex()]
    own = {"command": server[0], "args": server[1:], "handfast": {"surface": surface}}
    config.write_text(json.dumps({"mcpServers": {"up": own}}))
    flags = ["--name", "up", "--config", str(config), "--state", str(tmp_path / "state")]
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [*HANDFAST, "wrap", *flags, "--", *server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=follower
    ) as process:
        os.close(follower)
        assert process.stdin is not None
        assert process.stdout is not None
        meta = {"_meta": MODERN_META} if surface == "compact" else {}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": meta}
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        assert b'"error"' in process.stdout.readline()
        process.stdin.close()
        shown = read_all(leader)
        end(process)
    assert is_harmless(shown), ascii(shown)
    assert "second\r\n" in shown
    assert "\\xff\\xc0\\xaf half a line\r\n" in shown


@pytest.mark.requirement("S10")
def test_what_a_wrapped_server_prints_reaches_a_pipe_to_the_byte(tmp_path: Path) -> None:
    with wrapping([sys.executable, "-c", SHOUT, BYTES.hex()], tmp_path, stderr=subprocess.PIPE, opens=False) as gateway:
        assert gateway.process.stderr is not None
        assert gateway.process.stderr.read() == BYTES


@pytest.mark.requirement("S10")
@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "pipe"])
def test_what_served_servers_print_is_labelled_text_wherever_it_goes(tmp_path: Path, is_terminal: bool) -> None:
    config = tmp_path / "handfast.json"
    config.write_text(json.dumps({"mcpServers": {"up": entry(evil_stub(tmp_path))}}))
    flags = ["--config", str(config), "--listen", "127.0.0.1:0", "--state", str(tmp_path / "state")]
    leader, follower = pty.openpty() if is_terminal else os.pipe()
    with subprocess.Popen([*HANDFAST, "serve", *flags], stderr=follower) as process:
        os.close(follower)
        said = ""
        while "input warn" not in said:
            said += os.read(leader, 4096).decode()
        base = re.search(r"listening on (\S+)", said)
        assert base is not None
        client = HttpGateway(base[1], tmp_path / "state", is_modern=False)
        client.open()
        client.call("say")
        end(process)
        said += read_all(leader)
    assert is_harmless(said), ascii(said)
    assert "[up] second" in said
    assert "[up] \\xff\\xc0\\xaf half a line" in said


@pytest.mark.requirement("S10")
def test_a_path_that_a_client_asks_for_is_printed_nowhere(tmp_path: Path) -> None:
    with running({}, tmp_path) as gateway:
        send(gateway.base, "GET", "/%1b%5b2J%c2%9b")
    assert b"2J" not in b"".join(gateway.errors)
