"""What a view answers, and what a tool makes of it."""

import uuid
from typing import Any

import pytest

from tests.django.depot.models import Entry
from tests.django.invocation.calling import call, refusal, told


def odd(kind: str) -> Any:
    return call("odd__retrieve", {"kind": kind})


def test_data_comes_as_the_views_own_encoder_writes_it() -> None:
    assert odd("values") == {
        "day": "2026-03-01",
        "moment": "2026-03-01T12:00:00Z",
        "price": 1.5,
        "id": str(uuid.UUID(int=5)),
        "lazy": "Yes",
        "big": 2**80,
        "set": [1],
    }


@pytest.mark.parametrize(
    ("kind", "data"), [("json", {"plain": True}), ("problem", {"plain": 1}), ("nothing", None), ("empty", None)]
)
def test_any_answer_with_json_is_read(kind: str, data: object) -> None:
    assert odd(kind) == data


@pytest.mark.parametrize("kind", ["rendered", "early"])
def test_a_response_is_rendered_once_with_its_callbacks(kind: str) -> None:
    assert odd(kind) == {"rendered": 1}
    assert [entry.text for entry in Entry.objects.all()] == ["rendered"]


UNUSABLE = (
    "The view answered with {}, which a tool cannot hand on."
    " Check whether it did what was asked, and get the rest over HTTP."
)


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        ("html", "something that is not JSON"),
        ("template", "something that is not JSON"),
        ("stream", "a file or a stream"),
        ("file", "a file or a stream"),
        ("redirect", "a redirect"),
    ],
)
def test_what_is_no_json_is_refused_with_what_to_do(kind: str, what: str) -> None:
    status = 302 if kind == "redirect" else 200
    assert told(refusal("odd__retrieve", {"kind": kind})) == (
        "not_supported",
        UNUSABLE.format(what),
        {"status": status},
    )


def test_a_page_is_rendered_all_the_same() -> None:
    refusal("odd__retrieve", {"kind": "template"})
    assert [entry.text for entry in Entry.objects.all()] == ["page rendered"]


def test_nan_is_never_passed_off_as_something_else() -> None:
    assert refusal("odd__retrieve", {"kind": "nan"}).code == "internal_error"  # as over HTTP: it cannot be rendered
    assert told(refusal("odd__retrieve", {"kind": "loose_nan"})) == (
        "output_violation",
        (
            "The view answered with something that is not JSON, such as NaN or half a character."
            " Check whether it did what was asked, and tell the operator."
        ),
        {},
    )
