"""Where `handfast lint` gets tool definitions: a file, a server of the settings, a server's command, a toolbox."""

import argparse
import contextlib
import logging
import os
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import walk_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any

from handfast.cli.shared.console import CommandFailed
from handfast.lint.findings import Finding, make_finding
from handfast.lint.tools.definitions import Definitions, read_definitions, read_registered
from handfast.regular_file import read_regular

if TYPE_CHECKING:
    from handfast.cli.shared.gateway_session import GatewaySession

_UNCOMPILABLE = "tool-schema-uncompilable"
_logger = logging.getLogger("handfast.cli")


def read_file(path: Path) -> Definitions:
    """Raises: CommandFailed."""
    try:
        return read_definitions(read_regular(path), file=path.as_posix())
    except OSError as problem:
        raise CommandFailed(f"{path}: cannot be read: {problem.strerror}. Check the path.", 2) from None


def ask_server(args: argparse.Namespace, name: str) -> Definitions:
    """What a server of the settings lists, through the gateway. Raises: CommandFailed."""
    from handfast.cli.shared.gateway_session import open_session

    return _ask(open_session(args, name), name, args.timeout)


def ask_command(command: list[str], seconds: float) -> Definitions:
    """What a server lists that is started for this command alone, without kept state. Raises: CommandFailed."""
    from handfast.cli.wrap import server_name

    name = server_name(command)
    return _ask(_session_with(command, name), name, seconds)


def _ask(opening: "contextlib.AbstractAsyncContextManager[GatewaySession]", name: str, seconds: float) -> Definitions:
    import msgspec

    from handfast.cli.shared.options import within
    from handfast.cli.shared.running import run_async
    from handfast.cli.tools import fetch_tools

    async def ask() -> list[dict[str, Any]]:  # Any: JSON
        async with opening as session:
            return await fetch_tools(session)

    return read_definitions(msgspec.json.encode(run_async(within(seconds, ask()))), origin=name)


@contextlib.asynccontextmanager
async def _session_with(command: list[str], name: str) -> AsyncIterator["GatewaySession"]:
    from handfast.cli.shared.gateway_session import GatewaySession
    from handfast.cli.shared.options import read_settings
    from handfast.cli.shared.running import waiting_for
    from handfast.gateway.runtime import Runtime
    from handfast.gateway.serving import address_of, bind, gateway
    from handfast.gateway.settings import ServerSettings, Transport

    # The user starts this command, so it gets the user's own environment, as `wrap` would give it.
    server = ServerSettings(transport=Transport.STDIO, command=command[0], args=tuple(command[1:]), env=os.environ)
    flags: dict[str, object] = {"listen": "127.0.0.1:0", "start": "lazy"}  # one client, and it asks at once
    settings = replace(read_settings(None, flags, needs_servers=False), servers={name: server})
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
        raise CommandFailed(f"'{named}' is not module:attribute, such as contacts:tools", 2)
    imported = _import(module, named)
    if isinstance(imported, Finding):
        return Definitions((), (imported,))
    toolbox = _find_attribute(imported, attribute, named)
    if not callable(getattr(toolbox, "list_registered", None)):
        raise CommandFailed(f"{named} has no list_registered(); name a toolbox or a registry of tools", 2)
    return read_registered(toolbox, origin=named)


def _import(module: str, named: str) -> ModuleType | Finding:
    """The module, or a finding where it declares a schema that cannot be compiled. Raises: CommandFailed."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return import_module(module)
    except SystemExit:
        raise CommandFailed(
            f"{module} ends the process while it is imported, so nothing can be judged; "
            'guard what starts the server, such as tools.run(), with `if __name__ == "__main__":`'
        ) from None
    except Exception as problem:  # the user's own code runs here: whatever it raises ends the command
        _logger.debug("importing %s failed", module, exc_info=True)
        if found := _refused_schema(problem, named):
            return found
        said = str(problem).partition("\n")[0]
        raise CommandFailed(f"{module} cannot be imported: {type(problem).__name__}: {said}", 2) from None


def _refused_schema(problem: Exception, named: str) -> Finding | None:
    """A finding for what the toolkit or Pydantic raises where code declares a schema that cannot be compiled."""
    if type(problem).__name__ not in ("SchemaError", "UnusableSchema"):
        return None  # only the user's code loads these libraries
    from pydantic_core import SchemaError

    from handfast.toolkit.writing.schemas import UnusableSchema

    if isinstance(problem, SchemaError):
        # Some lines about the layers of validators, with the field, then what is wrong: `error: unclosed group`.
        field = re.search(r'Field "(\w+)"', str(problem))
        reason = str(problem).splitlines()[-1].strip().removeprefix("error: ")
        message = f"{f'The field {field[1]!r}' if field else 'A type'} has a schema that cannot be compiled: {reason}."
    elif isinstance(problem, UnusableSchema):
        message = str(problem).rpartition(" Correct the ")[0]
    else:
        return None
    file, line = _declared_at(problem)
    return make_finding(_UNCOMPILABLE, message, file=file, line=line, origin=named)


def _declared_at(problem: Exception) -> tuple[str, int]:
    """The last line of this folder's code that was running; no file where the module is from elsewhere."""
    for frame, line in reversed(list(walk_tb(problem.__traceback__))):
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(Path.cwd()) and "site-packages" not in path.parts:
            return path.relative_to(Path.cwd()).as_posix(), line
    return "", 0


def _find_attribute(holder: object, attribute: str, named: str) -> object:
    for name in attribute.split("."):
        try:
            holder = getattr(holder, name)
        except AttributeError:
            raise CommandFailed(f"{named}: there is no '{name}'; check the name after the colon", 2) from None
    return holder
