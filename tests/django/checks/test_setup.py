"""Whether an agent can reach handfast at all."""

from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.test import override_settings
from django.urls import path

from handfast.django.checks.catalogue import CheckFinding, CheckId
from handfast.django.checks.setup import deployment_findings, setup_findings
from tests.django.other_urls import endpoint, ours, project


def guarded(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


class OwnCsrf(CsrfViewMiddleware):
    """A project's own."""


class OwnLogin(LoginRequiredMiddleware):
    """A project's own."""


def test_a_project_that_is_set_up_well_is_not_mentioned() -> None:
    stock = ["django.middleware.csrf.CsrfViewMiddleware", "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    with project(ours(), MIDDLEWARE=stock, HANDFAST={"NAME": "shop"}):
        assert setup_findings() == []


def test_an_endpoint_that_is_nowhere_is_told() -> None:
    with project(path("", endpoint)):
        assert setup_findings() == [
            CheckFinding(
                CheckId.NOT_MOUNTED,
                "No url leads to the MCP endpoint, so no agent can reach it.",
                'Add path("mcp/", include("handfast.django.urls")) to urlpatterns.',
                "settings.ROOT_URLCONF",
            )
        ]


def test_a_project_without_urls_is_not_one_to_be_reached() -> None:
    with override_settings(ROOT_URLCONF=None):
        assert setup_findings() == []


def test_an_endpoint_with_a_language_in_its_address_is_told() -> None:
    with project(*i18n_patterns(ours()), USE_I18N=True):
        assert [(one.id, one.hint) for one in setup_findings()] == [
            (CheckId.LANGUAGE_PREFIX, "Put it outside of i18n_patterns().")
        ]


@pytest.mark.parametrize(
    ("middleware", "what"),
    [
        ("django.middleware.csrf.CsrfViewMiddleware", "refuses every call for want of a CSRF token"),
        (f"{__name__}.OwnCsrf", "refuses every call for want of a CSRF token"),
        ("django.contrib.auth.middleware.LoginRequiredMiddleware", "redirects every call to the login page"),
        (f"{__name__}.OwnLogin", "redirects every call to the login page"),
    ],
)
def test_a_middleware_that_stops_every_call_is_told(middleware: str, what: str) -> None:
    with project(ours(guarded), MIDDLEWARE=["django.middleware.common.CommonMiddleware", middleware]):
        assert setup_findings() == [
            CheckFinding(
                CheckId.STOPPED_BY_MIDDLEWARE,
                f"{middleware} {what}: a decorator around the MCP endpoint takes its exemption away.",
                'Include "handfast.django.urls" as it is, without a decorator.',
                "settings.ROOT_URLCONF",
            )
        ]
    with project(ours(), MIDDLEWARE=[middleware]):
        assert setup_findings() == []


def test_a_middleware_that_is_not_there_is_djangos_business() -> None:
    with project(ours(guarded), MIDDLEWARE=["shop.middleware.Gone"]):
        assert setup_findings() == []


@pytest.mark.parametrize("wrong", [{"NAMES": "shop"}, {"EXCLUDE": "contacts__*"}, ["NAME"]])
def test_wrong_settings_are_a_finding_and_no_traceback(wrong: Any) -> None:
    with project(ours(), HANDFAST=wrong):
        (found,) = setup_findings()
    assert (found.id, found.level, found.where) == (CheckId.SETTINGS_WRONG, "error", "settings.HANDFAST")
    assert "HANDFAST" in found.message


def test_rest_framework_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with project(ours(), INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth"]):
        assert [one.id for one in setup_findings()] == [CheckId.REST_FRAMEWORK_NOT_INSTALLED]


def test_rest_framework_that_cannot_be_imported_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handfast.django.checks.setup.find_spec", lambda name: None)
    with project(ours()):
        assert [(one.id, one.level) for one in setup_findings()] == [(CheckId.REST_FRAMEWORK_MISSING, "error")]


FIT: dict[str, Any] = {"SECURE_SSL_REDIRECT": True, "DEBUG": False, "ALLOWED_HOSTS": ["shop.example"]}


def ids(**settings: Any) -> list[str]:
    with project(ours(), **(FIT | settings)):
        return [str(one.id) for one in deployment_findings()]


def test_a_project_that_is_fit_is_not_mentioned() -> None:
    assert ids() == []


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"SECURE_SSL_REDIRECT": False}, CheckId.PLAIN_HTTP),
        ({"DEBUG": True}, CheckId.DEBUG_ON),
        ({"ALLOWED_HOSTS": ["shop.example", "*"]}, CheckId.ANY_HOST),
    ],
)
def test_what_exposes_a_token_or_the_endpoint_is_told(settings: dict[str, Any], found: CheckId) -> None:
    assert ids(**settings) == [found]


def test_a_proxy_that_redirects_is_settled_by_silencing_djangos_own_word_on_it() -> None:
    assert ids(SECURE_SSL_REDIRECT=False, SILENCED_SYSTEM_CHECKS=["security.W008"]) == []


def test_a_project_without_the_endpoint_has_nothing_to_guard() -> None:
    with project(DEBUG=True, ALLOWED_HOSTS=["*"]):
        assert deployment_findings() == []
    with override_settings(ROOT_URLCONF=None):
        assert deployment_findings() == []
