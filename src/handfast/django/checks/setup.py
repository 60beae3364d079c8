"""Whether handfast is set up so that an agent can reach it. Cheap: these run before every command."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from handfast.django.checks.catalogue import CheckId, Finding
from handfast.django.mounted import Mount, find_mounts, has_urls

_SETTINGS: Final = "settings.HANDFAST"
_URLS: Final = "settings.ROOT_URLCONF"


def setup_findings() -> list[Finding]:
    return [*_rest_framework(), *_settings(), *_mounting()]


def _rest_framework() -> Iterator[Finding]:
    if find_spec("rest_framework") is None:
        yield Finding(
            CheckId.REST_FRAMEWORK_MISSING,
            "Django REST framework cannot be imported, and its views are what becomes tools.",
            'Install it: pip install "handfast[django]".',
            "settings.INSTALLED_APPS",
        )
    elif not apps.is_installed("rest_framework"):
        yield Finding(
            CheckId.REST_FRAMEWORK_NOT_INSTALLED,
            "'rest_framework' is not among the installed apps, so its templates and translations are missing.",
            "Add 'rest_framework' to INSTALLED_APPS.",
            "settings.INSTALLED_APPS",
        )


def _settings() -> Iterator[Finding]:
    if not hasattr(settings, "HANDFAST"):
        return  # nothing is said, so nothing is wrong, and reading them need not be paid for
    from handfast.django.conf import read_settings

    try:
        read_settings()
    except ImproperlyConfigured as wrong:
        yield Finding(CheckId.SETTINGS_WRONG, str(wrong), "Mend it; until then there are no tools.", _SETTINGS)


def _mounting() -> Iterator[Finding]:
    if not has_urls():
        return
    mounts = find_mounts()
    if not mounts:
        yield Finding(
            CheckId.NOT_MOUNTED,
            "No url leads to the MCP endpoint, so no agent can reach it.",
            'Add path("mcp/", include("handfast.django.urls")) to urlpatterns.',
            _URLS,
        )
        return
    if any(mount.has_language for mount in mounts):
        yield Finding(
            CheckId.LANGUAGE_PREFIX,
            "The MCP endpoint is inside i18n_patterns(): its address depends on a language, and a client has only one.",
            "Put it outside of i18n_patterns().",
            _URLS,
        )
    yield from _stopped(mounts[0])


# --- middleware that is in the way -----------------------------------------------------------------------------------


def _stopped(mount: Mount) -> Iterator[Finding]:
    """Agents have no session and no form: what asks for one must let this view through."""
    if not getattr(mount.callback, "csrf_exempt", False):
        yield from _by("django.middleware.csrf.CsrfViewMiddleware", "refuses every call for want of a CSRF token")
    if getattr(mount.callback, "login_required", True):
        yield from _by(
            "django.contrib.auth.middleware.LoginRequiredMiddleware", "redirects every call to the login page"
        )


def _by(path: str, what: str) -> Iterator[Finding]:
    for name in settings.MIDDLEWARE:
        if path in _kinds(name):
            yield Finding(
                CheckId.STOPPED_BY_MIDDLEWARE,
                f"{name} {what}: a decorator around the MCP endpoint takes its exemption away.",
                'Include "handfast.django.urls" as it is, without a decorator.',
                _URLS,
            )


def _kinds(name: str) -> set[str]:
    """The classes that a middleware is of, by their names: some of Django's own need apps that need not be there."""
    try:
        found = import_string(name)
    except ImportError:  # Django tells that itself, as soon as it serves
        return set()
    return {f"{cls.__module__}.{cls.__qualname__}" for cls in getattr(found, "__mro__", ())}
