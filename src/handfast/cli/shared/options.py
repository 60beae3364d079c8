"""Flags that several commands share, and the settings that follow from them."""

import argparse
import os
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from handfast.cli.shared.console import CommandFailed

if TYPE_CHECKING:
    from handfast.gateway.settings import Settings

# npx may take a minute to install a server, and a call may take another: clients give up after that.
_TIMEOUT_S = 120.0
_LONGEST_S = 86_400.0
Result = TypeVar("Result")
MODES = ("off", "warn", "strict")


def add_config_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", metavar="FILE", help="settings file (default: HANDFAST_CONFIG, ./handfast.json, the user's own)"
    )


def add_state_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", metavar="DIR", help="state folder (default: HANDFAST_STATE, the platform's own)")


def add_timeout_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=_TIMEOUT_S,
        metavar="SECONDS",
        help=f"how long a peer is waited for, in all (default: {_TIMEOUT_S:g})",
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"it takes seconds, more than 0 and at most {_LONGEST_S:g}")
    return seconds


async def within(seconds: float, work: Coroutine[Any, Any, Result]) -> Result:  # Any: a coroutine's send types
    """The result of the work. Raises: CommandFailed where it takes longer."""
    import asyncio

    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        text = f"no answer within {seconds:g} s. Look at the server, or wait longer with --timeout."
        raise CommandFailed(text) from None


def utf8_text(text: str) -> str:
    """A name as typed, for argparse's `type`; bytes that are not UTF-8 could not be sent in a message."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("it is not UTF-8") from None
    return text


def settings_path(chosen: str | None) -> Path:
    from handfast.gateway.settings import find_settings_file

    return find_settings_file(chosen, environ=os.environ)


def read_settings(path: Path | None, flags: dict[str, object], *, needs_servers: bool = True) -> "Settings":
    """Raises: CommandFailed, with every problem in the settings."""
    from handfast.gateway.settings import SettingsError, load_settings

    try:
        return load_settings(path, environ=os.environ, flags=flags, needs_servers=needs_servers)
    except SettingsError as error:
        raise CommandFailed(str(error)) from None
