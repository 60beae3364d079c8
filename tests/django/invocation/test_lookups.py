"""Rows that are named in a call, wherever a serializer has a relation."""

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework import serializers

from handfast.core.answers.errors import ToolError
from handfast.django.invocation import invoke
from tests.django.depot.models import Crate, Depot, Line, Shelf, Tag
from tests.django.depot.serializers import DeepSerializer
from tests.django.depot.views import Deep
from tests.django.invocation.calling import call, outer, refusal, told, tools


@pytest.fixture
def north() -> Depot:
    return Depot.objects.create(name="North", slug="n")


@pytest.mark.requirement("000-15")
@pytest.mark.parametrize("depot", [{"name": "North"}, {"slug": "n", "name": "North"}, "North", "n"])
@pytest.mark.parametrize("tool", ["crates__create", "slug-crates__create", "linked__create"])
def test_a_foreign_key_is_resolved_to_what_the_field_takes(tool: str, depot: Any, north: Depot) -> None:
    made = call(tool, {"code": "c1", "depot": depot})
    expected = {"slug-crates__create": "n", "linked__create": f"http://depot.example/api/depots/{north.pk}/"}
    assert made["depot"] == expected.get(tool, north.pk)
    assert Crate.objects.get().depot == north


def test_many_to_many_and_keys_of_several_fields(north: Depot) -> None:
    shelf = Shelf.objects.create(depot=north, label="1")
    red, blue = Tag.objects.create(name="red"), Tag.objects.create(name="blue")
    sent = {"code": "c1", "depot": "North", "shelf": {"depot": {"name": "North"}, "label": "1"}}
    made = call("crates__create", {**sent, "tags": ["red", {"name": "blue"}, red.pk]})
    assert (made["depot"], made["shelf"], sorted(made["tags"])) == (north.pk, shelf.pk, [red.pk, blue.pk])
    changed = call("crates__partial_update", {"id": made["id"], "tags": [{"name": "blue"}]})
    assert changed["tags"] == [blue.pk]


def test_relations_inside_lists_and_objects(north: Depot) -> None:
    crate = Crate.objects.create(code="c1", depot=north)
    lines = [{"crate": {"code": "c1"}, "quantity": 1}, {"crate": "c1", "quantity": 2}]
    call("orders__create", {"number": "7", "lines": lines})
    assert [line.crate for line in Line.objects.order_by("quantity")] == [crate, crate]
    sent = {"crates": [{"code": "c1"}, crate.pk], "by_place": {"left": {"id": crate.pk}, "right": "c1"}}
    assert call("deep__create", sent) == {"crates": [crate.pk, crate.pk], "by_place": {"left": "c1", "right": "c1"}}


def test_relations_in_a_body_that_is_a_list(north: Depot) -> None:
    made = call("bulk-shelves__create", {"objects": [{"depot": north.pk, "label": "1"}, {"depot": "n", "label": "2"}]})
    assert [row["depot"] for row in made] == [north.pk, north.pk]
    error = refusal(
        "bulk-shelves__create", {"objects": [{"depot": "North", "label": "3"}, {"depot": "x", "label": "4"}]}
    )
    assert error.details["fields"] == {"objects[1].depot": ["no depot was found by 'name' or 'slug'"]}
    assert Shelf.objects.count() == 2


def test_what_is_named_twice_is_looked_up_once(north: Depot) -> None:
    Crate.objects.create(code="c1", depot=north)

    def queries(crates: list[Any]) -> int:
        with CaptureQueriesContext(connection) as captured:
            call("deep__create", {"crates": crates, "by_place": {}})
        return len(captured)

    named = {"code": "c1"}
    assert queries([named, named, named]) == queries([named]) + 2  # which the serializer itself asks for


def test_only_rows_that_the_field_lets_this_caller_use_are_found(north: Depot) -> None:
    ada, eve = User.objects.create(username="ada"), User.objects.create(username="eve")
    Depot.objects.create(name="South", slug="s", owner=eve)
    north.owner = ada
    north.save()
    assert call("own-crates__create", {"code": "c1", "depot": "North"}, outer(ada))["depot"] == north.pk
    for depot in ("North", {"name": "North"}):
        assert told(refusal("own-crates__create", {"code": "c2", "depot": depot}, outer(eve)))[0] == "invalid_input"
    assert Crate.objects.count() == 1


def test_nobody_learns_what_exists_who_may_not_call_the_view(north: Depot) -> None:
    eve = User.objects.create(username="eve")
    for caller in (None, eve):
        refused = [
            told(refusal("own-crates__create", {"code": "c1", "depot": {"name": name}}, outer(caller)))
            for name in ("North", "nowhere")
        ]
        assert refused[0] == refused[1]
        assert refused[0][0] == "permission_error"


def test_rows_that_can_be_asked_nothing_more_leave_it_to_the_field(north: Depot) -> None:
    crates = serializers.ListField(child=serializers.PrimaryKeyRelatedField(queryset=Crate.objects.all()[:1]))
    serializer = type("SlicedSerializer", (DeepSerializer,), {"crates": crates})
    view: Any = type("Sliced", (Deep,), {"serializer_class": serializer})
    tool = replace(tools()["deep__create"], callback=view.as_view(), view=view)
    with pytest.raises(ToolError) as refused:
        invoke(tool, {"crates": [{"code": "c1"}], "by_place": {}}, outer())
    assert refused.value.details["fields"] == {"crates[0]": ["Incorrect type. Expected pk value, received dict."]}


def test_every_argument_that_names_nothing_is_told(north: Depot) -> None:
    Tag.objects.create(name="red")
    Tag.objects.create(name="red")
    sent = {"code": "c1", "depot": {"name": "nowhere"}, "tags": ["red", {"colour": "red"}]}
    assert told(refusal("crates__create", sent)) == (
        "invalid_input",
        (
            "Some arguments name no row that can be used: depot: no depot was found by 'name'; tags[0]: 2 tags were"
            " found by 'name'; send the id of one of them; tags[1]: tags cannot be looked up by 'colour', only by 'id'"
            " and 'name'. Correct them and call again."
        ),
        {
            "kind": "value",
            "fields": {
                "depot": ["no depot was found by 'name'"],
                "tags[0]": ["2 tags were found by 'name'; send the id of one of them"],
                "tags[1]": ["tags cannot be looked up by 'colour', only by 'id' and 'name'"],
            },
        },
    )
    assert not Crate.objects.exists()
