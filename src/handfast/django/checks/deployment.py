"""Whether the project is fit to serve agents over a network: for `manage.py check --deploy`."""

from collections.abc import Iterator
from typing import Final

from django.conf import settings

from handfast.django.checks.catalogue import CheckId, Finding
from handfast.django.mounted import find_mounts

_REDIRECT_SETTLED: Final = "security.W008"  # Django's own word on the same; who silences it has TLS elsewhere


def deployment_findings() -> list[Finding]:
    if not find_mounts():
        return []
    return [*_plain_http(), *_debug(), *_any_host()]


def _plain_http() -> Iterator[Finding]:
    is_settled = settings.SECURE_SSL_REDIRECT or _REDIRECT_SETTLED in settings.SILENCED_SYSTEM_CHECKS
    if not is_settled:
        yield Finding(
            CheckId.PLAIN_HTTP,
            "Plain HTTP is answered, so the token of an agent may travel in the clear.",
            f"Set SECURE_SSL_REDIRECT = True, or silence {_REDIRECT_SETTLED} where a proxy does it; that is enough.",
            "settings.SECURE_SSL_REDIRECT",
        )


def _debug() -> Iterator[Finding]:
    if settings.DEBUG:
        yield Finding(
            CheckId.DEBUG_ON,
            "DEBUG is on: every query of a call is kept in memory, and error pages show settings and source.",
            "Set DEBUG = False where agents are served.",
            "settings.DEBUG",
        )


def _any_host() -> Iterator[Finding]:
    if "*" in settings.ALLOWED_HOSTS:
        yield Finding(
            CheckId.ANY_HOST,
            "Any Host is accepted, so a web page that rebinds its name can reach the MCP endpoint.",
            "Name the hosts in ALLOWED_HOSTS.",
            "settings.ALLOWED_HOSTS",
        )
