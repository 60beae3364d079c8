"""The official suite against the project: every check that is about what a server of tools alone offers."""

from pathlib import Path

import pytest
from conformance.checks import Check, Status
from conformance.suite import judge

from tests.django.endpoint.live import running_project
from tests.parts import Parts

LEGACY = {"server-initialize", "server-session-lifecycle", "ping", "tools-list", "tools-call-error"}
NEWER = {"dns-rebinding-protection"}
MODERN = {
    "caching",
    "http-custom-header-server-validation",
    "http-header-validation",
    "server-sse-multiple-streams",
    "server-stateless",
    "tools-call-error",
    "tools-list",
}
APPLICABLE = {"2025-06-18": LEGACY, "2025-11-25": LEGACY | NEWER, "2026-07-28": MODERN | NEWER}
# About prompts and resources, which are not offered.
NOT_OFFERED = {
    Check("caching", "sep-2549-prompts-list-caching-hints"),
    Check("caching", "sep-2549-resources-list-caching-hints"),
    Check("caching", "sep-2549-resources-templates-list-caching-hints"),
}
# About tools of the suite's own server that log, stream, or need something of the client: no view of a REST API does.
NOT_TESTABLE = {
    Check("server-stateless", "sep-2575-http-server-no-independent-requests-on-stream"),
    Check("server-stateless", "sep-2575-missing-capability-http-400"),
    Check("server-stateless", "sep-2575-server-no-log-without-loglevel"),
    Check("server-stateless", "sep-2575-server-rejects-undeclared-capability"),
}
EXCUSED: dict[str, set[Check]] = {"2026-07-28": NOT_OFFERED | NOT_TESTABLE}


@pytest.mark.parametrize("revision", APPLICABLE)
def test_no_check_of_what_is_offered_fails(parts: Parts, tmp_path: Path, revision: str) -> None:
    with running_project("wsgi", tmp_path) as url:
        found = judge(url, revision, [], tmp_path / "results")
    checks = {check: status for check, status in found.worst.items() if check.scenario in APPLICABLE[revision]}
    assert {check.scenario for check in checks} == APPLICABLE[revision]
    bad = {check for check, status in checks.items() if status > Status.SKIPPED}
    assert bad == EXCUSED.get(revision, set())
