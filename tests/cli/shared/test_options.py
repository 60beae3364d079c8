"""Flags that several commands share."""

import argparse
import os
from pathlib import Path

import pytest

from handfast.cli.shared.console import CommandFailed
from handfast.cli.shared.options import read_settings, settings_path, utf8_text


def test_the_settings_file_is_the_flags_then_the_environments_then_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("handfast.json").write_text("{}")
    monkeypatch.delenv("HANDFAST_CONFIG", raising=False)
    assert settings_path(None) == Path("handfast.json")
    monkeypatch.setenv("HANDFAST_CONFIG", "environment.json")
    assert settings_path(None) == Path("environment.json")
    assert settings_path("flag.json") == Path("flag.json")


def test_without_any_it_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HANDFAST_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    assert settings_path(None) == tmp_path / "home" / "handfast" / "handfast.json"


def test_wrong_settings_end_the_command_with_every_problem(tmp_path: Path) -> None:
    file = tmp_path / "handfast.json"
    file.write_text('{"input_validation": {"mode": "x"}, "output_validation": {"mode": "y"}}')
    with pytest.raises(CommandFailed) as caught:
        read_settings(file, {}, needs_servers=False)
    assert caught.value.code == 1
    assert [line.partition(" must")[0] for line in str(caught.value).splitlines()] == [
        f"{file}: input_validation.mode",
        f"{file}: output_validation.mode",
    ]


def test_names_that_are_no_utf8_are_refused() -> None:
    assert utf8_text("caf\u00e9") == "caf\u00e9"
    with pytest.raises(argparse.ArgumentTypeError, match=r"^it is not UTF-8$"):
        utf8_text(os.fsdecode(b"\xff"))
