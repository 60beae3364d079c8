"""Exclusions and reports: what may be lost is written down, and what is written down is still so."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from conformance.__main__ import PAGE, legs_of, read_command_line
from conformance.checks import Check, Findings, Status
from conformance.exclusions import Exclusion, LeftOut, read_exclusions, read_left_out
from conformance.report import BEGIN, END, HEADER, LEGS, Loss, Result, render_json, render_tables, write_block
from conformance.suite import REVISIONS

REVISION = "2025-11-25"
EXCLUDED = Exclusion(REVISION, "stdio", "b", "https://example.org/section", "Because.")


def findings(**worst: Status) -> Findings:
    return Findings(frozenset({"ping"}), {Check("ping", name): status for name, status in worst.items()})


GOOD = findings(a=Status.SUCCESS, b=Status.SUCCESS)
WORSE = findings(a=Status.SUCCESS, b=Status.FAILURE)


def test_a_loss_is_excused_only_at_its_own_revision_and_upstream() -> None:
    excused = Result.of("server", REVISION, "stdio", GOOD, WORSE, [EXCLUDED])
    assert excused == Result(
        "server",
        REVISION,
        "stdio",
        scenarios=1,
        passed_directly=1,
        passed_through=0,
        checks=2,
        losses=(Loss("ping", "b", "FAILURE", "Because."),),
        stale=(),
    )
    others = [Result.of("server", REVISION, "http", GOOD, WORSE, [EXCLUDED])]
    others.append(Result.of("server", "2025-06-18", "stdio", GOOD, WORSE, [EXCLUDED]))
    others.append(Result.of("server", REVISION, "stdio", GOOD, findings(b=Status.FAILURE), [EXCLUDED]))
    assert (excused.is_kept, [other.is_kept for other in others]) == (True, [False] * 3)


def test_an_exclusion_for_the_bridge_holds_there_and_nowhere_else() -> None:
    bridged = replace(EXCLUDED, bridge=True)
    kept = Result.of("bridge", REVISION, "stdio", GOOD, WORSE, [bridged])
    others = [Result.of("server", REVISION, "stdio", GOOD, WORSE, [bridged])]
    others.append(Result.of("bridge", REVISION, "stdio", GOOD, WORSE, [EXCLUDED]))
    assert (kept.is_kept, [other.is_kept for other in others]) == (True, [False] * 2)


def test_an_exclusion_of_what_is_not_lost_must_go() -> None:
    kept = Result.of("server", REVISION, "stdio", GOOD, GOOD, [EXCLUDED])
    assert (kept.losses, kept.stale, kept.is_kept) == ((), ("b",), False)
    varying = Result.of("server", REVISION, "stdio", GOOD, GOOD, [replace(EXCLUDED, varies=True)])
    assert (varying.stale, varying.is_kept) == ((), True)
    not_made = Result.of(
        "server", REVISION, "stdio", findings(a=Status.SUCCESS), findings(a=Status.SUCCESS), [EXCLUDED]
    )
    assert (not_made.stale, not_made.is_kept) == ((), True)


def test_the_table_shows_every_loss() -> None:
    results = [
        Result.of("server", REVISION, "http", GOOD, GOOD, []),
        Result.of("server", REVISION, "stdio", GOOD, WORSE, []),
    ]
    assert render_tables(results) == "\n".join(
        [
            f"### {REVISION}",
            "",
            HEADER,
            "|---|---|---|---|---|---|---|",
            "| http | 1/1 | 1/1 | 2 | 2 | 0 | 0 |",
            "| stdio | 1/1 | 0/1 | 2 | 1 | 1 | 0 |",
            "",
            "- LOST, stdio: `b` in ping: FAILURE",
        ]
    )
    assert [entry["is_kept"] for entry in json.loads(render_json(results))] == [True, False]


def test_each_leg_has_its_tables_and_says_what_was_left_out() -> None:
    client = replace(Result.of("client", REVISION, "http", GOOD, GOOD, []), left_out=14)
    results = [Result.of("server", REVISION, "http", GOOD, GOOD, []), client]
    results.append(Result.of("bridge", REVISION, "http", GOOD, GOOD, []))
    table = [HEADER, "|---|---|---|---|---|---|---|", "| http | 1/1 | 1/1 | 2 | 2 | 0 | 0 |", ""]
    assert render_tables(results).splitlines() == [
        *(f"### {REVISION}", "", *table),
        *(f"### {REVISION}, client scenarios", "", *table, "- left out: 14 scenarios", ""),
        *(f"### {REVISION}, in front of a server of the other era", "", *table[:-1]),
    ]


@pytest.mark.parametrize(
    "text",
    ['revision = "x"', 'revision = "x"\nupstream = "http"\ncheck = "c"\nsection = "s"\nreason = ""', "revision = 1"],
)
def test_an_exclusion_without_a_reason_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "exclusions.toml"
    path.write_text(f"[[exclusion]]\n{text}\n")
    with pytest.raises(ValueError, match=r"^exclusion 1 must have exactly these texts: "):
        read_exclusions(path)


@pytest.mark.parametrize("text", ['revision = "x"\nscenarios = "auth/*"\nsection = "s"\nreason = ""', "scenarios = 1"])
def test_scenarios_are_not_left_out_without_a_reason(tmp_path: Path, text: str) -> None:
    path = tmp_path / "exclusions.toml"
    path.write_text(f"[[left_out]]\n{text}\n")
    with pytest.raises(ValueError, match=r"^left_out 1 must have exactly these texts: "):
        read_left_out(path)


@pytest.mark.parametrize("flag", ["bridge", "varies"])
def test_whether_an_exclusion_is_for_the_bridge_or_varies_is_said_with_true_or_false(tmp_path: Path, flag: str) -> None:
    path = tmp_path / "exclusions.toml"
    path.write_text(f'[[exclusion]]\n{flag} = "yes"\n')
    with pytest.raises(ValueError, match=rf"^exclusion 1: {flag} must be true or false$"):
        read_exclusions(path)


def test_scenarios_are_left_out_at_their_own_revision() -> None:
    one = LeftOut(REVISION, "auth/*", "https://example.org/section", "Because.")
    assert one.covers(REVISION, "auth/basic-cimd")
    assert not one.covers(REVISION, "tools_call")
    assert not one.covers("2025-06-18", "auth/basic-cimd")


def test_the_committed_exclusions_name_their_section_and_over_http_only_the_bridge_has_any() -> None:
    exclusions = read_exclusions()
    assert [entry for entry in exclusions if entry.upstream == "http" and not entry.bridge] == []
    entries: list[Exclusion | LeftOut] = [*exclusions, *read_left_out()]
    assert {entry.revision for entry in entries} <= set(REVISIONS)
    prefix = "https://modelcontextprotocol.io/specification/{}/"
    assert all(entry.section.startswith(prefix.format(entry.revision)) and "#" in entry.section for entry in entries)


def test_writing_the_block_leaves_every_other_byte_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# title\n\n{BEGIN}\nold\n{END}\n\nthe end\n")
    write_block(page, "new")
    assert page.read_text() == f"# title\n\n{BEGIN}\n\nnew\n\n{END}\n\nthe end\n"
    page.write_text("no marks")
    with pytest.raises(ValueError, match=r"^page\.md lacks "):
        write_block(page, "new")


def test_only_a_whole_run_may_be_written_down(capsys: pytest.CaptureFixture[str]) -> None:
    assert read_command_line(["--write"]).write
    legs = (["--server"], ["--client"], ["--bridge"])
    for part in (["--revision", REVISION], ["--upstream", "http"], ["--scenario", "ping"], *legs):
        with pytest.raises(SystemExit):
            read_command_line(["--write", *part])
    assert "--write needs a whole run" in capsys.readouterr().err


def test_the_page_shows_every_revision_on_every_leg_with_nothing_lost_but_the_exclusions() -> None:
    block = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    legs = ("", ", client scenarios", ", in front of a server of the other era")
    assert re.findall(r"^### (.+)$", block, re.MULTILINE) == [f"{one}{leg}" for leg in legs for one in REVISIONS]
    rows = re.findall(r"^\| (\w+) \| \d+/\d+ \| \d+/\d+ \| \d+ \| \d+ \| (\d+) \| \d+ \|$", block, re.MULTILINE)
    both, one = [("http", "0"), ("stdio", "0")] * len(REVISIONS), [("http", "0")] * len(REVISIONS)
    assert rows == [*both, *one, *both]


def test_the_page_shows_what_is_excluded_and_no_scenario_failed_without_it() -> None:
    block = PAGE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    shown = {
        (title[: len(REVISION)], upstream, check, title.endswith("the other era"))
        for title, text in re.findall(r"^### (.+)\n([^#]*)", block, re.MULTILINE)
        for upstream, check in re.findall(r"^- excluded, (\w+): `(.+)` in ", text, re.MULTILINE)
    }
    committed = {(one.revision, one.upstream, one.check, one.bridge): one for one in read_exclusions()}
    assert shown <= set(committed)
    assert all(committed[missing].varies for missing in set(committed) - shown)
    rows = re.findall(r"^\| \w+ \| (\d+)/\d+ \| (\d+)/\d+ \|.*\| (\d+) \|$", block, re.MULTILINE)
    assert [row for row in rows if row[0] != row[1] and row[2] == "0"] == []


def test_a_whole_run_has_all_legs_and_each_can_be_run_alone() -> None:
    assert legs_of(read_command_line([])) == ("server", "client", "bridge")
    assert [legs_of(read_command_line([f"--{leg}"])) for leg in LEGS] == [[leg] for leg in LEGS]
    assert legs_of(read_command_line(["--scenario", "ping"])) == ["server"]


def test_scenarios_are_the_servers_unless_it_is_said_otherwise() -> None:
    for part, is_server in (([], True), (["--client"], False), (["--bridge"], False)):
        assert read_command_line(["--scenario", "ping", *part]).server == is_server
        assert read_command_line(["--upstream", "stdio", *part]).server == is_server
    assert not read_command_line([]).server
