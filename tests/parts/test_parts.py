"""The real parts: each server starts and answers through each client, and the locks name no registry."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.parts import ROOT, Mode, Outcome, Parts, Target, without_part

LIST = [{"list": True}]
TOOLS = {"memory": 9, "filesystem": 14, "everything": 13, "time": 2}
Client = Callable[[Target, Sequence[object]], list[Outcome]]


@pytest.fixture(params=sorted(TOOLS))
def server(request: pytest.FixtureRequest, parts: Parts, tmp_path: Path) -> tuple[str, list[str]]:
    commands = {
        "memory": parts.memory(tmp_path / "memory.jsonl"),
        "filesystem": parts.filesystem(tmp_path),
        "everything": parts.everything,
        "time": parts.time,
    }
    return request.param, commands[request.param]


@pytest.fixture(params=["ts-2", "ts-1", "py"])
def client(request: pytest.FixtureRequest, parts: Parts) -> Client:
    clients: dict[str, Client] = {
        "ts-2": lambda target, steps: parts.ts_client(target, steps),
        "ts-1": lambda target, steps: parts.ts_client(target, steps, sdk=1),
        "py": lambda target, steps: parts.py_client(target, steps),
    }
    return clients[request.param]


def test_every_real_server_lists_its_tools_to_every_real_client(server: tuple[str, list[str]], client: Client) -> None:
    name, command = server
    (listed,) = client(command, LIST)
    assert len(listed["result"]["tools"]) == TOOLS[name]


def test_a_real_server_lists_its_tools_over_http(parts: Parts, client: Client) -> None:
    with parts.everything_over_http() as url:
        (listed,) = client(url, LIST)
    assert len(listed["result"]["tools"]) == TOOLS["everything"]


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25"), ("2026-07-28",) * 2])
def test_both_clients_speak_both_eras(parts: Parts, mode: Mode, version: str) -> None:
    for drive in (parts.ts_client, parts.py_client):
        (info,) = drive(parts.time, [{"info": True}], mode=mode)
        assert info["result"]["protocolVersion"] == version


def test_a_server_that_does_not_start_is_one_error(parts: Parts) -> None:
    for drive in (parts.ts_client, parts.py_client):
        (outcome,) = drive(["false"], LIST)
        assert set(outcome) == {"error"}


def test_the_locks_hold_versions_and_hashes_and_no_registry() -> None:
    lock = json.loads((ROOT / "tests" / "parts" / "package-lock.json").read_text())
    packages = [entry for path, entry in lock["packages"].items() if path]
    assert packages
    assert [entry for entry in packages if "resolved" in entry or "integrity" not in entry] == []
    wanted = json.loads((ROOT / "tests" / "parts" / "package.json").read_text())["dependencies"]
    assert all(re.fullmatch(r"[0-9.]+(-[a-z]+\.[0-9]+)?", version) for version in wanted.values())
    python = (ROOT / "requirements" / "parts.txt").read_text()
    assert "://" not in python
    assert "--index-url" not in python
    assert "--find-links" not in python
    assert all("--hash=sha256:" in entry for entry in re.split(r"\n(?=\S)", python.strip()))


def test_a_missing_part_skips_at_the_desk_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = {}
    for setting in ("", "false", "true"):
        monkeypatch.setenv("CI", setting)
        # Both are caught: a skip that escaped from here would only skip this very test.
        with pytest.raises(
            (pytest.skip.Exception, pytest.fail.Exception), match=r"^missing part: no network$"
        ) as caught:
            without_part("no network")
        outcomes[setting] = caught.type
    skipped, failed = pytest.skip.Exception, pytest.fail.Exception
    assert outcomes == {"": skipped, "false": skipped, "true": failed}
