"""`handfast lint [PATHS]`: findings about Python sources and tool definitions, as text, JSON or SARIF."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from handfast.cli.call import add_connection_flags
from handfast.cli.shared.console import CommandFailed, escape, paint, print_hint, run_command, write
from handfast.cli.shared.options import utf8_text
from handfast.core.words.printable import json_text

if TYPE_CHECKING:
    from handfast.lint.findings import Finding
    from handfast.lint.sources.checks import SourceReport
    from handfast.lint.tools.definitions import Definitions

FINE, FOUND, WRONG = 0, 1, 2
_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}

_EPILOG = """\
PATHS are Python files, folders of them, and .json files with tool definitions (a tools/list result or a list of tools).
Without anything to judge, this folder is.

exit codes: 0 nothing at or above --fail-on; 1 something; 2 wrong usage

examples:
  handfast lint src
  handfast lint tools.json --fail-on warning
  handfast lint --server memory --ignore 'tool-open-*'
  handfast lint -- npx -y @modelcontextprotocol/server-memory
  handfast lint --toolbox contacts:tools -o sarif
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "lint",
        help="find faults in sources and tool definitions",
        usage="handfast lint [PATHS ...] [--server NAME] [--toolbox MODULE:ATTRIBUTE] [-o text|json|sarif]\n"
        "                     [--fail-on error|warning] [--select IDS] [--ignore IDS]\n"
        "                     [--url URL] [--config FILE] [--state DIR] [--timeout SECONDS] [-- CMD...]",
        description="Find faults in Python sources and in tool definitions, each with an id that never changes.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="*", metavar="PATHS", help="files and folders (default: this folder)")
    parser.add_argument(
        "--server", action="append", default=[], type=utf8_text, metavar="NAME", help="a server's tools, asked afresh"
    )
    parser.add_argument(
        "--toolbox", action="append", default=[], metavar="MODULE:ATTRIBUTE", help="the tools of a toolbox, imported"
    )
    parser.add_argument("-o", "--output", choices=("text", "json", "sarif"), default="text", help="text is the default")
    parser.add_argument(
        "--fail-on", choices=("error", "warning"), default="error", help="the level from which on it exits with 1"
    )
    for flag, what in (("--select", "only these ids"), ("--ignore", "all but these ids")):
        parser.add_argument(
            flag, action="append", default=[], metavar="IDS", help=f"{what}, with commas between; tool-* is a pattern"
        )
    add_connection_flags(parser)
    parser.set_defaults(run=run, command=None)


def run(args: argparse.Namespace) -> int:
    return run_command(lambda: _lint(args))


def _lint(args: argparse.Namespace) -> int:
    from handfast.lint.findings import Level, in_order
    from handfast.lint.tools.checks import check_tools

    wanted = _wanted(args.select, args.ignore)
    files, folders = _sorted_paths(args)
    definitions = _definitions(args, files)
    report, count = _check_sources(folders)
    for listed in definitions:
        report.findings += check_tools(listed)
    findings = in_order([finding for finding in report.findings if finding.id in wanted])
    _write(findings, args.output)
    if args.output == "text":
        tools = sum(len(listed.tools) for listed in definitions)
        judged = _judged(report, count if folders else None, tools if definitions else None)
        for line in _summary(findings, judged, is_unread=_is_all_unread(report, count, definitions)):
            print_hint(line)
    return FOUND if any(finding.level.is_at_least(Level(args.fail_on)) for finding in findings) else FINE


def _wanted(select: list[str], ignore: list[str]) -> frozenset[str]:
    from handfast.lint.findings import RULES, matching_ids

    try:
        selected = matching_ids(_split(select)) if select else frozenset(RULES)
        return selected - matching_ids(_split(ignore))
    except KeyError as unknown:
        from difflib import get_close_matches

        near = get_close_matches(str(unknown.args[0]), RULES, 1)
        advice = f"did you mean {near[0]}?" if near else "docs/lint.md lists them all"
        raise CommandFailed(f"there is no finding '{unknown.args[0]}'; {advice}", WRONG) from None


def _split(given: list[str]) -> list[str]:
    return [name.strip() for names in given for name in names.split(",") if name.strip()]


def _sorted_paths(args: argparse.Namespace) -> tuple[list[Path], list[Path]]:
    """Files of tool definitions, and everything else. Raises: CommandFailed."""
    asks_elsewhere = args.server or args.toolbox or args.command is not None
    paths = [Path(path) for path in args.paths or ([] if asks_elsewhere else ["."])]
    for path in paths:
        if not path.exists():
            raise CommandFailed(f"{path}: there is no such file or folder. Check the path.", WRONG)
    files = [path for path in paths if path.suffix == ".json" and not path.is_dir()]
    return files, [path for path in paths if path not in files]


def _definitions(args: argparse.Namespace, files: list[Path]) -> "list[Definitions]":
    if args.command == []:
        raise CommandFailed("lint needs a command after --, such as: handfast lint -- npx -y SOME-SERVER", WRONG)
    if not (files or args.toolbox or args.server or args.command):
        return []
    from handfast.cli import lint_tools

    found = [lint_tools.read_file(path) for path in files]
    found += [lint_tools.read_toolbox(named) for named in args.toolbox]
    found += [lint_tools.ask_server(args, name) for name in args.server]
    return found + ([lint_tools.ask_command(args.command, args.timeout)] if args.command else [])


def _check_sources(paths: Sequence[Path]) -> "tuple[SourceReport, int]":
    """What is found in Python sources, and the number of sources. Raises: CommandFailed."""
    from handfast.lint.sources.boundary_typed import ProjectUnreadable, find_project
    from handfast.lint.sources.checks import SourceReport, check_sources, find_sources

    if not paths:
        return SourceReport(), 0
    sources = find_sources(paths)
    try:
        project = find_project(paths)
    except ProjectUnreadable as problem:
        raise CommandFailed(str(problem), WRONG) from None
    return check_sources(sources, project), len(sources)


def _write(findings: "Sequence[Finding]", form: str) -> None:
    match form:
        case "json":
            write(json_text([asdict(finding) for finding in findings]))
        case "sarif":
            from handfast.lint.sarif import render_sarif

            write(json_text(render_sarif(findings)))
        case _:
            for line in _grouped(findings):
                write(line)


def _grouped(findings: "Sequence[Finding]") -> Iterator[str]:
    """Findings by id, the gravest first: a heading with the meaning, a line with the remedy, and the places."""
    from handfast.lint.findings import RULES, Level

    levels = list(Level)
    grouped: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda one: (-levels.index(one.level), one.id)):
        grouped.setdefault(finding.id, []).append(finding)
    for rule_id, group in grouped.items():
        rule = RULES[rule_id]
        yield f"{paint(rule.level, _COLOURS[rule.level])} {rule_id}: {rule.summary}"
        yield f"  {rule.hint}"
        for finding in group:
            remedy = "" if finding.hint == rule.hint else f" {finding.hint}"
            yield escape(f"  {finding.place}: {finding.message}{remedy}")


def _judged(report: "SourceReport", files: int | None, tools: int | None) -> str:
    """What was there to judge; empty where nothing was. None stands for what was not asked for."""
    kinds = {"boundary": report.boundaries, "admin handler": report.handlers}
    sources = " and ".join(_part(each.judged, each.found, kind) for kind, each in kinds.items())
    parts = [f"{sources} in {_count(files, 'file')}"] if files is not None else []
    parts += [_count(tools, "tool")] if tools is not None else []
    return "; ".join(parts) if report.boundaries.found or report.handlers.found or tools else ""


def _is_all_unread(report: "SourceReport", files: int, definitions: "list[Definitions]") -> bool:
    """Whether no file and no list could be read, so that nobody knows what there is to judge."""
    sources = sum(finding.id == "source-unreadable" for finding in report.findings)
    lists = sum(not listed.tools and bool(listed.findings) for listed in definitions)
    return sources == files and lists == len(definitions)


def _part(judged: int, found: int, what: str) -> str:
    return _count(found, what) if judged == found else f"{judged} of {_count(found, what)}"


def _summary(findings: "Sequence[Finding]", judged: str, *, is_unread: bool) -> Iterator[str]:
    counts = {level: sum(finding.level == level for finding in findings) for level in _COLOURS}
    told = ", ".join(_count(number, level) for level, number in counts.items() if number)
    if judged:
        yield f"judged {judged}: {told or 'nothing found'}"
        return
    if told and is_unread:
        yield f"nothing judged: {told}"  # the remedy stands above, with the files
        return
    nothing = "nothing to judge: no registered boundary, no admin tool with a handler, no tool definition"
    yield f"{nothing}: {told}" if told else nothing
    yield (
        "To have boundaries judged, register them under [tool.handfast.lint] in pyproject.toml; to have tools judged,"
        " name a .json file of them, --toolbox MODULE:ATTRIBUTE, --server NAME or -- CMD (docs/lint.md)."
    )


def _count(number: int, what: str) -> str:
    if number == 1 or what == "info":
        return f"{number} {what}"
    return f"{number} {what.removesuffix('y')}ies" if what.endswith("y") else f"{number} {what}s"
