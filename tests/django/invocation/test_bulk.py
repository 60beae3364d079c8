"""A list of objects: all of them, or none."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from handfast.django.invocation import MOST_ITEMS, takes_many
from tests.django.depot.models import Depot, Entry, Tag
from tests.django.invocation.calling import call_each, each_refusal, outer, told, tools


def depot(name: str) -> dict[str, str]:
    return {"name": name, "slug": name}


@pytest.mark.requirement("000-16")
def test_every_object_is_created_and_answered_in_order() -> None:
    made = call_each("depots__create", [depot("b"), depot("a")])
    assert [row["name"] for row in made] == ["b", "a"]
    assert [row["id"] for row in made] == [row.pk for row in Depot.objects.order_by("pk")]
    assert call_each("depots__create", []) == []


def test_each_goes_through_the_view_with_its_lookups_and_permissions() -> None:
    ada = User.objects.create(username="ada")
    Depot.objects.create(name="North", slug="n", owner=ada)
    items = [{"code": "c1", "depot": "North"}, {"code": "c2", "depot": {"slug": "n"}}]
    assert [row["code"] for row in call_each("own-crates__create", items, outer(ada))] == ["c1", "c2"]
    refused = each_refusal("own-crates__create", items)
    assert told(refused) == (
        "permission_error",
        (
            "Nothing was stored: 1 of 2 objects refused, 1 not tried. objects[0]: The API does not let this caller do"
            " that: You do not have permission to perform this action. Ask the operator for the right to."
        ),
        {"items": [{"index": 0, "code": "permission_error", "status": 403}]},
    )


def test_one_error_and_nothing_is_stored() -> None:
    Depot.objects.create(name="taken", slug="taken")
    items = [depot("a"), depot("taken"), depot("b"), depot("a"), depot("c")]
    refused = each_refusal("depots__create", items)
    assert told(refused) == (
        "invalid_input",
        (
            "Nothing was stored: 2 of 5 objects refused. objects[1].name: depot with this name already exists;"
            " objects[1].slug: depot with this slug already exists; objects[3].name: depot with this name already"
            " exists; objects[3].slug: depot with this slug already exists. Correct them and send all of them again."
        ),
        {
            "kind": "value",
            "items": [
                {
                    "index": index,
                    "code": "invalid_input",
                    "status": 400,
                    "kind": "value",
                    "fields": {
                        "name": ["depot with this name already exists."],
                        "slug": ["depot with this slug already exists."],
                    },
                }
                for index in (1, 3)
            ],
        },
    )
    assert [row.name for row in Depot.objects.all()] == ["taken"]


@pytest.mark.parametrize("how", ["invalid", "clash"])
def test_what_one_object_left_half_done_is_gone_before_the_next(how: str) -> None:
    Depot.objects.create(name="taken", slug="taken")
    refused = each_refusal("careless__create", [{"how": how}, {"how": "full"}])
    assert [item["index"] for item in refused.details["items"]] == [0]  # type: ignore[attr-defined]  # a list
    assert refused.code == ("conflict" if how == "clash" else "invalid_input")


def test_a_crash_in_the_middle_leaves_nothing_and_ends_it() -> None:
    refused = each_refusal("careless__create", [{"how": "well"}, {"how": "crash"}, {"how": "well"}])
    assert refused.code == "internal_error"
    assert refused.details == {"items": [{"index": 1, "code": "internal_error"}]}
    assert not Entry.objects.exists()


def test_a_throttle_counts_each_of_them() -> None:
    refused = each_refusal("throttled__create", [{"name": str(n)} for n in range(5)])
    assert refused.code == "unavailable"
    assert refused.details["retry_after_s"] == refused.details["items"][0]["retry_after_s"]  # type: ignore[index]  # one item
    assert not Tag.objects.exists()


def test_so_many_objects_and_no_more() -> None:
    assert told(each_refusal("tags__create", [{"name": "a"}] * (MOST_ITEMS + 1))) == (
        "invalid_input",
        "'objects' holds 1001 objects, and one call takes 1000. Send them in several calls.",
        {"kind": "shape", "most": 1000},
    )


def test_after_twenty_that_fail_the_rest_is_not_tried() -> None:
    Depot.objects.create(name="taken", slug="taken")
    refused = each_refusal("depots__create", [depot("taken")] * 30)
    assert refused.message.startswith("Nothing was stored: 20 of 30 objects refused, 10 not tried. objects[0].name: ")
    assert refused.message.endswith("; and 10 more. Correct them and send all of them again.")


def test_a_tool_for_one_object_takes_no_list() -> None:
    assert told(each_refusal("crates__update", [{"id": 1}])) == (
        "not_supported",
        "This tool takes one object at a time. Call it once for each.",
        {},
    )
    many = {name for name, tool in tools().items() if takes_many(tool)}
    assert {"crates__create", "bulk-tags__create"} <= many
    assert not {"uploads__weigh", "crates__list", "crates__partial_update"} & many


# --- a view that takes a list ----------------------------------------------------------------------------------------


def test_a_view_that_takes_a_list_gets_it_as_it_is() -> None:
    with CaptureQueriesContext(connection) as queries:
        made = call_each("bulk-tags__create", [{"name": "a"}, {"name": "b"}])
    assert [row["name"] for row in made] == ["a", "b"]
    assert sum("INSERT" in query["sql"] for query in queries) == 2
    assert told(each_refusal("bulk-tags__create", [{"name": "c"}, {"name": " "}])) == (
        "invalid_input",
        "The API refused these arguments: objects[1].name: This field may not be blank. Correct them and call again.",
        {"status": 400, "kind": "value", "fields": {"objects[1].name": ["This field may not be blank."]}},
    )
    assert Tag.objects.count() == 2
