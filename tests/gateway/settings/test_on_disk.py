"""What `config check` finds out about this machine: whether commands and folders are there."""

import os
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from handfast.gateway.settings.on_disk import find_missing
from handfast.gateway.settings.server import ServerSettings, Transport


def told(source: Path = Path("handfast.json"), **entry: Any) -> list[str]:  # Any: fields of a server
    server = ServerSettings(**{"transport": Transport.STDIO, **entry})
    return [line.removeprefix(f"{source}: ") for line in find_missing({"up": server}, source, os.environ)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "bin" / "serve"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "plain.py").write_text("")
    return tmp_path


def test_what_is_there_is_not_spoken_of(folder: Path) -> None:
    path = MappingProxyType({"PATH": str(folder / "bin")})
    assert told(command="sh", args=("-c", "true"), cwd=".") == []
    assert told(command="bin/serve") == told(command=str(folder / "bin" / "serve")) == []
    assert told(command="serve", env=path) == []
    assert told(command="no-such-program", disabled=True) == []
    assert told(transport=Transport.HTTP, url="http://127.0.0.1:1/mcp") == []


def test_what_is_missing_gets_one_line_with_what_to_do(folder: Path) -> None:
    missing = "up.command names no program that is here; "
    assert told(command="no-such-program") == [f"{missing}install it, or write its whole path"]
    assert told(command="/no/such") == [f"{missing}install it, or write its whole path"]
    assert told(command="sh -c true") == [
        'up.command holds a whole command line; keep "sh" and put the rest into "args"'
    ]
    install = f"{missing}install it, or write its whole path"
    assert told(command="uvy such") == [
        f'{install}; if it is a command line, keep "uvy" and put the rest into "args"',
    ]
    assert told(command=" ") == [f"{missing}install it, or write its whole path"]
    assert told(command="./plain.py") == [
        "up.command may not be run; make it executable, or name the program that runs it"
    ]
    assert told(command="sh", cwd="gone") == ["up.cwd names no folder that is here; make it, or correct the path"]


def test_a_relative_command_says_to_which_folder_and_to_which_not(folder: Path) -> None:
    relative = f"up.command names no program that is here; it is relative to the current folder, {folder}"
    assert told(command="./gone") == [relative]
    elsewhere = folder / "etc" / "handfast.json"
    assert told(elsewhere, command="./gone") == [f"{relative}, not to that of this file, {folder / 'etc'}"]
