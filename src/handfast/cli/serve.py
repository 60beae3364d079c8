"""`handfast serve`: many servers behind one gateway."""

import argparse
import logging
import os
import sys

from handfast.cli.console import CommandFailed, has_colours, run_command
from handfast.cli.options import add_config_flag, add_state_flag, read_settings, settings_path


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "serve",
        help="run the gateway in front of many servers",
        description="Serve every server of the settings at /mcp/<server>, judging every tool call.",
    )
    add_config_flag(parser)
    parser.add_argument("--listen", metavar="HOST:PORT", help="where to listen (default: 127.0.0.1:8480)")
    add_state_flag(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    return run_command(lambda: _serve(args))


def _serve(args: argparse.Namespace) -> int:
    from handfast.activity.store import StoreError
    from handfast.cli.event_loop import run_async
    from handfast.cli.state import state_folder
    from handfast.gateway.http_client import UrlUnusable
    from handfast.gateway.open_files import raise_open_files
    from handfast.gateway.runtime import Runtime
    from handfast.gateway.serving import AddressUnavailable, bind, serve
    from handfast.gateway.settings import Settings, load_settings

    logging.basicConfig(format="handfast: %(message)s", level=logging.WARNING)
    path = settings_path(args.config)
    flags: dict[str, object] = {"listen": args.listen} if args.listen else {}
    settings = read_settings(path, flags)

    warning = raise_open_files(settings.limits.concurrent_calls)
    if warning is not None:
        sys.stderr.write(f"handfast: {warning}\n")

    def load() -> Settings:
        return load_settings(path, environ=os.environ, flags=flags)

    async def work() -> None:
        listener = bind(settings)
        runtime = Runtime(settings, state_folder(args.state), actor=os.environ.get("HANDFAST_ACTOR", ""))
        await serve(runtime, listener, path=path, load=load, on_ready=lambda url: _announce(url, settings))

    try:
        run_async(work())
    except (AddressUnavailable, StoreError, UrlUnusable) as problem:
        raise CommandFailed(str(problem)) from None
    return 0


def _announce(url: str, settings: object) -> None:
    from handfast.gateway.settings import Settings

    assert isinstance(settings, Settings)
    bold, plain = ("\x1b[1m", "\x1b[0m") if has_colours(sys.stderr) else ("", "")
    lines = [f"{bold}handfast{plain} is listening on {url}"]
    for name, server in sorted(settings.servers.items()):
        if not server.disabled:
            policy = settings.policy(name, "")
            modes = f"input {policy.input.mode}, output {policy.output.mode}"
            lines.append(f"  {url}/mcp/{name}  ({server.transport}; {modes})")
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()
