"""The API of the example without tools: a plain REST framework project, with the plain project's own fault."""

import httpx2
import pytest

from tests.examples.contacts.running import Project, Served

NOBODY = "00000000-0000-4000-8000-000000000000"
EMPTY: dict[str, object] = {
    "email": "",
    "first_name": "",
    "last_name": "",
    "status": "lead",
    "company": None,
    "tags": [],
    "phones": [],
}


def test_every_list_is_paged_searched_and_ordered(new_browser: httpx2.Client) -> None:
    page = new_browser.get(
        "/api/v1/contacts/", params={"page_size": 2, "ordering": "email", "search": "example"}
    ).json()
    assert [row["email"] for row in page["results"]] == ["ada@engines.example", "charles@engines.example"]
    assert (page["count"], page["previous"]) == (7, None)
    found = new_browser.get("/api/v1/dcim/devices/", params={"site": "hq-1", "status": "active"}).json()
    assert [row["name"] for row in found["results"]] == ["db-1", "sw-1", "sw-2", "ups-1"]
    assert new_browser.get("/api/v1/contacts/", params={"tag": "vip", "company": "orbit & co"}).json()["count"] == 1
    assert new_browser.get("/api/v1/contacts/", params={"archived": "true"}).json()["count"] == 0


def test_a_contact_is_kept_with_its_numbers(new_browser: httpx2.Client) -> None:
    sent = {"email": "alan@example.net", "phones": [{"kind": "mobile", "number": "1"}, {"number": "2"}]}
    made = new_browser.post("/api/v1/contacts/", json=sent)
    assert made.status_code == 201
    kept = [{"kind": "mobile", "number": "1"}, {"kind": "work", "number": "2"}]
    assert made.json()["phones"] == kept
    address = f"/api/v1/contacts/{made.json()['id']}/"
    assert new_browser.patch(address, json={"first_name": "Alan"}).json()["phones"] == kept
    assert new_browser.patch(address, json={"phones": []}).json()["phones"] == []
    twice = new_browser.post("/api/v1/contacts/", json={"email": "alan@example.net"})
    assert (twice.status_code, list(twice.json())) == (400, ["email"])
    assert new_browser.post(f"{address}archive/").json()["archived_at"] is not None
    assert new_browser.delete(address).status_code == 204


def test_over_http_a_wrapped_payload_still_becomes_an_empty_row(new_browser: httpx2.Client) -> None:
    """Which is what the tools are there to prevent, and why the plain API is left as teams write it."""
    made = new_browser.post("/api/v1/contacts/", json={"data": {"email": "agent@example.com", "first_name": "Agent"}})
    assert made.status_code == 201
    assert {name: made.json()[name] for name in EMPTY} == EMPTY
    assert new_browser.delete(f"/api/v1/contacts/{made.json()['id']}/").status_code == 204


def test_the_room_that_is_left_leaves_out_what_is_retired(new_browser: httpx2.Client) -> None:
    assert new_browser.get("/api/v1/dcim/capacity/", params={"region": "south"}).json() == {
        "sites": [{"site": "lab-1", "units": 42, "used": 2, "free": 40}]
    }
    assert [site["site"] for site in new_browser.get("/api/v1/dcim/capacity/").json()["sites"]] == [
        "hq-1",
        "hq-2",
        "lab-1",
    ]


@pytest.mark.parametrize("path", ["contacts/", "dcim/capacity/", f"contacts/{NOBODY}/"])
def test_nobody_is_let_in_without_an_account(newly_served: Served, path: str) -> None:
    assert httpx2.get(f"{newly_served.url}/api/v1/{path}").status_code in (401, 403)


def test_seeding_twice_changes_nothing(newly_served: Served, new_project: Project) -> None:
    before = new_project.everything()
    assert before["contacts_contact"]
    assert new_project.manage("seed") == "Seeded.\n"
    assert new_project.everything() == before


def test_the_tables_are_those_of_the_models(newly_served: Served, new_project: Project) -> None:
    assert new_project.manage("makemigrations", "--check") == "No changes detected\n"
