"""Whether a project is fit to serve agents over a network."""

from typing import Any

import pytest
from django.test import override_settings

from handfast.django.checks.catalogue import CheckId
from handfast.django.checks.deployment import deployment_findings
from tests.django.other_urls import ours, project

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
