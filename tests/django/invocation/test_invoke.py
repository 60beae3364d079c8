"""One call of a tool, through the view that its url leads to."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handfast.core.answers.errors import ToolError
from tests.django.depot.models import Crate, Depot, Entry, Tag
from tests.django.invocation.calling import attempted, call, outer, refusal, told


@pytest.fixture
def north() -> Depot:
    return Depot.objects.create(name="North", slug="north")


@pytest.mark.requirement("000-20")
def test_a_flat_call_stores_what_it_says_and_answers_with_the_row(north: Depot) -> None:
    tag = Tag.objects.create(name="fragile")
    sent = {"code": "c1", "depot": north.pk, "tags": [tag.pk], "weight": "2.50", "arrived": "2026-03-01T10:00:00Z"}
    made = call("crates__create", sent)
    crate = Crate.objects.get()
    assert made == {"id": crate.pk, "shelf": None, "is_sealed": True, "photo": None, **sent}
    assert (crate.code, crate.depot, str(crate.weight), crate.tags.get()) == ("c1", north, "2.50", tag)


def test_rows_are_read_changed_and_removed_by_their_ids(north: Depot) -> None:
    crate = Crate.objects.create(code="c1", depot=north, arrived=timezone.now())
    assert call("crates__retrieve", {"id": crate.pk})["code"] == "c1"
    assert call("crates__partial_update", {"id": crate.pk, "code": "c2"})["code"] == "c2"
    changed = call("crates__update", {"id": crate.pk, "code": "c3", "depot": north.pk, "is_sealed": False})
    assert (changed["code"], changed["is_sealed"]) == ("c3", False)
    assert call("crates__destroy", {"id": crate.pk}) is None
    assert not Crate.objects.exists()


def test_lists_are_filtered_and_cut_as_the_query_says() -> None:
    for name in ("a", "b", "c"):
        Depot.objects.create(name=name, slug=name)
    page = call("depots__list", {"page": 2})
    assert [row["name"] for row in page["results"]] == ["c"]
    assert (page["count"], page["next"], page["previous"]) == (3, None, "http://depot.example/api/depots/")


def test_plain_ids_cost_no_query_of_ours(north: Depot) -> None:
    def queries(send: dict[str, object]) -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            call("crates__create", send)
        return len(captured)

    plain = queries({"code": "c1", "depot": north.pk})
    assert queries({"code": "c2", "depot": {"name": "North"}}) == plain + 1
    assert queries({"code": "c3", "depot": "North"}) == plain + 1


def test_permissions_and_those_of_the_object_decide(north: Depot) -> None:
    ada, eve = User.objects.create(username="ada"), User.objects.create(username="eve")
    Depot.objects.create(name="Eve's", slug="eves", owner=eve)
    denied = "The API does not let this caller do that: {} Ask the operator for the right to."
    assert told(refusal("own-crates__list", {}, outer(ada))) == (
        "permission_error",
        denied.format("Only keepers of a depot may."),
        {"status": 403},
    )
    north.owner = ada
    north.save()
    crate = Crate.objects.create(code="c1", depot=north)
    assert call("own-crates__retrieve", {"id": crate.pk}, outer(ada))["code"] == "c1"
    assert told(refusal("own-crates__retrieve", {"id": crate.pk}, outer(eve)))[1] == denied.format(
        "You do not have permission to perform this action."
    )
    assert told(refusal("own-crates__destroy", {"id": crate.pk}))[2] == {"status": 403}
    assert Crate.objects.count() == 1


def test_throttles_count_each_callers_address() -> None:
    here, there = outer(REMOTE_ADDR="203.0.113.1"), outer(REMOTE_ADDR="203.0.113.2")
    call("throttled__list", {}, here)
    call("throttled__create", {"name": "a"}, here)
    error = refusal("throttled__list", {}, here)
    wait = error.details["retry_after_s"]
    assert told(error) == (
        "unavailable",
        f"The API takes no more calls for now. Wait {wait} seconds, then call again.",
        {"status": 429, "retry_after_s": wait},
    )
    assert isinstance(wait, int)
    assert 0 < wait <= 60
    assert call("throttled__list", {}, there)[0]["name"] == "a"


def test_decorators_around_a_view_are_called_too() -> None:
    first = call("counted-once__get")
    assert call("counted-once__get") == first
    assert call("counted__get") != first
    assert Entry.objects.count() == 2


KEYS = st.sampled_from(["name", "id", "filename", "content", "depot", "name__in"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["North", "1", "photo"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("code", "depot", "shelf", "tags", "is_sealed", "weight", "arrived", "photo")
LIKELY = st.fixed_dictionaries({"code": st.text(min_size=1, max_size=20), "depot": st.just({"name": "North"})})


@given(LIKELY | st.just({}), st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON)))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_is_sent_ends_in_a_row_or_in_a_refusal_that_is_no_crash(
    likely: dict[str, Any], odd: dict[str, Any]
) -> None:
    Depot.objects.get_or_create(name="North", slug="north")
    before = Crate.objects.count()
    outcome = attempted("crates__create", odd | likely)
    if isinstance(outcome, ToolError):
        assert (outcome.code, outcome.message.isprintable()) == ("invalid_input", True)
        assert Crate.objects.count() == before
    else:
        assert Crate.objects.get(pk=outcome["id"]).depot.name == "North"


def test_a_call_that_no_view_may_get_is_refused_before(north: Depot) -> None:
    assert told(refusal("bare-file__create", {"code": "c"})) == (
        "not_supported",
        "The view behind this tool takes a bare file for its body, which a tool cannot send. Send it over HTTP.",
        {},
    )
    halves: dict[str, dict[str, Any]] = {
        "depots__create": {"name": "\ud800", "slug": "a"},
        "crates__create": {"code": "a", "depot": {"name": "\ud800"}},
        "tags__retrieve": {"name": "\ud800"},
        "depots__list": {"page": "\ud800"},
    }
    for tool, arguments in halves.items():
        assert told(refusal(tool, arguments)) == (
            "invalid_input",
            "The arguments hold half a character. Send valid Unicode and call again.",
            {"kind": "value"},
        )
