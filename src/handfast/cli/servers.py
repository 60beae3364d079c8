"""`handfast servers`: the servers of the settings, how firmly each is held, and whether the gateway serves them."""

import argparse
import json
import os

from handfast.cli.call import add_connection_flags
from handfast.cli.console import render_table, run_command, terminal_width, write
from handfast.cli.options import read_settings, settings_path


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "servers",
        help="list the servers of the settings",
        description="List the servers of the settings, how firmly each is held, and where the gateway serves them.",
    )
    add_connection_flags(parser)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="table (default) or json")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    return run_command(lambda: _servers(args))


def _servers(args: argparse.Namespace) -> int:
    from handfast.cli.event_loop import run_async
    from handfast.cli.gateway_session import gateway_address, served_names

    settings = read_settings(settings_path(args.config), {})
    base = args.url or os.environ.get("HANDFAST_URL") or gateway_address(args)
    served = run_async(served_names(base))
    rows = []
    for name, server in sorted(settings.servers.items()):
        policy = settings.policy(name, "")
        rows.append(
            {
                "server": name,
                "transport": server.transport.value,
                "state": _state(name, is_disabled=server.disabled, served=served),
                "input": policy.input.mode.value,
                "output": policy.output.mode.value,
                "address": f"{base.rstrip('/')}/mcp/{name}" if served and name in served else "",
            }
        )
    if args.output == "json":
        write(json.dumps(rows, indent=2))
        return 0
    head = ("SERVER", "TRANSPORT", "STATE", "INPUT", "OUTPUT", "ADDRESS")
    for line in render_table(head, [tuple(row.values()) for row in rows], width=terminal_width()):
        write(line)
    return 0


def _state(name: str, *, is_disabled: bool, served: list[str] | None) -> str:
    if is_disabled:
        return "disabled"
    if served is None:
        return "no gateway running"
    return "served" if name in served else "not served"
