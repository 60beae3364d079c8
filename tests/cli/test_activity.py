"""`handfast activity` as an operator uses it: over real stores, through pipes and on a real terminal."""

import argparse
import csv
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import asdict

from handfast.activity.sqlite import SqliteStore
from handfast.activity.store import Retention
from handfast.cli import activity
from handfast.clock import time_text
from handfast.core.call.exchange import Record, RecordType, Status
from tests.terminal import on_a_terminal

NOW = datetime.now(UTC)
CALL, DECISION = RecordType.TOOL_CALL, RecordType.POLICY_DECISION
EVIL = "\x1b[31mred\x1b]0;title\x07 \u202edrawkcab\nsecond line"


def record(number: int, **changes: object) -> Record:
    fields = {"id": f"{number:04}ffff", "time": time_text(NOW - timedelta(hours=10 - number)), "type": CALL}
    fields |= {"status": Status.SUCCESS, "server": "files", "tool": "read"}
    return Record(**{**fields, **changes})  # type: ignore[arg-type] # any field


RECORDS = [
    record(1, request_id="q", duration_ms=12.5, actor="ada"),
    record(
        2,
        type=DECISION,
        status=Status.WARNING,
        mode="warn",
        rule="result.schema",
        reason="'size' must be a number.",
        request_id="q",
        details={"keys": ["size"]},
    ),
    record(3, type=DECISION, status=Status.BLOCKED, mode="strict", rule="result.max_bytes", server="github"),
    record(4, tool="write", reason="=HYPERLINK(1)"),
]

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    append(tmp_path, *RECORDS)
    return tmp_path


def append(folder: Path, *records: Record) -> None:
    store = SqliteStore.open(folder)
    store.append(records)
    store.close()


def damage(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / "activity.db", isolation_level=None)
    connection.execute(statement)
    connection.close()


def invoke(command: str, folder: Path, *arguments: str) -> int:
    parser = argparse.ArgumentParser(prog="handfast")
    activity.add_parser(parser.add_subparsers())
    args = parser.parse_args(["activity", command, "--state", str(folder), *arguments])
    code = args.run(args)
    assert isinstance(code, int)
    return code


_PROGRAM = (
    "import argparse, sys; from handfast.cli import activity; parser = argparse.ArgumentParser(prog='handfast')\n"
    "activity.add_parser(parser.add_subparsers()); args = parser.parse_args(); sys.exit(args.run(args))"
)


def command_line(command: str, folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-c", _PROGRAM, "activity", command, "--state", str(folder), *arguments]


def listed(captured: Captured, folder: Path, *arguments: str) -> list[str]:
    assert invoke("list", folder, "-o", "json", *arguments) == 0
    return [one["id"][:4] for one in json.loads(captured.readouterr().out)]


def test_every_field_of_a_record_is_listed_exported_and_shown(tmp_path: Path, capsys: Captured) -> None:
    # Fields that are added later are among these: their values are their names.
    texts = {name: f"the {name}" for name, kind in Record.__annotations__.items() if kind is str}
    whole = record(1, **texts, duration_ms=1.5, details={"of": "details"})
    append(tmp_path, whole)
    for command in ("list", "export"):
        assert invoke(command, tmp_path, "-o", "jsonl") == 0
        assert asdict(whole).items() <= json.loads(capsys.readouterr().out).items()
    assert invoke("list", tmp_path, "-o", "csv") == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    texts = {name: str(value) for name, value in asdict(whole).items()} | {"details": '{"of": "details"}'}
    assert row == texts | {"seq": "1"}
    assert invoke("show", tmp_path, whole.id) == 0
    values = re.findall(r"^\S+ +(.*)$", capsys.readouterr().out, re.MULTILINE)
    shown = texts | {"details": '"details"'}
    assert {name for name, value in shown.items() if value not in values} == set()


@pytest.mark.requirement("004-12")
def test_list_as_json_is_an_array_of_whole_records_newest_first(folder: Path, capsys: Captured) -> None:
    assert invoke("list", folder, "-o", "json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert [one["seq"] for one in shown] == [4, 3, 2, 1]
    assert shown[2] == {
        "id": "0002ffff",
        "time": RECORDS[1].time,
        "type": "policy_decision",
        "status": "warning",
        "server": "files",
        "tool": "read",
        "mode": "warn",
        "rule": "result.schema",
        "reason": "'size' must be a number.",
        "request_id": "q",
        "duration_ms": None,
        "actor": "",
        "details": {"keys": ["size"]},
        "seq": 2,
    }


@pytest.mark.requirement("004-12")
@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        (["--status", "warning"], ["0002"]),
        (["--status", "blocked"], ["0003"]),
        (["--status", "warning,blocked"], ["0003", "0002"]),
        (["--status", "warning", "--status", "blocked"], ["0003", "0002"]),
        (["--type", "policy_decision"], ["0003", "0002"]),
        (["--server", "github"], ["0003"]),
        (["--tool", "write"], ["0004"]),
        (["--rule", "result.schema"], ["0002"]),
        (["--since", "450m"], ["0004", "0003"]),
        (["--until", "450m"], ["0002", "0001"]),
        (["--since", RECORDS[1].time, "--until", RECORDS[3].time], ["0003", "0002"]),
        (["--limit", "1"], ["0004"]),
        (["--status", "cancelled"], []),
    ],
)
def test_list_can_be_filtered(folder: Path, capsys: Captured, arguments: list[str], ids: list[str]) -> None:
    assert listed(capsys, folder, *arguments) == ids


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--status", "warn"], "--status takes any of: success, error, warning, blocked, cancelled."),
        (["--status", ""], "--status takes any of: success, error, warning, blocked, cancelled."),
        (
            ["--type", "calls"],
            f"--type takes any of: {', '.join(RecordType)}.",
        ),
        (["-o", "yaml"], "-o takes one of: table, json, jsonl, csv."),
        (["--limit", "0"], "--limit takes a whole number from 1 on."),
        (["--limit", "many"], "--limit takes a whole number from 1 on."),
        (
            ["--since", "yesterday"],
            "--since is not a time; write 15m, 2h, 7d, or ISO 8601 such as 2026-03-01T12:00:00Z.",
        ),
    ],
)
def test_wrong_usage_gets_one_line_that_names_what_is_allowed(
    folder: Path, capsys: Captured, arguments: list[str], message: str
) -> None:
    assert invoke("list", folder, *arguments) == 2
    assert capsys.readouterr() == ("", f"handfast: {message}\n")


@pytest.mark.requirement("004-11")
def test_the_table_shows_the_warning_and_cuts_nothing_when_piped(folder: Path, capsys: Captured) -> None:
    append(folder, record(5, reason="long " * 100, status=Status.WARNING))
    assert invoke("list", folder, "--status", "warning") == 0
    header, newest, oldest = capsys.readouterr().out.splitlines()
    assert header.split() == ["ID", "TIME", "STATUS", "TYPE", "SERVER", "TOOL", "RULE", "MS", "REASON"]
    assert newest.endswith(("long " * 100).strip())
    expected = ["0002ffff", RECORDS[1].time, "warning", "policy_decision", "files", "read", "result.schema"]
    assert oldest.split()[:7] == expected


@pytest.mark.requirement("004-12")
def test_show_prints_the_decision_and_what_belongs_to_it(folder: Path, capsys: Captured) -> None:
    assert invoke("show", folder, "0002") == 0
    shown = capsys.readouterr().out
    fields = dict(re.findall(r"^(\S+) +(.*)$", shown.split("\n\n")[0], re.MULTILINE))
    del fields["hash"]
    assert fields == {
        "id": "0002ffff",
        "time": RECORDS[1].time,
        "type": "policy_decision",
        "server": "files",
        "tool": "read",
        "mode": "warn",
        "decision": "warning",
        "rule": "result.schema",
        "reason": "'size' must be a number.",
        "request": "q",
        "duration_ms": "-",
        "actor": "-",
        "details.keys": '["size"]',
        "seq": "2",
    }
    assert "Of the same request:" in shown
    assert "0001ffff" in shown.split("Of the same request:")[1]


def test_the_line_of_a_failed_call_shows_its_code(tmp_path: Path, capsys: Captured) -> None:
    with closing(SqliteStore.open(tmp_path)) as store:
        store.append([record(1, status=Status.ERROR, details={"code": "not_found"})])
    assert invoke("list", tmp_path) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-1] == "not_found"
    assert invoke("watch", tmp_path, "--since", "2000-01-01", "--limit", "1") == 0
    assert capsys.readouterr().out.split()[-1] == "not_found"


def test_what_is_no_text_or_no_number_is_wrong_usage(folder: Path, capsys: Captured) -> None:
    with pytest.raises(SystemExit, match="2"):
        invoke("show", folder, os.fsdecode(b"\xff\xfe"))
    assert "it is not UTF-8" in capsys.readouterr().err
    assert invoke("list", folder, "--limit", "9" * 5000) == 2


def test_a_request_is_listed_and_shown_by_its_id(folder: Path, capsys: Captured) -> None:
    assert invoke("list", folder, "--request", "q", "-o", "json") == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)] == ["0002ffff", "0001ffff"]
    assert invoke("list", folder, "--request", "other", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out) == []
    assert invoke("show", folder, "q", "-o", "json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["id"], [one["id"] for one in shown["related"]]) == ("0002ffff", ["0001ffff"])


def test_show_as_json_has_the_related_records(folder: Path, capsys: Captured) -> None:
    assert invoke("show", folder, "0001", "-o", "json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["id"], shown["status"], [one["id"] for one in shown["related"]]) == (
        "0001ffff",
        "success",
        ["0002ffff"],
    )


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("nothing", "No record has this id; `handfast activity list` shows the ids."),
        ("000", "Several records begin with this id; give more of it."),
    ],
)
def test_an_id_that_names_no_single_record_fails(folder: Path, capsys: Captured, wanted: str, message: str) -> None:
    assert invoke("show", folder, wanted) == 1
    assert capsys.readouterr() == ("", f"handfast: {message}\n")


def test_summary_counts_and_times(folder: Path, capsys: Captured) -> None:
    assert invoke("summary", folder, "-o", "json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["count"], shown["p50_ms"], shown["statuses"][0]["name"]) == (4, 12.5, "success")
    assert invoke("summary", folder) == 0
    text = capsys.readouterr().out
    assert text.startswith("4 records, ")
    assert re.search(r"^files/read +2 +12\.5 +12\.5$", text, re.MULTILINE)


def test_an_exported_line_hashes_to_its_hash_and_follows_the_one_before(folder: Path, capsys: Captured) -> None:
    assert invoke("export", folder) == 0
    previous = "0" * 64
    lines = capsys.readouterr().out.splitlines()
    for line in lines:
        fields = json.loads(line)
        digest = fields.pop("hash")
        assert fields["previous"] == previous
        previous = sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
        assert digest == previous
    assert len(lines) == 4


def test_an_export_to_a_file_is_the_owners_alone(folder: Path, tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "history.jsonl"
    assert invoke("export", folder, "--output", str(target)) == 0
    assert (len(target.read_text().splitlines()), target.stat().st_mode & 0o777) == (4, 0o600)
    assert invoke("export", folder, "--output", str(tmp_path / "no" / "where")) == 1
    assert capsys.readouterr() == ("", "handfast: The export could not be written: No such file or directory.\n")


@pytest.mark.parametrize("reason", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "＝1"])  # noqa: RUF001
def test_csv_never_holds_a_formula(folder: Path, capsys: Captured, reason: str) -> None:
    append(folder, record(5, reason=reason))
    for command in ("list", "export"):
        assert invoke(command, folder, "-o", "csv") == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        cell = next(row["reason"] for row in rows if row["id"] == "0005ffff")
        assert cell.startswith(("'", "\\"))
        assert [row["seq"] for row in rows] == [
            str(seq) for seq in (range(1, 6) if command == "export" else range(5, 0, -1))
        ]


def test_verify_prints_count_head_and_intact(folder: Path, capsys: Captured) -> None:
    store = SqliteStore.open(folder)
    head = store.head().hash
    store.close()
    assert invoke("verify", folder) == 0
    assert capsys.readouterr().out == f"intact: 4 records\nhead: {head} at record 4\n"
    assert invoke("verify", folder, "--head", head.upper(), "-o", "json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["intact"], shown["noted_seq"]) == (True, 4)


def test_verify_names_the_first_broken_record(folder: Path, capsys: Captured) -> None:
    damage(folder, "UPDATE records SET payload = replace(payload, 'number', 'string') WHERE seq = 2")
    assert invoke("verify", folder) == 1
    expected = "broken at record 2 (0002ffff): its content does not match its hash\n1 records before it hold\n"
    assert capsys.readouterr().out == expected


TAMPERED = {
    "UPDATE records SET payload = CAST(payload AS BLOB) WHERE seq = 2": "its content does not match its hash",
    "UPDATE records SET payload = x'ff00' WHERE seq = 2": "its content does not match its hash",
    "UPDATE records SET hash = CAST(hash AS BLOB) WHERE seq = 2": "its content does not match its hash",
    "UPDATE records SET id = x'ff' WHERE seq = 2": "the columns it is found by differ from its content",
    "UPDATE head SET seq = 'x'": "the noted end differs",
    "UPDATE head SET seq = seq + 0.5": "the noted end differs",
    "UPDATE head SET hash = CAST(hash AS BLOB)": "the noted end differs",
    "INSERT INTO removed VALUES (2, 'x', 'x', x'00')": "what retention noted about removed records cannot be read",
    "INSERT INTO removed VALUES (2, 1, x'00', x'00')": "what retention noted about removed records cannot be read",
    "INSERT INTO removed VALUES (2, 1, 'x', 'x')": "what retention noted about removed records cannot be read",
    "PRAGMA user_version = 0": "it holds tables but no format of a history",
    "PRAGMA user_version = -1": "it holds tables but no format of a history",
    "DELETE FROM secret": "its key is gone or changed",
    "UPDATE secret SET digest_key = 1000000000000": "its key is gone or changed",
}


@pytest.mark.requirement("F10")
@pytest.mark.parametrize("change", list(TAMPERED))
def test_verify_says_in_words_what_was_done_to_the_file(folder: Path, capsys: Captured, change: str) -> None:
    damage(folder, change)
    assert invoke("verify", folder) == 1
    shown = capsys.readouterr()
    assert TAMPERED[change] in shown.out + shown.err
    assert (shown.out + shown.err).count("\n") <= 2, "what is broken, and how much before it holds"


@pytest.mark.requirement("F10")
def test_verify_takes_a_file_that_was_cut_to_nothing_for_no_empty_history(folder: Path, capsys: Captured) -> None:
    (folder / "activity.db").write_bytes(b"")
    for log in (b"", b"what was not yet moved into the file"):
        (folder / "activity.db-wal").write_bytes(log)
        assert invoke("verify", folder) == 1
        assert "is empty" in capsys.readouterr().err
    assert (folder / "activity.db-wal").read_bytes(), "what is left stays for inspection"


@pytest.mark.parametrize("command", ["list", "show", "export", "summary"])
def test_a_record_that_cannot_be_read_is_named_in_one_line(folder: Path, capsys: Captured, command: str) -> None:
    damage(folder, f"UPDATE records SET payload = '{'[' * 100_000}' WHERE seq = 2")
    assert invoke(command, folder, *(["0002"] if command == "show" else [])) == 1
    assert capsys.readouterr().err.endswith("cannot be read; run `handfast activity verify`.\n")


def test_verify_fails_on_a_head_that_is_not_in_the_chain(folder: Path) -> None:
    assert invoke("verify", folder, "--head", "f" * 64) == 1


def test_verify_tells_of_retention(folder: Path, capsys: Captured) -> None:
    store = SqliteStore.open(folder)
    assert store.prune(Retention(keep_days=450 / 60 / 24), now=NOW) == 2
    store.close()
    assert invoke("verify", folder) == 0
    assert "retention has removed the 2 before them, and the chain says so" in capsys.readouterr().out


@pytest.mark.parametrize(("kind", "shown"), [("table", ""), ("json", "[]\n"), ("jsonl", "")])
def test_a_folder_without_a_store_lists_nothing_and_says_why(
    tmp_path: Path, capsys: Captured, kind: str, shown: str
) -> None:
    assert invoke("list", tmp_path, "-o", kind) == 0
    hint = f"No activity has been recorded in {tmp_path} yet; --state names another folder.\n"
    assert capsys.readouterr() == (shown, hint)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_store_has_nothing_to_verify_and_nothing_to_show(tmp_path: Path, capsys: Captured) -> None:
    assert invoke("verify", tmp_path) == 1
    told = f"There is nothing to verify in {tmp_path}: it has no history. --state names another folder."
    assert capsys.readouterr() == ("", f"handfast: {told}\n")
    assert invoke("verify", tmp_path, "--head", "f" * 64) == 1
    assert invoke("show", tmp_path, "0001") == 1
    assert invoke("summary", tmp_path) == 0
    assert invoke("export", tmp_path) == 0


def test_a_damaged_store_gets_one_line(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "activity.db").write_bytes(b"certainly not a database" * 100)
    assert invoke("list", tmp_path) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.fullmatch(r"handfast: The activity store .* failed: it is not a database; [^\n]*\n", shown.err)


@pytest.mark.parametrize("command", [("list",), ("show", "0005"), ("list", "-o", "csv"), ("list", "-o", "jsonl")])
def test_what_came_from_outside_cannot_steer_a_terminal(
    folder: Path, capsys: Captured, command: tuple[str, ...]
) -> None:
    append(folder, record(5, tool=EVIL, reason=EVIL, details={EVIL: EVIL}))
    assert invoke(command[0], folder, *command[1:]) == 0
    shown = capsys.readouterr().out
    assert "second line" in shown
    assert not [char for char in shown if not char.isprintable() and char not in "\r\n"]
    assert not [line for line in shown.splitlines() if line.startswith("second line")]


@pytest.mark.parametrize("kind", ["table", "csv", "jsonl"])
def test_an_output_that_cannot_say_a_character_gets_it_escaped(folder: Path, kind: str) -> None:
    append(folder, record(5, reason="größer"))
    command = command_line("list", folder, "-o", kind, "--limit", "1")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert re.search(r"gr\\(xf6|u00f6)\\(xdf|u00df)er", done.stdout)


def test_a_reader_that_leaves_early_is_no_error(folder: Path) -> None:
    append(folder, *(record(number % 9 + 1, reason="x" * 200) for number in range(3_000)))
    process = subprocess.Popen(
        command_line("export", folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")


def test_watch_shows_what_is_committed_from_now_on_and_ctrl_c_is_a_fine_end(folder: Path) -> None:
    process = subprocess.Popen(
        command_line("watch", folder, "-o", "jsonl", "--since", "90m"), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    append(folder, record(9, reason="already there"))
    assert json.loads(process.stdout.readline())["reason"] == "already there"
    append(folder, record(9, reason="live"))
    assert json.loads(process.stdout.readline())["reason"] == "live"
    process.send_signal(signal.SIGINT)
    assert process.wait() == 0
    process.stdout.close()


def test_watch_waits_for_a_store_to_appear_and_stops_at_its_limit(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command_line("watch", tmp_path, "--limit", "2"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("No activity has been recorded in ")
    append(tmp_path, *RECORDS)
    shown, _ = process.communicate()
    assert [line.split()[2] for line in shown.splitlines()] == ["success", "warning"]
    assert process.returncode == 0


def test_on_a_terminal_rows_fit_its_width_and_statuses_have_colours(folder: Path) -> None:
    append(folder, record(5, reason="long " * 100, status=Status.WARNING))
    shown = on_a_terminal(command_line("list", folder), columns=100)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert max(map(len, plain.splitlines())) <= 100
    assert "…" in plain
    assert "\x1b[33mwarning\x1b[0m" in shown


def test_no_color_switches_colours_off(folder: Path) -> None:
    assert "\x1b" not in on_a_terminal(command_line("list", folder), columns=100, more={"NO_COLOR": "1"})


def test_asking_for_help_loads_no_store(tmp_path: Path) -> None:
    program = _PROGRAM.replace(
        "args = parser.parse_args(); sys.exit(args.run(args))", "print('sqlite3' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_table_shows_the_newest_fifty_and_a_program_gets_all(tmp_path: Path, capsys: Captured) -> None:
    store = SqliteStore.open(tmp_path)
    store.append([record(number, id=f"{number:08d}") for number in range(1, 71)])
    store.close()
    assert invoke("list", tmp_path) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 50
    assert invoke("list", tmp_path, "-o", "json") == 0
    assert len(json.loads(capsys.readouterr().out)) == 70


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_on_a_narrow_terminal_every_id_that_is_shown_finds_its_record(tmp_path: Path, columns: int) -> None:
    ids = [f"01a1e16239d10002{end}" for end in ("a39a4da82faf", "a39a4da82fb0", "b00000000000")]  # of three processes
    append(tmp_path, *(record(5, id=each, server="files", tool="write", reason="long " * 20) for each in ids))
    shown = on_a_terminal(command_line("list", tmp_path), columns=columns, more={"NO_COLOR": "1"})
    found = [line.split()[0] for line in shown.splitlines()[1:]]
    assert [invoke("show", tmp_path, each) for each in found] == [0, 0, 0]
