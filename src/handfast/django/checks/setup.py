"""Cheap checks, without views: whether an agent can reach the endpoint, and whether it is fit for a network."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from handfast.django.checks.catalogue import CheckFinding, CheckId
from handfast.django.mounted import Mount, find_mounts, has_urls

_SETTINGS: Final = "settings.HANDFAST"
_URLS: Final = "settings.ROOT_URLCONF"
_REDIRECT_SETTLED: Final = "security.W008"  # Django's own check for this; a project that silences it has TLS elsewhere


def setup_findings() -> list[CheckFinding]:
    return [*_rest_framework(), *_settings(), *_mounting()]


def _rest_framework() -> Iterator[CheckFinding]:
    if find_spec("rest_framework") is None:
        yield CheckFinding(
            CheckId.REST_FRAMEWORK_MISSING,
            "Django REST framework cannot be imported, and its views are what becomes tools.",
            "Install it: pip install djangorestframework.",
            "settings.INSTALLED_APPS",
        )
    elif not apps.is_installed("rest_framework"):
        yield CheckFinding(
            CheckId.REST_FRAMEWORK_NOT_INSTALLED,
            "'rest_framework' is not among the installed apps, so its templates and translations are missing.",
            "Add 'rest_framework' to INSTALLED_APPS.",
            "settings.INSTALLED_APPS",
        )


def _settings() -> Iterator[CheckFinding]:
    if not hasattr(settings, "HANDFAST"):
        return  # without settings nothing can be wrong, and the import is saved
    from handfast.django.conf import read_settings

    try:
        read_settings()
    except ImproperlyConfigured as wrong:
        yield CheckFinding(CheckId.SETTINGS_WRONG, str(wrong), "Correct it; until then there are no tools.", _SETTINGS)


def _mounting() -> Iterator[CheckFinding]:
    if not has_urls():
        return
    mounts = find_mounts()
    if not mounts:
        yield CheckFinding(
            CheckId.NOT_MOUNTED,
            "No url leads to the MCP endpoint, so no agent can reach it.",
            'Add path("mcp/", include("handfast.django.urls")) to urlpatterns.',
            _URLS,
        )
        return
    if any(mount.has_language for mount in mounts):
        yield CheckFinding(
            CheckId.LANGUAGE_PREFIX,
            "The MCP endpoint is inside i18n_patterns(): its address depends on a language, and a client has only one.",
            "Put it outside of i18n_patterns().",
            _URLS,
        )
    yield from _stopped(mounts[0])


# --- middleware that is in the way -----------------------------------------------------------------------------------


def _stopped(mount: Mount) -> Iterator[CheckFinding]:
    """Middleware that stops agents, which have neither a session nor a form, because the view lost its exemption."""
    if not getattr(mount.callback, "csrf_exempt", False):
        yield from _by("django.middleware.csrf.CsrfViewMiddleware", "refuses every call for want of a CSRF token")
    if getattr(mount.callback, "login_required", True):
        yield from _by(
            "django.contrib.auth.middleware.LoginRequiredMiddleware", "redirects every call to the login page"
        )


def _by(path: str, what: str) -> Iterator[CheckFinding]:
    for name in settings.MIDDLEWARE:
        if path in _kinds(name):
            yield CheckFinding(
                CheckId.STOPPED_BY_MIDDLEWARE,
                f"{name} {what}: a decorator around the MCP endpoint takes its exemption away.",
                'Include "handfast.django.urls" as it is, without a decorator.',
                _URLS,
            )


def _kinds(name: str) -> set[str]:
    """The names of a middleware's class and its bases: some of Django's own classes need apps that may be missing."""
    try:
        found = import_string(name)
    except ImportError:  # Django reports that itself as soon as it serves
        return set()
    return {f"{cls.__module__}.{cls.__qualname__}" for cls in getattr(found, "__mro__", ())}


def deployment_findings() -> list[CheckFinding]:
    if not find_mounts():
        return []
    return [*_plain_http(), *_debug(), *_any_host()]


def _plain_http() -> Iterator[CheckFinding]:
    is_settled = settings.SECURE_SSL_REDIRECT or _REDIRECT_SETTLED in settings.SILENCED_SYSTEM_CHECKS
    if not is_settled:
        yield CheckFinding(
            CheckId.PLAIN_HTTP,
            "Plain HTTP is answered, so the token of an agent may travel in the clear.",
            f"Set SECURE_SSL_REDIRECT = True, or silence {_REDIRECT_SETTLED} where a proxy does it; that is enough.",
            "settings.SECURE_SSL_REDIRECT",
        )


def _debug() -> Iterator[CheckFinding]:
    if settings.DEBUG:
        yield CheckFinding(
            CheckId.DEBUG_ON,
            "DEBUG is on: every query of a call is kept in memory, and error pages show settings and source.",
            "Set DEBUG = False where agents are served.",
            "settings.DEBUG",
        )


def _any_host() -> Iterator[CheckFinding]:
    if "*" in settings.ALLOWED_HOSTS:
        yield CheckFinding(
            CheckId.ANY_HOST,
            "Any Host is accepted, so a web page that rebinds its name can reach the MCP endpoint.",
            "Name the hosts in ALLOWED_HOSTS.",
            "settings.ALLOWED_HOSTS",
        )
