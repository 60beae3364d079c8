"""What a view refuses, in codes and words."""

import pytest
from django.utils import translation

from tests.django.depot.models import Depot
from tests.django.invocation.calling import call, outer, refusal, told

SAID = "What the author says."
SENTENCES = {
    "invalid_input": f"The API refused these arguments: {SAID} Correct them and call again.",
    "permission_error": f"The API does not let this caller do that: {SAID} Ask the operator for the right to.",
    "not_found": f"The API found nothing there: {SAID} Check the arguments, or list what there is, and call again.",
    "not_supported": f"The view behind this tool does not take such a call: {SAID} Use another tool.",
    "conflict": f"That conflicts with what is there: {SAID} Read it, then call again.",
    "state_error": f"That cannot be done in the present state: {SAID} Read what is there, then call again.",
    "timeout": f"The API took too long and gave up: {SAID} Call again later.",
    "unavailable": "The API takes no more calls for now. Wait 7 seconds, then call again.",
    "internal_error": "The view behind this tool failed. It may have changed something: check before you"
    " call again, and tell the operator, whose log has the reason.",
}
MOMENT = "YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]"
STATUSES = {
    **dict.fromkeys((400, 413, 418, 422), "invalid_input"),
    **dict.fromkeys((401, 402, 403, 451), "permission_error"),
    **dict.fromkeys((404, 410), "not_found"),
    **dict.fromkeys((405, 406, 415), "not_supported"),
    **dict.fromkeys((412, 423, 428), "state_error"),
    408: "timeout",
    409: "conflict",
    429: "unavailable",
    500: "internal_error",
    502: "internal_error",
    503: "unavailable",
}


@pytest.mark.parametrize(("status", "code"), STATUSES.items())
def test_every_status_has_a_code_and_a_sentence(status: int, code: str) -> None:
    error = refusal("statuses__retrieve", {"status": str(status)})
    assert (error.code, error.message) == (code, SENTENCES[code])
    assert error.details == {
        "invalid_input": {"status": status, "kind": "value", "fields": {}, "general": [SAID]},
        "not_found": {"arguments": ["status"]},
        "unavailable": {"status": status, "retry_after_s": 7},
        "internal_error": {},
    }.get(code, {"status": status})


def test_what_is_not_found_is_named_by_its_argument_alone() -> None:
    assert told(refusal("crates__retrieve", {"id": 987654})) == (
        "not_found",
        (
            "Nothing that this caller may see was found by 'id'."
            " Check the arguments, or list what there is, and call again."
        ),
        {"arguments": ["id"]},
    )
    assert told(refusal("depots__list", {"page": 9})) == (
        "not_found",
        "The API found nothing there: Invalid page. Check the arguments, or list what there is, and call again.",
        {"arguments": []},
    )


def test_what_is_not_found_says_so_in_every_language() -> None:
    with translation.override("de"):
        assert refusal("crates__retrieve", {"id": "no-number"}).message.startswith(
            "Nothing that this caller may see was found by 'id'."
        )


def test_a_serializers_errors_come_by_argument() -> None:
    Depot.objects.create(name="North", slug="north")
    error = refusal("crates__create", {"code": "x" * 21, "depot": 987654, "weight": "12345.678", "arrived": "soon"})
    assert error.details == {
        "status": 400,
        "kind": "value",
        "fields": {
            "code": ["Ensure this field has no more than 20 characters."],
            "depot": ["nothing that this caller may use is known by this value"],
            "weight": ["Ensure that there are no more than 6 digits in total."],
            "arrived": [f"Datetime has wrong format. Use one of these formats instead: {MOMENT}."],
        },
    }
    assert error.message.startswith("The API refused these arguments: code: Ensure this field has no more than 20")
    assert "\n" not in error.message


def test_errors_inside_objects_and_lists_have_their_place() -> None:
    error = refusal("orders__create", {"number": "1", "lines": [{"crate": 1, "quantity": -1}, {"quantity": 1}]})
    assert error.details["fields"] == {
        "lines[0].crate": ["nothing that this caller may use is known by this value"],
        "lines[0].quantity": ["Ensure this value is greater than or equal to 0."],
        "lines[1].crate": ["This field is required."],
    }


def test_errors_of_a_list_body_have_the_place_of_their_object() -> None:
    error = refusal("bulk-tags__create", {"objects": [{"name": "a"}, {"name": ""}]})
    assert error.details["fields"] == {"objects[1].name": ["This field may not be blank."]}


def test_an_error_about_the_whole_has_no_field() -> None:
    north, south = (Depot.objects.create(name=name, slug=name) for name in ("North", "South"))
    shelf = call("shelves__create", {"depot": south.pk, "label": "1"})
    error = refusal("crates__create", {"code": "c", "depot": north.pk, "shelf": shelf["id"]})
    assert told(error) == (
        "invalid_input",
        "The API refused these arguments: The shelf stands in another depot. Correct them and call again.",
        {"status": 400, "kind": "value", "fields": {}, "general": ["The shelf stands in another depot."]},
    )


def test_an_authors_message_is_shown_without_the_callers_value() -> None:
    depot = Depot.objects.create(name="North", slug="north")
    error = refusal("crates__create", {"code": "x-2026", "depot": depot.pk})
    assert error.details["fields"] == {"code": ["Codes such as … are of the old kind; begin with another letter."]}
    assert "hunter" not in str(told(refusal("passwords__create", {"password": "hunter"})))


def test_an_exception_handler_of_the_projects_own_is_understood() -> None:
    error = refusal("own-handler__create", {"name": "", "slug": "a b"})
    assert error.details["fields"] == {
        "name": ["This field may not be blank."],
        "slug": ['Enter a valid "slug" consisting of letters, numbers, underscores or hyphens.'],
    }


def test_a_row_that_was_named_in_vain_is_told_whatever_the_handler_says() -> None:
    error = refusal("crates__create", {"code": "c", "depot": {"name": "nowhere"}})
    assert told(error) == (
        "invalid_input",
        (
            "Some arguments name no row that can be used: depot: no depot was found by 'name'."
            " Correct them and call again."
        ),
        {"kind": "value", "fields": {"depot": ["no depot was found by 'name'"]}},
    )


def test_a_view_that_does_not_answer_json_is_said_to_be_none_for_a_tool() -> None:
    error = refusal("accept-version__list", {}, outer(HTTP_ACCEPT="application/json; version=9"))
    assert told(error) == (
        "not_supported",
        'The view behind this tool does not take such a call: Invalid version in "Accept" header. Use another tool.',
        {"status": 406},
    )
