"""`handfast servers`: the servers of the settings, how firmly each is held, and whether the gateway serves them."""

import argparse
import json

from handfast.cli.call import add_connection_flags
from handfast.cli.console import CommandFailed, render_table, write
from handfast.cli.options import read_settings, settings_path, write_problems


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("servers", help="list the servers of the settings")
    add_connection_flags(parser)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    try:
        return _servers(args)
    except CommandFailed as failure:
        return write_problems(failure)


def _servers(args: argparse.Namespace) -> int:
    from handfast.cli.event_loop import run_async
    from handfast.cli.gateway_session import running_gateway

    settings = read_settings(settings_path(args.config), {})
    base = args.url or run_async(running_gateway(args))
    rows = []
    for name, server in sorted(settings.servers.items()):
        policy = settings.policy(name, "")
        address = f"{base.rstrip('/')}/mcp/{name}" if base and not server.disabled else ""
        rows.append(
            {
                "server": name,
                "transport": server.transport.value,
                "state": "disabled" if server.disabled else "served" if base else "no gateway running",
                "input": policy.input.mode.value,
                "output": policy.output.mode.value,
                "address": address,
            }
        )
    if args.output == "json":
        write(json.dumps(rows, indent=2))
        return 0
    head = ("SERVER", "TRANSPORT", "STATE", "INPUT", "OUTPUT", "ADDRESS")
    for line in render_table(head, [tuple(row.values()) for row in rows]):
        write(line)
    return 0
