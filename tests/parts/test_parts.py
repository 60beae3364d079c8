"""The real parts: each server starts and answers through each client, and the locks name no registry."""

import json
import re

import pytest

from tests.parts import ROOT, Mode, Outcome, Parts, Sdk, Target, without_part

STEPS = [{"info": True}, {"list": True}]
TOOLS = {"memory": 9, "filesystem": 14, "everything": 13, "everything over HTTP": 13, "time": 2}
SDKS: tuple[Sdk, ...] = ("ts", "ts1", "py")
ERAS: dict[Mode, str] = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}
BROKEN = "one that does not start"
Held = dict[tuple[Sdk, str, Mode], list[Outcome]]


@pytest.fixture(scope="module")
def held(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Held:
    """A short session of every client with every server, all of a client's in one process."""
    folder = tmp_path_factory.mktemp("parts")
    found: Held = {}
    with parts.everything_over_http() as url:
        targets: dict[str, Target] = {
            "memory": parts.memory(folder / "memory.jsonl"),
            "filesystem": parts.filesystem(folder),
            "everything": parts.everything,
            "everything over HTTP": url,
            "time": parts.time,
            BROKEN: ["false"],
        }
        for sdk in SDKS:
            keys: list[tuple[Sdk, str, Mode]] = [(sdk, server, "auto") for server in targets]
            keys += [(sdk, "time", mode) for mode in ("legacy", "2026-07-28") if sdk != "ts1"]
            sessions = [
                {"target": targets[server], "mode": mode, "answers": False, "steps": STEPS} for _, server, mode in keys
            ]
            found.update(zip(keys, parts.sessions(sdk, sessions), strict=True))
    return found


@pytest.mark.parametrize("server", TOOLS)
@pytest.mark.parametrize("sdk", SDKS)
def test_every_real_server_lists_its_tools_to_every_real_client(held: Held, sdk: Sdk, server: str) -> None:
    _, listed = held[sdk, server, "auto"]
    assert len(listed["result"]["tools"]) == TOOLS[server]


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("sdk", ["ts", "py"])
def test_both_clients_speak_both_eras(held: Held, sdk: Sdk, mode: Mode) -> None:
    info, _ = held[sdk, "time", mode]
    assert info["result"]["protocolVersion"] == ERAS[mode]


@pytest.mark.parametrize("sdk", SDKS)
def test_a_server_that_does_not_start_is_one_error(held: Held, sdk: Sdk) -> None:
    (outcome,) = held[sdk, BROKEN, "auto"]
    assert set(outcome) == {"error"}


def test_the_locks_hold_versions_and_hashes_and_no_registry() -> None:
    npm = sorted((ROOT / "benchmarks" / "clients" / "npm").iterdir())
    assert len(npm) == 2
    for folder in (ROOT / "tests" / "parts", *npm):
        lock = json.loads((folder / "package-lock.json").read_text())
        packages = [entry for path, entry in lock["packages"].items() if path]
        assert packages
        assert [entry for entry in packages if "resolved" in entry or "integrity" not in entry] == []
        wanted = json.loads((folder / "package.json").read_text())["dependencies"]
        assert all(re.fullmatch(r"(npm:[a-z]+@)?[0-9.]+(-[a-z]+\.[0-9]+)?", version) for version in wanted.values())
    for path in (ROOT / "requirements").glob("*.txt"):
        python = path.read_text()
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
