"""Flags that several commands share, and the settings that follow from them."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from handfast.cli.console import CommandFailed

if TYPE_CHECKING:
    from handfast.gateway.settings import Settings

MODES = ("off", "warn", "strict")


def add_config_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", metavar="FILE", help="settings file (default: HANDFAST_CONFIG, ./handfast.json, the user's own)"
    )


def add_state_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", metavar="DIR", help="state folder (default: HANDFAST_STATE, the platform's own)")


def utf8_text(text: str) -> str:
    """A name as it was typed; bytes that are no UTF-8 can be part of no message. For argparse's `type`."""
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
