"""Checks that the commands and folders of the servers to be started exist on this machine."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from handfast.gateway.settings.problems import quoted, render_path
from handfast.gateway.settings.server import ServerSettings, Transport


def find_missing(servers: Mapping[str, ServerSettings], source: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Yields what is missing, as lines for people. A gateway starts nevertheless: it may be installed later."""
    for name, server in servers.items():
        if server.disabled or server.transport is not Transport.STDIO or server.command is None:
            continue
        if server.cwd is not None and not os.path.isdir(server.cwd):
            yield f"{source}: {render_path((name, 'cwd'))} names no folder that is here; make it, or correct the path"
        problem = _problem_of_command(server.command, server, source, environ)
        if problem:
            yield f"{source}: {render_path((name, 'command'))} {problem}"


def _problem_of_command(command: str, server: ServerSettings, source: Path, environ: Mapping[str, str]) -> str:
    path = server.env.get("PATH", environ.get("PATH"))
    if shutil.which(command, path=path):
        return ""
    first, *rest = command.split() or [""]
    if rest and shutil.which(first, path=path):
        return f'holds a whole command line; keep {quoted(first)} and put the rest into "args"'
    if os.path.isfile(command):
        return "may not be run; make it executable, or name the program that runs it"
    if not os.path.dirname(command) or os.path.isabs(command):
        line = f'; if it is a command line, keep {quoted(first)} and put the rest into "args"' if rest else ""
        return f"names no program that is here; install it, or write its whole path{line}"
    here, own = os.getcwd(), os.path.dirname(os.path.abspath(source))
    beside = f", not to that of this file, {own}" if own != here else ""
    return f"names no program that is here; it is relative to the current folder, {here}{beside}"
