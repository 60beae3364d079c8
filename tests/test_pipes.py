"""Our own stdin and stdout, whatever they are."""

import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

from tests.contracts.rig import HANDFAST
from tests.gateway.running import eventually, started

ECHO = [
    sys.executable,
    "-c",
    "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()",
]
LINE = b'{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"' + b"x" * 1000 + b'"}}\n'


def wrap(folder: Path) -> list[str]:
    config = folder / "handfast.json"
    config.write_text("{}")
    return [*HANDFAST, "wrap", "--config", str(config), "--state", str(folder / "state"), "--", *ECHO]


def test_plain_files_on_both_ends(tmp_path: Path) -> None:
    given, taken = tmp_path / "in", tmp_path / "out"
    given.write_bytes(LINE * 2000)
    with given.open("rb") as stdin, taken.open("wb") as stdout:
        done = subprocess.run(wrap(tmp_path), stdin=stdin, stdout=stdout, timeout=60, check=False)
    assert (done.returncode, taken.read_bytes() == LINE * 2000) == (0, True)


def test_nothing_on_both_ends(tmp_path: Path) -> None:
    done = subprocess.run(wrap(tmp_path), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=30, check=False)
    assert done.returncode == 0


def test_sockets_on_both_ends(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, started(wrap(tmp_path), stdin=theirs, stdout=theirs) as process:
        theirs.close()
        ours.sendall(LINE)
        assert ours.makefile("rb").readline() == LINE
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(10) == 0


def test_a_terminal_on_both_ends(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    message = b'{"jsonrpc":"2.0","method":"notifications/x"}'
    with started(wrap(tmp_path), stdin=theirs, stdout=theirs) as process:
        os.close(theirs)
        os.write(ours, message + b"\n")
        seen = b""

        def both() -> bool:
            nonlocal seen
            seen += os.read(ours, 4096)
            return seen.count(message) == 2  # typed, and answered

        eventually(both, "the echo")
        os.write(ours, b"\x04")
        assert process.wait(10) == 0
    os.close(ours)


def test_a_pipe_of_many_megabytes_arrives_whole(tmp_path: Path) -> None:
    done = subprocess.run(wrap(tmp_path), input=LINE * 5000, stdout=subprocess.PIPE, timeout=60, check=False)
    assert (done.returncode, done.stdout == LINE * 5000) == (0, True)
