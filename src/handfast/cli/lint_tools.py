"""Where `handfast lint` gets tool definitions: a file, a server of the settings, a server's command, a toolbox."""

import argparse
import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from handfast.cli.console import CommandFailed
from handfast.lint.tools.definitions import Definitions, read_definitions, read_registered
from handfast.regular_file import read_regular

if TYPE_CHECKING:
    from handfast.cli.gateway_session import GatewaySession

_logger = logging.getLogger("handfast.cli")


def read_file(path: Path) -> Definitions:
    """Raises: CommandFailed."""
    try:
        return read_definitions(read_regular(path), file=path.as_posix())
    except OSError as problem:
        raise CommandFailed(f"{path}: cannot be read: {problem.strerror}. Check the path.", 2) from None


def ask_server(args: argparse.Namespace, name: str) -> Definitions:
    """What a server of the settings lists, through the gateway. Raises: CommandFailed."""
    from handfast.cli.gateway_session import open_session

    return _ask(open_session(args, name), name, args.timeout)


def ask_command(command: list[str], seconds: float) -> Definitions:
    """What a server lists that is started for this command alone, without kept state. Raises: CommandFailed."""
    from handfast.cli.wrap import server_name

    name = server_name(command)
    return _ask(_session_with(command, name), name, seconds)


def _ask(opening: "contextlib.AbstractAsyncContextManager[GatewaySession]", name: str, seconds: float) -> Definitions:
    import msgspec

    from handfast.cli.options import within
    from handfast.cli.running import run_async
    from handfast.cli.tools import fetch_tools

    async def ask() -> list[dict[str, Any]]:  # Any: JSON
        async with opening as session:
            return await fetch_tools(session)

    return read_definitions(msgspec.json.encode(run_async(within(seconds, ask()))), origin=name)


@contextlib.asynccontextmanager
async def _session_with(command: list[str], name: str) -> AsyncIterator["GatewaySession"]:
    from handfast.cli.gateway_session import GatewaySession
    from handfast.cli.options import read_settings
    from handfast.cli.running import waiting_for
    from handfast.gateway.runtime import Runtime
    from handfast.gateway.serving import address_of, bind, gateway
    from handfast.gateway.settings import ServerSettings, Transport

    # The user starts this command, so it gets the user's own environment, as `wrap` would give it.
    server = ServerSettings(transport=Transport.STDIO, command=command[0], args=tuple(command[1:]), env=os.environ)
    settings = replace(read_settings(None, {"listen": "127.0.0.1:0"}, needs_servers=False), servers={name: server})
    listener = bind(settings)
    with TemporaryDirectory(prefix="handfast-lint-") as state:
        async with gateway(Runtime(settings, Path(state)), listener), waiting_for(name):
            session = GatewaySession(f"{address_of(listener)}/mcp/{name}")
            try:
                await session.open()
                yield session
            finally:
                await session.close()


def read_toolbox(named: str) -> Definitions:
    """The tools of a toolbox in this folder's code or an installed package, named module:attribute.

    Raises: CommandFailed.
    """
    module, colon, attribute = named.partition(":")
    if not colon or not module or not attribute:
        raise CommandFailed(f"'{named}' is not module:attribute, such as examples.contacts:tools", 2)
    toolbox = _find_attribute(_import(module), attribute, named)
    if not callable(getattr(toolbox, "list_registered", None)):
        raise CommandFailed(f"{named} has no list_registered(); name a toolbox or a registry of tools", 2)
    return read_registered(toolbox, origin=named)


def _import(module: str) -> object:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return import_module(module)
    except Exception as problem:  # the user's own code runs here: whatever it raises ends the command
        _logger.debug("importing %s failed", module, exc_info=True)
        said = str(problem).partition("\n")[0]
        raise CommandFailed(f"{module} cannot be imported: {type(problem).__name__}: {said}", 2) from None


def _find_attribute(holder: object, attribute: str, named: str) -> object:
    for name in attribute.split("."):
        try:
            holder = getattr(holder, name)
        except AttributeError:
            raise CommandFailed(f"{named}: there is no '{name}'; check the name after the colon", 2) from None
    return holder
