"""`handfast wrap -- CMD…`: a drop-in for any server in any client's config."""

import argparse
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from handfast.cli.shared.console import CommandFailed, log_to_stderr, print_error, run_command
from handfast.cli.shared.options import MODES, add_config_flag, add_state_flag, read_settings, settings_path

if TYPE_CHECKING:
    from handfast.gateway.relay.wrap import Misfit
    from handfast.gateway.runtime import Runtime

NOT_STARTED = 127  # what a shell says of a command that it cannot find
_RUNNERS = frozenset(
    ("npx", "uvx", "bunx", "pnpm", "dlx", "python", "python3", "node", "deno", "run", "uv", "exec", "pipx")
)


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "wrap",
        help="hold one server to its contract",
        usage="handfast wrap [--name NAME] [--input MODE] [--output MODE] [--config FILE] [--state DIR] "
        "(-- CMD... | --url URL)",
        description="Start CMD, or go to URL, and relay between it and this process's own stdin and stdout, judging"
        " every tool call.",
    )
    parser.add_argument("--name", help="the server's name in records and settings (default: made from CMD or URL)")
    parser.add_argument("--url", help="a server over HTTP, for a client that can only start commands")
    parser.add_argument("--input", choices=MODES, help="how firmly arguments are held to the input schema")
    parser.add_argument("--output", choices=MODES, help="how firmly results are held to the output schema")
    add_config_flag(parser)
    add_state_flag(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD...", help="the server's own command line")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    return run_command(lambda: _wrap(args, command))


def _wrap(args: argparse.Namespace, command: list[str]) -> int:
    from handfast.activity.state_folder import state_folder
    from handfast.activity.store import StoreError
    from handfast.cli.shared.running import run_async
    from handfast.gateway.process.child import ChildStartFailed
    from handfast.gateway.reload import watching
    from handfast.gateway.runtime import Runtime
    from handfast.gateway.settings import Settings, load_settings

    if bool(command) == bool(args.url):
        example = "handfast wrap -- npx -y SOME-SERVER, or: handfast wrap --url https://SOME-SERVER/mcp"
        raise CommandFailed(f"wrap needs a command after --, or a --url, and not both, such as: {example}", 2)
    log_to_stderr()
    path, flags = _sources(args)
    settings = read_settings(path, flags, needs_servers=False)
    name = args.name or server_name(command or [_name_in(args.url)])
    environ = dict(os.environ)  # settings may need what the server does not get
    os.environ.pop("HANDFAST_TOKEN", None)

    def load() -> Settings:
        return load_settings(path, environ=environ, flags=flags, needs_servers=False)

    async def relay() -> int:
        runtime = Runtime(settings, state_folder(args.state), actor=os.environ.get("HANDFAST_ACTOR", ""))
        try:
            with watching(runtime, path, load):
                return await (_relay_to_url(runtime, name, args.url) if args.url else _relay(runtime, name, command))
        finally:
            await runtime.close()

    try:
        return run_async(relay())
    except ChildStartFailed as problem:
        print_error(str(problem))
        return NOT_STARTED
    except StoreError as problem:
        raise CommandFailed(str(problem)) from None


async def _relay(runtime: "Runtime", name: str, command: list[str]) -> int:
    """Raises: ChildStartFailed."""
    from handfast.gateway.relay.wrap import Wrapper
    from handfast.gateway.settings.blocks import Bridge, Surface

    server = runtime.settings.servers.get(name)
    if server is not None and server.surface is not Surface.FULL:
        await _bridge(runtime, name, command, None)
        return 0
    wrapper = Wrapper(
        runtime.server_side(name, command),
        message_limit=runtime.settings.limits.message_bytes,
        limits=lambda: runtime.settings.limits,
        may_misfit=server is None or server.bridge is not Bridge.OFF,
    )
    outcome = await wrapper.run(command)
    if isinstance(outcome, int):
        return outcome
    await _bridge(runtime, name, command, outcome)
    return 0


async def _bridge(runtime: "Runtime", name: str, command: list[str], misfit: "Misfit | None") -> None:
    # Imported only here: most wrapped servers never need these, and they would start more slowly.
    from handfast.gateway.build import build_stdio_server
    from handfast.gateway.process.launch import Launch
    from handfast.gateway.wrap_bridge import serve_on_stdio

    server = build_stdio_server(runtime, name, Launch(command, os.environ), has_one_caller=True)
    await serve_on_stdio(runtime, name, server, misfit=misfit)


async def _relay_to_url(runtime: "Runtime", name: str, url: str) -> int:
    from handfast.gateway.build import build_url_server
    from handfast.gateway.http.client import UrlUnusable
    from handfast.gateway.settings import ServerSettings, Transport
    from handfast.gateway.wrap_bridge import serve_on_stdio

    configured = runtime.settings.servers.get(name)
    headers = configured.headers if configured is not None else {}
    is_sse = configured is not None and configured.transport is Transport.SSE
    try:
        settings = ServerSettings(transport=Transport.SSE if is_sse else Transport.HTTP, url=url, headers=headers)
        server = build_url_server(runtime, name, settings, has_one_caller=True)
    except UrlUnusable as problem:
        raise CommandFailed(str(problem), 2) from None
    await serve_on_stdio(runtime, name, server)
    return 0


def _name_in(url: str) -> str:
    """A server's name from its URL: the host without `www.` and `mcp.`, as the rest may hold a secret."""
    from urllib.parse import urlsplit

    return (urlsplit(url).hostname or "server").removeprefix("www.").removeprefix("mcp.")


def _sources(args: argparse.Namespace) -> tuple[Path | None, dict[str, object]]:
    """The settings file, if there is one, and the settings by flag, which override it."""
    flags: dict[str, object] = {}
    if args.input:
        flags["input_validation.mode"] = args.input
    if args.output:
        flags["output_validation.mode"] = args.output
    path = settings_path(args.config)
    # A wrapped server needs no settings file; one that was named must be there.
    is_named = args.config or os.environ.get("HANDFAST_CONFIG")
    return (path if is_named or path.exists() else None), flags


def server_name(command: list[str]) -> str:
    """A short name for a command: `npx -y @scope/server-memory@1.2` is memory."""
    words = [word for word in command if not word.startswith("-")]
    while len(words) > 1 and os.path.basename(words[0]).removesuffix(".exe") in _RUNNERS:
        words.pop(0)
    last = re.split(r"[/\\]", words[0] if words else command[0])[-1]
    last = re.sub(r"(?<=.)@.*$|\.(py|js|mjs|cjs|ts|exe)$", "", last)
    short = re.sub(r"^(mcp[-_])?server[-_]|[-_](mcp[-_])?server$|^mcp[-_]", "", last)
    return re.sub(r"[^A-Za-z0-9.-]+|__+", "-", short)[:64].strip("-") or "server"
