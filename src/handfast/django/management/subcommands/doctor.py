"""`manage.py handfast doctor`: what an agent would see, and what is wrong with it."""

import argparse
import json
import shutil
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from handfast.django.checks.catalogue import CheckFinding

if TYPE_CHECKING:
    from handfast.django.discovery import ViewTool
    from handfast.django.inspect.doctor import Diagnosis


def add_parser(commands: "argparse._SubParsersAction[Any]") -> None:  # Any: a parser
    parser = commands.add_parser(
        "doctor",
        help="show what an agent would see, and what is wrong with it",
        description="Show every tool that an agent would see, and what is wrong with it, errors first."
        " The exit code is 1 when there are errors.",
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--tool", metavar="NAME", help="one tool whole, with its schemas")
    parser.add_argument("--as", dest="seen_by", metavar="USER", help="only what this user, or token:NAME, is listed")
    parser.set_defaults(run=run)


def run(command: BaseCommand, options: dict[str, Any]) -> None:  # Any: what argparse read
    """Raises: CommandError."""
    from handfast.django.inspect.doctor import as_json, examine_project
    from handfast.django.inspect.doctor_report import render_report
    from handfast.django.inspect.listing_as import NoSuchCaller

    try:
        diagnosis = examine_project(options["seen_by"])
    except (ImproperlyConfigured, NoSuchCaller) as problem:
        raise CommandError(str(problem)) from None
    except DatabaseError as problem:
        said = str(problem).partition("\n")[0]
        raise CommandError(f"The database refused: {said}. Is it migrated? See: manage.py migrate") from None
    if options["tool"] is not None:
        _show_tool(command, diagnosis, options["tool"], is_json=options["json"])
        return
    if options["json"]:
        command.stdout.write(json.dumps(as_json(diagnosis), indent=2, ensure_ascii=False))
    else:
        width = shutil.get_terminal_size().columns if command.stdout.isatty() else None
        for line in render_report(diagnosis, command.style, width):
            command.stdout.write(line)
    if errors := diagnosis.count("error"):
        raise CommandError(f"{errors} {'error' if errors == 1 else 'errors'}. Agents lack what is named above.")


def _show_tool(command: BaseCommand, diagnosis: "Diagnosis", name: str, *, is_json: bool) -> None:
    from handfast.django.inspect.doctor import finding_as_json, whole_tool
    from handfast.django.inspect.doctor_report import tool_report

    seen = diagnosis.tool(name)
    if seen is None:
        near = get_close_matches(name, [one.name for one in (*diagnosis.tools, *diagnosis.hidden)], n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise CommandError(f"There is no tool of that name.{meant} See them all: manage.py handfast doctor")
    findings = [one for one in diagnosis.findings if seen.tool is not None and _concerns(one, seen.tool)]
    if is_json:
        whole = {**whole_tool(seen), "findings": [finding_as_json(one) for one in findings]}
        command.stdout.write(json.dumps(whole, indent=2, ensure_ascii=False))
        return
    for line in tool_report(seen, findings, command.style):
        command.stdout.write(line)


def _concerns(finding: CheckFinding, tool: "ViewTool") -> bool:
    """Whether a finding is about the tool's view or one of its serializers."""
    from handfast.django.discovery.problems import dotted_name

    handler = f"{dotted_name(tool.view)}.{tool.handler}"
    serializers = [dotted_name(one) for one in (tool.input_serializer, tool.output_serializer) if one is not None]
    return any(
        place in (handler, dotted_name(tool.view)) or any(f"{place}.".startswith(f"{one}.") for one in serializers)
        for place in finding.where.split(", ")
    )
