"""Files in a call."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handfast.django.invocation.uploads import files_by_field, read_upload
from tests.django.depot.models import Crate, Depot
from tests.django.invocation.calling import call, refusal, told


def a_file(content: bytes = b"hi", **more: str) -> dict[str, str]:
    return {"filename": "a.png", "content": base64.b64encode(content).decode(), **more}


def test_a_file_is_stored_and_what_was_not_said_keeps_its_default() -> None:
    depot = Depot.objects.create(name="North", slug="n")
    for tool, code in (("crates__create", "c1"), ("uploads__create", "c2")):
        call(tool, {"code": code, "depot": {"name": "North"}, "photo": a_file(b"\x00\xff")})
        crate = Crate.objects.get(code=code)
        assert (crate.depot, crate.photo.read(), str(crate.photo).startswith("a")) == (depot, b"\x00\xff", True)
        assert crate.is_sealed  # a form that leaves out a boolean would make it false
        crate.photo.close()


def test_a_view_that_reads_only_forms_gets_one_without_files_too() -> None:
    depot = Depot.objects.create(name="North", slug="n")
    made = call("uploads__create", {"code": "c1", "depot": depot.pk, "tags": [], "photo": None, "is_sealed": False})
    assert (made["photo"], made["is_sealed"], made["tags"]) == (None, False, [])


def test_a_view_finds_files_where_it_looks_for_them() -> None:
    assert call("uploads__weigh", {"code": "c", "photo": a_file(b"12345", content_type="image/jpeg")}) == {
        "sizes": [5],
        "same": True,
        "keys": ["code", "photo"],
        "copied": "changed",
        "type": "image/jpeg",
        "name": "a.png",
    }


@pytest.mark.parametrize(
    ("photo", "place", "what"),
    [
        ({"filename": "a", "content": "no base64!"}, "photo.content", "is not valid base64"),
        ({"filename": "a"}, "photo.content", "is missing; send the file, encoded as base64"),
        ({"content": ""}, "photo.filename", "is missing; send the name of the file"),
        ({"filename": "..", "content": ""}, "photo.filename", "is not a name that a file can have"),
    ],
)
def test_what_is_no_file_is_refused_with_its_place(photo: dict[str, Any], place: str, what: str) -> None:
    assert told(refusal("crates__create", {"code": "c", "depot": 1, "photo": photo})) == (
        "invalid_input",
        f"{place}: {what}. Correct it and call again.",
        {"kind": "value", "fields": {place: [what]}},
    )


@given(st.binary(max_size=200), st.booleans())
def test_the_content_arrives_byte_for_byte(content: bytes, is_wrapped: bool) -> None:
    text = base64.encodebytes(content).decode() if is_wrapped else base64.b64encode(content).decode()
    upload = read_upload({"filename": "../odd/päth.txt", "content": text}, ("photo",))
    assert (upload.read(), upload.size, upload.name, upload.content_type) == (
        content,
        len(content),
        "päth.txt",
        "text/plain",
    )


def test_files_are_listed_by_their_field() -> None:
    one, two, three = (read_upload(a_file(), (name,)) for name in "abc")
    found = files_by_field({("a",): one, ("b", 0): two, ("b", 1): three, ("c", "deep"): three})
    assert {name: found.getlist(name) for name in found} == {"a": [one], "b": [two, three]}
