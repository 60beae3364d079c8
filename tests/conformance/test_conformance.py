"""The official suite against a real server and through the real gateway: what it passes, it passes behind it."""

import subprocess
from pathlib import Path

import pytest
from conformance.checks import SuiteFailed, require_sound
from conformance.exclusions import UPSTREAMS, read_exclusions
from conformance.report import Result
from conformance.servers import Server, free_port
from conformance.suite import carry_out, judge

from tests.parts import ROOT, Parts

LEGACY, MODERN = "2025-11-25", "2026-07-28"
# A legacy session that can be asked something back starts a child of its own, so the whole suite takes half a minute.
CHOSEN = (
    "server-initialize",
    "tools-call-sampling",
    "tools-call-elicitation",
    "tools-call-with-progress",
    "resources-read-text",
    "prompts-get-with-args",
    "server-sse-polling",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)


def broken(results: list[Result]) -> list[object]:
    return [(result.upstream, result.unexcused, result.stale) for result in results if not result.is_kept]


def test_no_check_of_the_modern_revision_is_lost(parts: Parts) -> None:
    results = carry_out([MODERN], UPSTREAMS, exclusions=read_exclusions())
    assert broken(results) == []
    assert [(one.upstream, one.passed_through, one.checks, len(one.losses)) for one in results] == [
        ("http", 40, 137, 0),
        ("stdio", 40, 137, 0),
    ]


def test_no_check_of_a_legacy_revision_is_lost_over_http(parts: Parts) -> None:
    results = carry_out([LEGACY], ["http"], exclusions=read_exclusions())
    assert broken(results) == []
    assert [(one.passed_through, one.checks, len(one.losses)) for one in results] == [(33, 88, 0)]


def test_no_check_of_a_legacy_revision_is_lost_over_stdio_but_the_excluded_ones(parts: Parts) -> None:
    results = carry_out([LEGACY], ["stdio"], CHOSEN, exclusions=read_exclusions())
    assert broken(results) == []
    assert [(one.scenarios, one.passed_through, len(one.losses)) for one in results] == [(9, 9, 2)]


def test_a_dead_server_does_not_look_like_a_pass(parts: Parts, tmp_path: Path) -> None:
    with pytest.raises(SuiteFailed, match=r"^the server itself fails .*tools-list"):
        require_sound(judge(f"http://localhost:{free_port()}/mcp", MODERN, [], tmp_path))


def test_a_server_that_ends_is_reported_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(SuiteFailed, match=r"^a server ended with code 3; it said: no luck$"):
        Server(["sh", "-c", "echo no luck; exit 3"], tmp_path / "log", port=free_port())


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        ("tools-lst", "conformance: there is no scenario named tools-lst; perhaps tools-list\n"),
        ("caching", "conformance: none of these scenarios belongs to these revisions\n"),
    ],
)
def test_a_scenario_that_cannot_be_run_is_one_line(parts: Parts, scenario: str, said: str) -> None:
    command = [str(ROOT / "scripts" / "conformance"), "--revision", LEGACY, "--scenario", scenario]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
