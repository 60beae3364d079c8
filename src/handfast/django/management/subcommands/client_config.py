"""`manage.py handfast client-config`: the snippet that connects a client to this project."""

import argparse
import getpass
import json
import sys
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from handfast.django.client_config import CLIENTS, AddressUnknown, Site, address, note, snippet


def add_parser(commands: "argparse._SubParsersAction[Any]") -> None:  # Any: a parser
    parser = commands.add_parser(
        "client-config",
        help="print the snippet that connects a client",
        description="Print the JSON that connects a client to this project, ready to paste. Where it belongs is said on"
        " stderr.",
    )
    parser.add_argument("--client", choices=CLIENTS, default="generic", help="whose file it is for (default: generic)")
    parser.add_argument("--url", help="the site's address, or the endpoint's own (default: from ALLOWED_HOSTS)")
    parser.add_argument(
        "--token", action="store_true", help="ask for the agent's token, or read it from stdin, and put it in"
    )
    parser.set_defaults(run=run)


def run(command: BaseCommand, options: dict[str, Any]) -> None:  # Any: what argparse read
    """Raises: CommandError."""
    from handfast.django.conf import read_settings

    try:
        name = read_settings().name
        url = _address(options["url"])
    except (ImproperlyConfigured, AddressUnknown) as problem:
        raise CommandError(str(problem)) from None
    token = _read_token() if options["token"] else None
    written = snippet(options["client"], name, url, token)
    command.stdout.write(json.dumps(written, indent=2, ensure_ascii=False))
    command.stderr.write(note(options["client"]), lambda text: text)


def _address(url: str | None) -> str:
    from handfast.django.mounted import find_mounts

    is_whole = url is not None and bool(urlsplit(url).path.strip("/"))
    mounts = [] if is_whole else find_mounts()
    paths = [mount.address for mount in mounts if mount.address is not None]
    if mounts and not paths:
        raise AddressUnknown("The endpoint's address has parameters in it. Say it whole: --url https://example.com/…")
    if not paths and not is_whole:
        raise AddressUnknown(
            'No url leads to the MCP endpoint. Add path("mcp/", include("handfast.django.urls")) to urlpatterns.'
        )
    site = Site(settings.ALLOWED_HOSTS, is_debug=settings.DEBUG, is_tls=settings.SECURE_SSL_REDIRECT)
    return address(paths[0] if paths else "/", site, url)


def _read_token() -> str:
    typed = getpass.getpass("Token: ", sys.stderr) if sys.stdin.isatty() else sys.stdin.readline()
    token = typed.strip()
    if not token or not token.isascii() or not token.isprintable():
        raise CommandError("That is not a token. Paste the one that was shown when it was made.")
    return token
