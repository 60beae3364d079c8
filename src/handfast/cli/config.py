"""`handfast config`: look at settings before they are used."""

import argparse
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from handfast.cli.shared import console

if TYPE_CHECKING:
    from handfast.core.call.policy import ToolPolicy
    from handfast.gateway.settings import Settings

FINE, PROBLEM = 0, 1

# The example is switched off: a new file starts nothing until its user says so.
STARTER = """\
{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "."],
      "disabled": true
    }
  },
  "input_validation": {"mode": "warn", "unknown_arguments": "reject_objects"},
  "output_validation": {"mode": "warn"},
  "activity": {"store": "sqlite", "durability": "decisions"}
}
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Attaches `config` and its own commands."""
    parser = subparsers.add_parser("config", help="look at settings before they are used")
    commands = parser.add_subparsers(dest="config_command", required=True, metavar="COMMAND")
    _add(commands, "schema", run_schema, "print the JSON Schema of the settings file")
    check = _add(commands, "check", run_check, "check a settings file and list its servers")
    check.add_argument("file", nargs="?", help="the file to check; else the one that would be used")
    show = _add(commands, "show", run_show, "print the settings in force, secrets masked, with their origins")
    init = _add(commands, "init", run_init, "write a starter file")
    init.add_argument("file", nargs="?", help="where to; else HANDFAST_CONFIG or ./handfast.json")
    init.add_argument("--force", action="store_true", help="replace a file that is there")
    path = _add(commands, "path", run_path, "print which file would be used")
    add_settings_flags(check)
    add_settings_flags(show)
    path.add_argument("--config", metavar="FILE", help="the settings file")


def add_settings_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of every command that reads settings."""
    parser.add_argument("--config", metavar="FILE", help="the settings file")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        type=_assignment,
        default=[],
        dest="assignments",
        help="a global setting, such as output_validation.mode=strict; wins over environment and file",
    )


def run_schema(_args: argparse.Namespace) -> int:
    from handfast.gateway.settings.schema import render_schema

    console.write(render_schema().removesuffix("\n"))
    return FINE


def run_check(args: argparse.Namespace) -> int:
    from handfast.gateway.settings import SettingsError, find_settings_file, load_settings
    from handfast.gateway.settings.on_disk import find_missing

    path = find_settings_file(args.file or args.config, environ=os.environ)
    try:
        settings = load_settings(path, environ=os.environ, flags=dict(args.assignments))
    except SettingsError as error:
        return _refuse(error.problems)
    missing = list(find_missing(settings.servers, path, os.environ))
    if missing:
        return _refuse(missing)
    console.write(console.escape(f"{path}: fine"))
    for line in render_servers(settings) if settings.servers else ["no servers"]:
        console.write(line)
    return FINE


def run_show(args: argparse.Namespace) -> int:
    import json

    from handfast.gateway.settings import SettingsError, find_settings_file, trace_settings
    from handfast.gateway.settings.dump import masked_settings

    path = find_settings_file(args.config, environ=os.environ)
    try:
        traced = trace_settings(path, environ=os.environ, flags=dict(args.assignments))
    except SettingsError as error:
        return _refuse(error.problems)
    console.write(json.dumps({"file": str(path), **masked_settings(traced)}, indent=2))
    return FINE


def run_init(args: argparse.Namespace) -> int:
    path = Path(args.file or os.environ.get("HANDFAST_CONFIG") or "handfast.json")
    # Servers' tokens end up in this file, so only its owner may read it; without --force nothing is replaced.
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if args.force else os.O_EXCL)
    flags |= getattr(os, "O_NONBLOCK", 0)  # a named pipe would be waited for without end
    try:
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(STARTER)
    except FileExistsError:
        return _refuse([f"{path}: is there already; replace it with --force"])
    except OSError:
        return _refuse([f"{path}: cannot be written; check that its folder exists and may be written to"])
    console.write(f"{path}: written; add your servers, then: handfast config check {path}")
    return FINE


def run_path(args: argparse.Namespace) -> int:
    from handfast.gateway.settings import find_settings_file

    console.write(str(find_settings_file(args.config, environ=os.environ)))
    return FINE


def render_servers(settings: "Settings") -> list[str]:
    """One line for each server and for each tool with an entry of its own."""
    rows: list[tuple[str, ...]] = []
    for name, server in settings.servers.items():
        kind = f"{server.transport.value}{' (disabled)' if server.disabled else ''}"
        rows.append((name, "", kind, *_modes(settings.policy(name, ""))))
        rows += [(name, tool, kind, *_modes(settings.policy(name, tool))) for tool in server.tools]
    return console.render_table(("server", "tool", "transport", "input", "unknown arguments", "output"), rows)


def _modes(policy: "ToolPolicy") -> tuple[str, str, str]:
    return policy.input.mode.value, policy.input.unknown_arguments.value, policy.output.mode.value


def _add(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=f"{summary[:1].upper()}{summary[1:]}.")
    parser.set_defaults(run=lambda args: console.run_command(lambda: run(args)))
    return parser


def _assignment(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise argparse.ArgumentTypeError("must be KEY=VALUE, such as output_validation.mode=strict")
    return key, value


def _refuse(problems: Iterable[str]) -> int:
    for problem in problems:
        console.print_error(problem)
    return PROBLEM
