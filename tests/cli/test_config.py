"""`handfast config`, run in a folder of its own."""

import argparse
import json
import os
from pathlib import Path

import pytest

from handfast.cli.config import STARTER, add_parser
from handfast.gateway.settings.schema import render_schema

pytestmark = pytest.mark.quick

GOOD = {
    "mcpServers": {
        "files": {"command": "npx", "args": ["hunter2"]},
        "github": {
            "url": "https://example.com/mcp",
            "headers": {"Authorization": "${TOKEN:-hunter2}"},
            "disabled": True,
            "handfast": {
                "output_validation": {"mode": "strict"},
                "tools": {"create_issue": {"unknown_arguments": "reject_all"}},
            },
        },
    }
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in, and an environment without settings."""
    for name in os.environ:
        if name.startswith("HANDFAST_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(*words: str) -> int:
    parser = argparse.ArgumentParser("handfast")
    add_parser(parser.add_subparsers(required=True))
    args = parser.parse_args(["config", *words])
    code: int = args.run(args)
    return code


def write(document: object, name: str = "handfast.json") -> None:
    Path(name).write_text(json.dumps(document), "utf-8")


def test_schema_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert config("schema") == 0
    assert capsys.readouterr().out == render_schema()


def test_check_lists_servers_with_the_modes_that_hold(capsys: pytest.CaptureFixture[str]) -> None:
    write(GOOD)

    assert config("check", "--set", "input_validation.mode=off") == 0
    assert capsys.readouterr().out.splitlines()[2].split() == ["files", "stdio", "off", "reject_objects", "warn"]

    assert config("check", "handfast.json") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["files", "stdio", "warn", "reject_objects", "warn"],
        ["github", "http", "(disabled)", "warn", "reject_objects", "strict"],
        ["github", "create_issue", "http", "(disabled)", "warn", "reject_all", "strict"],
    ]


def test_check_reports_every_problem_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    write({"output_validation": {"mod": 1, "mode": "x"}}, "other.json")

    assert config("check", "other.json") == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        'handfast: other.json: output_validation.mod is not a setting; did you mean "mode"?',
        'handfast: other.json: output_validation.mode must be one of off, warn, strict; got "x"',
        'handfast: other.json: has no "mcpServers"; add it: {"mcpServers": {"name": {"command": …}}}',
    ]


def test_check_of_a_file_without_servers_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    write({"mcpServers": {}})

    assert config("check") == 0
    assert capsys.readouterr().out == "handfast.json: fine\nno servers\n"


def test_check_of_a_missing_file_says_how_to_make_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert config("check", "none.json") == 1
    assert capsys.readouterr().err == ("handfast: none.json: does not exist; write one with: handfast config init\n")


def test_show_masks_secrets_and_names_origins(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(GOOD, "mine.json")
    monkeypatch.setenv("HANDFAST_LIMITS_SESSIONS", "3")

    assert config("show", "--config", "mine.json", "--set", "listen=localhost:1") == 0
    text = capsys.readouterr().out
    shown = json.loads(text)
    assert "hunter2" not in text
    assert shown["file"] == "mine.json"
    assert shown["settings"]["listen"] == {"value": "localhost:1", "origin": "flag"}
    assert shown["settings"]["limits.sessions"] == {"value": 3, "origin": "environment"}
    assert shown["settings"]["limits.body_bytes"] == {"value": 4194304, "origin": "default"}
    assert shown["servers"]["github"]["headers"] == {"Authorization": "***"}


def test_show_of_wrong_settings_fails(capsys: pytest.CaptureFixture[str]) -> None:
    write(GOOD)

    assert config("show", "--set", "output_validation.mode=x") == 1
    assert capsys.readouterr().err == (
        'handfast: flag output_validation.mode must be one of off, warn, strict; got "x"\n'
    )


def test_init_writes_a_file_that_checks_and_only_its_owner_reads(folder: Path) -> None:
    assert config("init") == 0
    assert config("check") == 0
    assert (folder / "handfast.json").stat().st_mode & 0o777 == 0o600


def test_init_never_replaces_a_file_unless_told(capsys: pytest.CaptureFixture[str]) -> None:
    write(GOOD, "mine.json")

    assert config("init", "mine.json") == 1
    assert capsys.readouterr().err == "handfast: mine.json: is there already; replace it with --force\n"
    assert json.loads(Path("mine.json").read_text("utf-8")) == GOOD

    assert config("init", "mine.json", "--force") == 0
    assert Path("mine.json").read_text("utf-8") == STARTER


def test_init_into_a_folder_that_is_not_there_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert config("init", "none/handfast.json") == 1
    assert capsys.readouterr().err == (
        "handfast: none/handfast.json: cannot be written; check that its folder exists and may be written to\n"
    )


def test_path_prints_the_file_that_would_be_used(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(GOOD)
    assert config("path") == 0
    monkeypatch.setenv("HANDFAST_CONFIG", "variable.json")
    assert config("path") == 0
    assert config("path", "--config", "flag.json") == 0

    assert capsys.readouterr().out.splitlines() == ["handfast.json", "variable.json", "flag.json"]


@pytest.mark.parametrize("words", [[], ["chek"], ["check", "--set", "novalue"], ["check", "a", "b"]])
def test_wrong_usage_ends_with_two(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        config(*words)

    assert ended.value.code == 2
