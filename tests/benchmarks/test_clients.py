"""scripts/clients without a client: how a session is judged, the table, its options, and that everything is locked."""

import json
import re
import socket
import threading
from pathlib import Path
from typing import Any  # Any: outcomes are JSON

import pytest
from benchmarks.clients import install as installing
from benchmarks.clients.__main__ import MARKS, PAGE, read_options
from benchmarks.clients.hold import ALL, DIRECT, OWN, WRAP, Held, Planned, Way, judge_all
from benchmarks.clients.install import install
from benchmarks.clients.report import complaints, render_json, render_table
from benchmarks.clients.roster import CLIENTS
from benchmarks.clients.session import STEPS, Problem, Step, compared, judge
from benchmarks.clients.stage import fill_in
from benchmarks.clients.tap import Tap
from benchmarks.marked_block import read_block
from benchmarks.processes import BenchFailed

from tests.parts import ROOT

LIST, CALL = Step("tools", "s", "list"), Step("a call", "s", "call", {"name": "t", "arguments": {}})
READ = Step("a resource", "s", "read", "x://y")
REFUSED = Step("a refused call", "s", "call", CALL.what, texts=("not declared", "send it flat"), fails=True)
TOLD = {"says": "It is not declared: send it flat.", "failed": True}
GOOD = {"says": "done", "failed": False}


@pytest.mark.parametrize(
    ("step", "outcome", "direct", "prefix", "problem"),
    [
        (CALL, GOOD, GOOD, "", ""),
        (CALL, {"says": "done, nearly", "failed": False}, GOOD, "", "gave .*nearly.*, and directly .*done"),
        (CALL, {**GOOD, "failed": True}, GOOD, "", "gave"),
        (CALL, GOOD, None, "", "gave .*, and directly null"),
        (CALL, {"unsupported": True}, GOOD, "", "gave"),
        (LIST, [{"name": "s__t"}, {"name": "other__t"}], [{"name": "t"}], "s__", ""),
        (LIST, [{"name": "other__t"}], [{"name": "t"}], "s__", r"gave \[\]"),
        (LIST, [{"name": "s__t"}], [{"name": "t"}], "", "gave"),
        (Step("resources", "s", "resources"), ["x://y"], ["x://y"], "s__", ""),
        (READ, "text", "text", "s__", ""),
        (REFUSED, TOLD, None, "", ""),
        (REFUSED, {"raised": "ToolError", "says": TOLD["says"]}, None, "", ""),
        (REFUSED, {**TOLD, "failed": False}, None, "", "does not look like a failure"),
        (REFUSED, {**TOLD, "says": "It is not declared."}, None, "", "lacks “send it flat”"),
        (REFUSED, {"raised": "RuntimeError", "says": "x"}, None, "", "lacks “not declared”"),
        (
            Step("a contact", "s", "call", CALL.what, texts=("x",)),
            {"says": "x", "failed": True},
            None,
            "",
            "looks like",
        ),
    ],
)
def test_a_step_holds_when_it_is_as_it_is_directly_or_says_what_it_must(
    step: Step, outcome: Any, direct: Any, prefix: str, problem: str
) -> None:
    found = judge(step, outcome, direct, prefix)
    assert (re.match(problem, found) is not None) if problem else found == ""


def judged(direct: list[Any], through: list[Any]) -> Held:
    plan = [Planned("url", [LIST, CALL]), Planned("url", [LIST, CALL, REFUSED], OWN)]
    return judge_all(plan, [{"outcomes": direct}, {"outcomes": through}], Held("a client"))


def test_a_session_that_holds_has_every_step_and_no_problem() -> None:
    held = judged([["t"], GOOD], [["t"], GOOD, TOLD])
    assert (held.is_good, held.ways[OWN].held, held.ways[OWN].steps) == (True, 3, 3)


def test_what_a_library_cannot_do_is_named_and_not_counted() -> None:
    held = judged([["t"], {"unsupported": True}], [["t"], {"unsupported": True}, TOLD])
    assert (held.is_good, held.ways[OWN].held, held.ways[OWN].steps, held.cannot) == (True, 2, 2, ["a call"])


@pytest.mark.parametrize(
    ("direct", "through", "problems"),
    [
        ([["t"], GOOD], [["t"]], [(OWN, "a call"), (OWN, "a refused call")]),
        ([["t"], GOOD], [["t"], GOOD, TOLD, {"raised": "x"}], [(OWN, "the end of the session")]),
        # Equal failures on both sides show nothing.
        ([["t"], {"raised": "x"}], [["t"], {"raised": "x"}, TOLD], [(DIRECT, "a call")]),
        (
            [{"raised": "x"}],
            [["t"], GOOD, TOLD],
            [(DIRECT, "tools"), (DIRECT, "a call"), (OWN, "tools"), (OWN, "a call")],
        ),
    ],
)
def test_a_session_that_breaks_off_or_fails_directly_does_not_hold(
    direct: list[Any], through: list[Any], problems: list[tuple[str, str]]
) -> None:
    held = judged(direct, through)
    assert not held.is_good
    assert [(route, problem.step) for route, problem in held.problems] == problems


FOUND = [
    Held("good", "1.0", ["2026-07-28"], {DIRECT: Way(9), OWN: Way(16), ALL: Way(16)}, ["progress"]),
    Held("bad", "2.0", ["2025-11-25"], {DIRECT: Way(9), WRAP: Way(16, [Problem("a call", "gave a|b")])}),
    Held("absent", not_run="absent could not be installed."),
]


def test_the_table_says_of_each_client_what_held_and_what_did_not() -> None:
    rows = render_table(FOUND).replace("\u2013", "-").splitlines()
    assert rows[2:] == [
        "| good | 1.0 | 2026-07-28 | 16 of 16 | 16 of 16 | - | progress | - |",
        "| bad | 2.0 | 2025-11-25 | - | - | 15 of 16 | - | through wrap: a call |",
        "| absent | - | - | - | - | - | - | could not be run |",
    ]
    assert len({row.count("|") for row in rows}) == 1


def test_a_client_is_good_when_it_was_run_and_everything_held() -> None:
    assert [held.is_good for held in FOUND] == [True, False, False]


def test_the_json_and_the_complaints_have_the_details() -> None:
    found = json.loads(render_json(FOUND))
    assert [row["client"] for row in found] == ["good", "bad", "absent"]
    assert found[0]["routes"][OWN] == {"held": 16, "steps": 16}
    assert found[1]["problems"] == [{"route": WRAP, "step": "a call", "detail": "gave a|b"}]
    assert complaints(FOUND) == ["absent could not be installed.", "bad, through wrap: a call: gave a|b"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--only", "nobody"], "'nobody' .*fastmcp4.*mcp12"), (["--only", "agno", "--write"], "leave out --only")],
)
def test_a_wrong_option_is_one_line_and_exit_code_two(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        read_options(arguments)
    assert ended.value.code == 2
    assert re.search(said, capsys.readouterr().err.splitlines()[-1])


def test_an_installation_that_fails_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "FOLDER", tmp_path)
    monkeypatch.setattr(installing, "PYTHON", Path("false"))
    with pytest.raises(BenchFailed) as failed:
        install(CLIENTS[0])
    assert str(failed.value) == "fastmcp 4 could not be installed: exit code 1. Check the network, and run again."
    assert not (tmp_path / CLIENTS[0].name / ".locked").exists()


def test_a_bridge_gets_a_command_as_words_or_as_one_line() -> None:
    (bridge,) = (client for client in CLIENTS if client.name == "supergateway")
    line = fill_in(bridge, ("{folder}/x", "{port}", "{command}", "{line}"), command=["a", "b c"], port="1")
    assert line[0].endswith("supergateway/x")
    assert line[1:] == ["1", "a", "b c", "a 'b c'"]


@pytest.mark.parametrize(
    ("asked", "answered", "revision"),
    [
        (b"POST / HTTP/1.1\r\nMCP-Protocol-Version: 2026-07-28\r\n\r\n", b"{}", "2026-07-28"),
        (b"POST / HTTP/1.1\r\n\r\n", b'{"protocolVersion":"2025-03-26"}', "2025-03-26"),
        (b"POST / HTTP/1.1\r\n\r\n", b"{}", ""),
    ],
)
def test_the_tap_changes_no_byte_and_tells_the_revision(asked: bytes, answered: bytes, revision: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        heard: list[bytes] = []

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                heard.append(connection.recv(65536))
                connection.sendall(answered)

        thread = threading.Thread(target=answer)
        thread.start()
        tap = Tap(f"http://127.0.0.1:{server.getsockname()[1]}")
        with socket.create_connection(("127.0.0.1", int(tap.url.rpartition(":")[2]))) as client:
            client.sendall(asked)
            assert b"".join(iter(lambda: client.recv(65536), b"")) == answered
        thread.join()
        tap.close()
        assert heard == [asked]
        assert (tap.take_revision(), tap.take_revision()) == (revision, "")


def test_every_client_is_locked_and_driven_and_the_page_has_it_in_that_version() -> None:
    assert len(CLIENTS) == 13
    rows = [line.strip("| ").split(" | ") for line in read_block(PAGE, MARKS)]
    table = {row[0]: row[1] for row in rows}
    folder = ROOT / "benchmarks" / "clients"
    for client in CLIENTS:
        assert (folder / "drivers" / f"{client.driver}.py").exists()
        if client.is_npm:
            lock = json.loads((folder / "npm" / client.name / "package-lock.json").read_text("utf-8"))
            version = lock["packages"][f"node_modules/{client.package}"]["version"]
        else:
            text = (ROOT / "requirements" / f"clients_{client.name}.txt").read_text("utf-8")
            version = next(iter(re.findall(rf"(?m)^{re.escape(client.package)}==(\S+)", text)))
        assert table[client.title] == version, "run: scripts/clients --write"


def test_what_is_compared_needs_no_text_and_every_name_is_used_once() -> None:
    assert len({step.name for step in STEPS}) == len(STEPS)
    assert {step.server for step in compared()} == {"everything"}
