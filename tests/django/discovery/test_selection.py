"""Which tools a project wants."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from handfast.django.discovery.problems import DiscoveryProblem, DiscoveryProblems, ProblemId
from handfast.django.discovery.selection import read_selection

TOOL = ("contacts__list", "/api/v1/contacts/{pk}/", "shop.views.ContactViewSet.list")


@pytest.mark.parametrize(
    ("include", "exclude", "is_admitted"),
    [
        ([], [], True),
        (["contacts__*"], [], True),
        (["dcim__*", "contacts__list"], [], True),
        (["dcim__*"], [], False),
        ([], ["contacts__list"], False),
        ([], ["/api/v1/*"], False),
        ([], ["shop.views.ContactViewSet.*"], False),
        (["contacts__*"], ["*__list"], False),
        ([], ["Contacts__*"], True),
    ],
)
def test_patterns_match_names_urls_and_views(include: list[str], exclude: list[str], is_admitted: bool) -> None:
    assert read_selection(include, exclude).admits(*TOOL) is is_admitted


def test_settings_and_arguments_both_hold() -> None:
    with override_settings(HANDFAST={"INCLUDE": ["contacts__*"], "EXCLUDE": ["*__destroy"]}):
        selection = read_selection(include=["*__list", "*__destroy"], exclude=["/api/v2/*"])
        assert selection.admits("contacts__list", "/api/v1/")
        assert not selection.admits("sites__list", "/api/v1/")
        assert not selection.admits("contacts__create", "/api/v1/")
        assert not selection.admits("contacts__destroy", "/api/v1/")
        assert not selection.admits("contacts__list", "/api/v2/")


def test_a_pattern_that_matches_nothing_is_a_problem() -> None:
    selection = read_selection(include=["contacts__*"], exclude=["contakts__destroy", "*__list"])
    findings = DiscoveryProblems()
    selection.admits(*TOOL)
    selection.note_unmatched(findings)
    assert list(findings) == [
        DiscoveryProblem(
            ProblemId.PATTERN_UNMATCHED,
            "No tool matches 'contakts__destroy'.",
            "Match a name (contacts__*), a url (/api/v1/*) or a view (shop.views.OrderViewSet.*).",
            "settings.HANDFAST",
        )
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["contacts__*"], "settings.HANDFAST must be a dict. Write HANDFAST = {'EXCLUDE': ['contacts__destroy']}."),
        ({"EXCLUDE": "contacts__*"}, "HANDFAST['EXCLUDE'] is not a list of patterns. Write ['contacts__*']."),
        ({"INCLUDE": [3]}, "HANDFAST['INCLUDE'] has something else than patterns in it. Write ['contacts__*']."),
    ],
)
def test_settings_that_are_no_patterns_are_refused(settings: object, message: str) -> None:
    with override_settings(HANDFAST=settings), pytest.raises(ImproperlyConfigured) as caught:
        read_selection()
    assert str(caught.value) == message
