"""`handfast tools [SERVER]`: what each server promises, asked afresh through the gateway."""

import argparse
from typing import TYPE_CHECKING, Any

from handfast.cli.call import add_connection_flags
from handfast.cli.shared.console import CommandFailed, print_error, render_table, run_command, terminal_width, write
from handfast.cli.shared.options import utf8_text, within
from handfast.core.words.printable import json_text

if TYPE_CHECKING:
    from handfast.cli.shared.gateway_session import GatewaySession


_MOST_TOOLS = 100_000  # ten times what the gateway offers of one server


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "tools",
        help="list tools and what they promise",
        description="List the tools of one server or of all, asked afresh: changed contracts are learnt on the way.",
    )
    parser.add_argument("server", nargs="?", type=utf8_text, help="one server (default: all of the settings)")
    add_connection_flags(parser)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="table (default) or json")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from handfast.cli.shared.running import run_async

    return run_command(lambda: run_async(within(args.timeout, _list(args))))


async def _list(args: argparse.Namespace) -> int:
    rows: list[dict[str, Any]] = []  # Any: JSON
    failed = 0
    for server in await _servers(args):
        try:
            rows += [_row(server, tool) for tool in await _tools(args, server)]
        except CommandFailed as failure:
            print_error(f"{server}: {failure}")
            failed += 1
    if args.output == "json":
        write(json_text(rows))
    elif rows or not failed:
        for line in render_table(
            ("SERVER", "TOOL", "INPUT", "OUTPUT", "DESCRIPTION"),
            [
                (r["server"], r["tool"], _mark(r["input_schema"]), _mark(r["output_schema"]), r["description"])
                for r in rows
            ],
            width=terminal_width(),
        ):
            write(line)
    return 1 if failed else 0


async def _servers(args: argparse.Namespace) -> list[str]:
    """The one that was named, else all behind the named gateway, else all of the settings."""
    if args.server:
        return [args.server]
    from handfast.cli.shared.gateway_session import named_gateway, served_names
    from handfast.cli.shared.options import read_settings, settings_path

    base = named_gateway(args)
    if base is not None:
        names = await served_names(base)
        if names is None:
            raise CommandFailed(f"no gateway answers at {base}; start one with `handfast serve`")
        return names
    settings = read_settings(settings_path(args.config), {})
    return [name for name, server in sorted(settings.servers.items()) if not server.disabled]


async def _tools(args: argparse.Namespace, server: str) -> list[dict[str, Any]]:  # Any: JSON
    from handfast.cli.shared.gateway_session import open_session

    async with open_session(args, server) as session:
        return await fetch_tools(session)


async def fetch_tools(session: "GatewaySession") -> list[dict[str, Any]]:  # Any: JSON
    """The tools on every page of a server's list. Raises: CommandFailed."""
    from handfast.cli.shared.gateway_session import reason_of

    found: list[dict[str, Any]] = []  # Any: JSON
    params: dict[str, Any] = {}  # Any: JSON
    seen: list[object] = []
    while True:
        answer = await session.ask("tools/list", params)
        if "error" in answer:
            raise CommandFailed(reason_of(answer, "the server would not list its tools"))
        page = answer["result"].get("tools", [])
        if not isinstance(page, list) or not all(isinstance(tool, dict) for tool in page):
            raise CommandFailed("the server's list of tools is not a list of objects; correct the server")
        found += page
        cursor = answer["result"].get("nextCursor")
        if cursor is None:
            return found
        if cursor in seen or len(found) > _MOST_TOOLS:
            raise CommandFailed("the server's list of tools does not end; it is to send each page once")
        seen.append(cursor)
        params = {"cursor": cursor}


def _row(server: str, tool: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
    return {
        "server": server,
        "tool": tool.get("name", ""),
        "input_schema": tool.get("inputSchema"),
        "output_schema": tool.get("outputSchema"),
        "annotations": tool.get("annotations"),
        "description": " ".join(str(tool.get("description", "")).split()),
    }


def _mark(schema: object) -> str:
    return "-" if schema is None else "schema"
