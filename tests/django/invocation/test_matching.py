"""What a view finds in `request.resolver_match`."""

from django.test import override_settings
from django.urls import resolve

from handfast.django.discovery import survey
from handfast.django.invocation.matching import UrlMatch
from tests.django.invocation.calling import tools


def test_the_match_is_what_django_would_find() -> None:
    calls: dict[str, dict[str, object]] = {
        "spaced__it__list": {},
        "crates__retrieve": {"id": 5},
        "depots__seen__list": {"depot_pk": 3, "which": "a"},
    }
    for name, arguments in calls.items():
        tool = tools()[name]
        target = tool.path.target(arguments)
        match = UrlMatch(tool)
        for _ in range(2):
            assert repr(match.of(target.path, target)) == repr(resolve(target.path))


def test_a_path_that_another_pattern_takes_still_has_the_tools_own_names() -> None:
    tool = tools()["spaced__it__list"]
    match = UrlMatch(tool)
    found = match.of("/api/depots/", tool.path.target({}))
    assert (found.view_name, found.func, found.route) == ("v2:it", tool.callback, tool.route)
    found = match.of("/api/spaced/it/", tool.path.target({}))
    assert (found.app_names, found.route) == (["spaced"], "api/spaced/it/")


def test_urls_that_are_not_the_projects_own_have_a_match_too() -> None:
    with override_settings(ROOT_URLCONF="tests.django.project.urls"):
        tool = {tool.name: tool for tool in survey("tests.django.depot.urls").tools}["accept-version__list"]
        found = UrlMatch(tool).of("/api/accept-version/", tool.path.target({}))
    assert (found.url_name, found.namespaces, found.kwargs) == (None, [], {})
