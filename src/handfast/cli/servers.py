"""`handfast servers`: the servers of the settings, the modes of each, and its state behind the gateway."""

import argparse
import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from handfast.cli.call import add_connection_flags
from handfast.cli.shared.console import (
    Cell,
    CommandFailed,
    cut,
    display_width,
    render_table,
    run_command,
    terminal_width,
    write,
)
from handfast.cli.shared.options import read_settings, settings_path, within

if TYPE_CHECKING:  # at run time imported by what reads them, so that --help stays fast
    from handfast.gateway.settings import Settings

_SHOWN = {
    "server": "SERVER",
    "transport": "TRANSPORT",
    "state": "STATE",
    "era": "ERA",
    "input": "INPUT",
    "output": "OUTPUT",
    "calls": "CALLS",
    "waiting": "WAITING",
    "p50_ms": "P50 MS",
    "last_error": "LAST ERROR",
    "address": "ADDRESS",
}
_STATE_COLUMN = list(_SHOWN).index("state")
_COLOURS = {"up": "green", "failing": "yellow", "open": "red"}
_NARROWEST_ERROR = 16
_UNASKED = {
    "era": "unknown",
    "calls": 0,
    "in_progress": 0,
    "waiting": 0,
    "p50_ms": None,
    "p95_ms": None,
    "starts": 0,
    "exits": 0,
    "failures": 0,
    "last_error": "",
    "last_error_at": "",
}


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "servers",
        help="list the servers of the settings and how each one is",
        description="List the servers of the settings, how firmly each is held, and how the gateway finds each.",
    )
    add_connection_flags(parser)
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="table (default) or json")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    return run_command(lambda: _servers(args))


def _servers(args: argparse.Namespace) -> int:
    from handfast.cli.shared.gateway_session import gateway_address, named_gateway, read_health
    from handfast.cli.shared.running import run_async

    named = named_gateway(args)
    base = named or gateway_address(args)
    health = run_async(within(args.timeout, read_health(base)))
    is_file_named = bool(args.config or os.environ.get("HANDFAST_CONFIG"))
    is_all_we_know = named is not None and not is_file_named and not settings_path(None).exists()
    if is_all_we_know and health is None:
        raise CommandFailed(f"no gateway answers at {base}. Check the address, or start `handfast serve` there.")
    settings = None if is_all_we_know else read_settings(settings_path(args.config), {})
    names = (health or {}) if settings is None else settings.servers
    rows = [
        {
            "server": name,
            **_held(settings, name),
            **{key: seen.get(key, default) for key, default in _UNASKED.items()},
            "state": _state(seen, settings, name, has_gateway=health is not None),
            "address": f"{base}/mcp/{name}" if seen else "",
        }
        for name, seen in ((name, _seen(health, name)) for name in sorted(names))
    ]
    if args.output == "json":
        write(json.dumps(rows, indent=2))
        return 0
    _print_table(rows, terminal_width())
    if any(row["address"] for row in rows):
        write(f"All of them: {base}/mcp")
    return 0


def _held(settings: "Settings | None", name: str) -> dict[str, str]:
    """A server's transport and modes, which only the settings have."""
    if settings is None:
        return dict.fromkeys(("transport", "input", "output"), "unknown")
    policy = settings.policy(name, "")
    transport = settings.servers[name].transport.value
    return {"transport": transport, "input": policy.input.mode.value, "output": policy.output.mode.value}


def _seen(health: dict[str, Any] | None, name: str) -> dict[str, Any]:  # Any: JSON
    """The gateway's report on a server; empty for one that it does not serve."""
    seen: dict[str, Any] = (health or {}).get(name, {})  # Any: JSON
    return {} if seen.get("state") == "disabled" else seen


def _state(seen: dict[str, Any], settings: "Settings | None", name: str, *, has_gateway: bool) -> str:  # Any: JSON
    if settings is None:
        return str(seen.get("state", "disabled"))
    if settings.servers[name].disabled:
        return "disabled"
    if not has_gateway:
        return "no gateway running"
    return str(seen.get("state", "not served"))


def _print_table(rows: list[dict[str, Any]], width: int | None) -> None:  # Any: JSON
    # Most of the time no call waits, and the room is worth more to the address.
    shown = {key: head for key, head in _SHOWN.items() if key != "waiting" or any(row[key] for row in rows)}
    head = tuple(shown.values())
    cells = [_cells(row, shown) for row in rows]
    if width is not None:
        # The error is cut first: all of it is in the JSON, and a cut address is of no use.
        too_wide = max(map(display_width, render_table(head, cells)[1:]), default=0) - width
        longest = max((display_width(str(row["last_error"])) for row in rows), default=0)
        room = max(longest - max(too_wide, 0), _NARROWEST_ERROR)
        cells = [_cells({**row, "last_error": cut(str(row["last_error"]), room)}, shown) for row in rows]
    for line in render_table(head, cells, width=width, colours={_STATE_COLUMN: _COLOURS}):
        write(line)


def _cells(row: dict[str, Any], shown: Iterable[str]) -> tuple[Cell, ...]:  # Any: JSON
    return tuple(row[key] for key in shown)
