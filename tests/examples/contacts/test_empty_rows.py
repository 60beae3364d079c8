"""Rows that earlier calls left empty: found, and removed where somebody says so."""

import json
import uuid

import httpx2
import pytest

from tests.examples.contacts.asking import Json
from tests.examples.contacts.running import Project, Served

LEFT_BEHIND = [
    "6b7e67eb-1f0c-4a53-9d0e-5c1c3f6f2a01",
    "b1b58efa-52a9-4c1d-b6a7-93d1f7c4aa03",
    "c123f361-7d52-4d0b-8a44-0f6b2f8f9e02",
]
WRAPPED = {"data": {"email": "agent@example.com", "first_name": "Agent"}}


def found(project: Project) -> dict[str, list[str]]:
    """The keys of empty rows, by their model."""
    said: Json = json.loads(project.manage("handfast", "empty-rows", "--json"))
    return {model["model"]: [row["pk"] for row in model["rows"]] for model in said["models"] if model["rows"]}


def keys(project: Project) -> set[str]:
    return {str(uuid.UUID(row["id"])) for row in project.rows("contacts_contact")}


@pytest.mark.requirement("T5")
def test_empty_rows_are_found_and_only_those_that_are_named_go(new_project: Project, newly_served: Served) -> None:
    assert found(new_project) == {"contacts.Contact": LEFT_BEHIND}
    before = new_project.everything()
    new_project.manage("handfast", "empty-rows", "--delete", code=1)  # nobody is there to be asked
    assert new_project.everything() == before

    named = ["--model", "contacts.Contact", *(word for pk in LEFT_BEHIND[:2] for word in ("--pk", pk))]
    said = new_project.manage("handfast", "empty-rows", "--delete", "--yes", *named)
    assert said.splitlines()[-1] == "deleted: 2 of contacts.Contact"
    assert found(new_project) == {"contacts.Contact": LEFT_BEHIND[2:]}
    gone = {uuid.UUID(pk).hex for pk in LEFT_BEHIND[:2]}
    kept = [row for row in before["contacts_contact"] if row["id"] not in gone]
    assert new_project.everything() == before | {"contacts_contact": kept}


@pytest.mark.requirement("T5")
def test_a_row_that_the_plain_api_loses_is_found_too(new_project: Project, new_browser: httpx2.Client) -> None:
    lost = new_browser.post("/api/v1/contacts/", json=WRAPPED).json()["id"]
    assert lost in found(new_project)["contacts.Contact"]
    new_project.manage("handfast", "empty-rows", "--delete", "--yes", "--model", "contacts.Contact", "--pk", lost)
    assert lost not in keys(new_project)


def test_a_row_with_anything_in_it_is_never_taken_for_empty(new_project: Project, new_browser: httpx2.Client) -> None:
    (tag, *_) = new_browser.get("/api/v1/tags/").json()["results"]
    some: list[Json] = [{"notes": "?"}, {"tags": [tag["id"]]}, {"phones": [{"number": "1"}]}, {"status": "partner"}]
    made = [new_browser.post("/api/v1/contacts/", json=sent).json()["id"] for sent in some]
    assert not set(made) & set(found(new_project).get("contacts.Contact", []))
    named = ["--model", "contacts.Contact", "--pk", made[1]]
    new_project.manage("handfast", "empty-rows", "--delete", "--yes", *named, code=1)
    assert set(made) <= keys(new_project)
