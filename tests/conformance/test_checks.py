"""Results of the suite compared check by check: nothing that is worse through the gateway may look like a pass."""

import json
from pathlib import Path

import pytest
from conformance.checks import Check, Findings, Lost, Status, SuiteFailed, lost_checks, read_findings, require_sound
from hypothesis import given
from hypothesis import strategies as st

STAMP = "2026-11-15T22-55-10-068Z"
STATUSES = st.sampled_from([status for status in Status if status is not Status.ABSENT])
CHECKS = st.builds(Check, st.sampled_from(["ping", "tools-list"]), st.sampled_from(["a", "b", "c"]))


def findings(**worst: Status) -> Findings:
    return Findings(frozenset({"ping"}), {Check("ping", name): status for name, status in worst.items()})


def write(folder: Path, scenario: str, *checks: tuple[str, str]) -> None:
    results = folder / f"server-{scenario}-{STAMP}"
    results.mkdir()
    (results / "checks.json").write_text(json.dumps([{"id": name, "status": status} for name, status in checks]))


def test_a_check_comes_to_the_worst_of_its_occurrences(tmp_path: Path) -> None:
    write(tmp_path, "tools-list", ("a", "SUCCESS"), ("b", "FAILURE"), ("b", "SUCCESS"))
    write(tmp_path, "ping-2026", ("a", "INFO"), ("a", "SKIPPED"))
    assert read_findings(tmp_path) == Findings(
        frozenset({"tools-list", "ping-2026"}),
        {
            Check("tools-list", "a"): Status.SUCCESS,
            Check("tools-list", "b"): Status.FAILURE,
            Check("ping-2026", "a"): Status.SKIPPED,
        },
    )
    assert read_findings(tmp_path).passed_scenarios == 1


def test_the_findings_of_some_scenarios_are_theirs_alone() -> None:
    ping, tools = Check("ping", "a"), Check("tools-list", "a")
    both = Findings(frozenset({"ping", "tools-list"}), {ping: Status.SUCCESS, tools: Status.FAILURE})
    assert both.only(["ping", "prompts-list"]) == Findings(frozenset({"ping"}), {ping: Status.SUCCESS})


def test_results_of_client_scenarios_lie_under_the_name_of_the_scenario(tmp_path: Path) -> None:
    for name, check in (("tools_call", "a"), ("auth/basic-cimd", "b")):
        results = tmp_path / f"{name}-{STAMP}"
        results.mkdir(parents=True)
        (results / "checks.json").write_text(json.dumps([{"id": check, "status": "SUCCESS"}]))
    assert read_findings(tmp_path, prefix="") == Findings(
        frozenset({"tools_call", "auth/basic-cimd"}),
        {Check("tools_call", "a"): Status.SUCCESS, Check("auth/basic-cimd", "b"): Status.SUCCESS},
    )
    with pytest.raises(SuiteFailed, match=rf"^auth/basic-cimd-{STAMP} is no name for results that is known here$"):
        read_findings(tmp_path)


def test_a_run_without_results_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(SuiteFailed, match=r"^the suite left no results$"):
        read_findings(tmp_path)
    write(tmp_path, "ping")
    with pytest.raises(SuiteFailed, match=r"^the suite left no results$"):
        read_findings(tmp_path)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"id": "a"}]', '[{"id": "a", "status": "SPLENDID"}]'])
def test_results_that_cannot_be_understood_say_nothing(tmp_path: Path, text: str) -> None:
    write(tmp_path, "tools-list", ("a", "SUCCESS"))
    write(tmp_path, "ping", ("a", "SUCCESS"))
    (tmp_path / f"server-ping-{STAMP}" / "checks.json").write_text(text)
    if text == "{}":  # no checks at all, which a scenario may have
        assert read_findings(tmp_path).scenarios == {"tools-list", "ping"}
        return
    with pytest.raises(SuiteFailed, match=r"^the results of ping cannot be read$"):
        read_findings(tmp_path)


@pytest.mark.parametrize("after", [status for status in Status if status is not Status.SUCCESS])
def test_a_success_that_becomes_anything_else_is_lost(after: Status) -> None:
    direct = findings(a=Status.SUCCESS, b=Status.SUCCESS)
    gateway = findings(b=Status.SUCCESS) if after is Status.ABSENT else findings(a=after, b=Status.SUCCESS)
    assert lost_checks(direct, gateway) == [Lost(Check("ping", "a"), after)]


@given(st.dictionaries(CHECKS, STATUSES), st.dictionaries(CHECKS, STATUSES))
def test_nothing_is_lost_only_where_every_good_check_stayed_good(
    direct: dict[Check, Status], gateway: dict[Check, Status]
) -> None:
    lost = {one.check for one in lost_checks(Findings(frozenset(), direct), Findings(frozenset(), gateway))}
    for check, before in direct.items():
        kept = {Status.SUCCESS} if before is Status.SUCCESS else {Status.SUCCESS, Status.INFO}
        assert (check in lost) == (before.is_good and gateway.get(check) not in kept)


def test_nothing_is_said_about_the_gateway_when_the_server_itself_fails() -> None:
    require_sound(findings(a=Status.SUCCESS, b=Status.WARNING))
    with pytest.raises(SuiteFailed, match=r"^the server itself fails ping, so nothing can be said about the gateway$"):
        require_sound(findings(a=Status.SUCCESS, b=Status.FAILURE))


def test_a_later_run_has_the_last_word_on_its_own_scenarios_only() -> None:
    other = Findings(frozenset({"tools-list"}), {Check("tools-list", "a"): Status.FAILURE})
    first = findings(a=Status.FAILURE, b=Status.SUCCESS)
    assert first.updated(other).updated(findings(a=Status.SUCCESS)) == Findings(
        frozenset({"ping", "tools-list"}),
        {Check("ping", "a"): Status.SUCCESS, Check("tools-list", "a"): Status.FAILURE},
    )
