"""`handfast serve`: many servers behind one gateway."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from handfast.cli.shared.console import CommandFailed, has_colours, log_to_stderr, run_command
from handfast.cli.shared.options import add_config_flag, add_state_flag, read_settings, settings_path

if TYPE_CHECKING:  # at run time imported by the command, so that --help stays fast
    from handfast.gateway.settings import Settings


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "serve",
        help="run the gateway in front of many servers",
        description="Serve each server of the settings at /mcp/<server>, and all at /mcp, judging every tool call.",
    )
    add_config_flag(parser)
    parser.add_argument("--listen", metavar="HOST:PORT", help="where to listen (default: 127.0.0.1:8480)")
    add_state_flag(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    return run_command(lambda: _serve(args))


def _serve(args: argparse.Namespace) -> int:
    from handfast.activity.state_folder import state_folder
    from handfast.activity.store import StoreError
    from handfast.cli.shared.running import run_async
    from handfast.gateway.edge.tls import TlsUnusable
    from handfast.gateway.http.client import UrlUnusable
    from handfast.gateway.process.own_process import raise_open_files
    from handfast.gateway.runtime import Runtime
    from handfast.gateway.serving import AddressUnavailable, bind, serve
    from handfast.gateway.settings import load_settings

    log_to_stderr()
    path = settings_path(args.config)
    flags: dict[str, object] = {"listen": args.listen} if args.listen else {}
    settings = read_settings(path, flags)

    limits = settings.limits
    warning = raise_open_files(connections=limits.connections, calls=limits.concurrent_calls)
    if warning is not None:
        sys.stderr.write(f"handfast: {warning}\n")

    def load() -> "Settings":
        return load_settings(path, environ=os.environ, flags=flags)

    async def work() -> None:
        listener = bind(settings)
        runtime = Runtime(settings, state_folder(args.state), actor=os.environ.get("HANDFAST_ACTOR", ""))
        await serve(runtime, listener, path=path, load=load, on_ready=lambda url: _announce(url, settings))

    try:
        run_async(work())
    except (AddressUnavailable, StoreError, TlsUnusable, UrlUnusable) as problem:
        raise CommandFailed(str(problem)) from None
    return 0


def _about(settings: "Settings", name: str) -> str:
    """A server's transport and modes, and its surface and bridge where they are not the default."""
    from handfast.gateway.settings.blocks import Bridge, Surface

    server, policy = settings.servers[name], settings.policy(name, "")
    words = [server.transport.value, f"input {policy.input.mode}, output {policy.output.mode}"]
    if server.surface is Surface.COMPACT:
        words.append("compact")
    if server.bridge is Bridge.OFF:
        words.append("bridge off")
    return "; ".join(words)


def _announce(url: str, settings: "Settings") -> None:
    bold, plain = ("\x1b[1m", "\x1b[0m") if has_colours(sys.stderr) else ("", "")
    lines = [f"{bold}handfast{plain} is listening on {url}"]
    enabled = [name for name, server in sorted(settings.servers.items()) if not server.disabled]
    if enabled:
        lines.append(f"  {url}/mcp  (all servers; tools are named server__tool)")
    else:
        lines.append("  No server is enabled. Enable one in the settings file: that takes effect at once.")
    lines += [f"  {url}/mcp/{name}  ({_about(settings, name)})" for name in enabled]
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()
