"""The admin site of the example, as a person sees it."""

import re

import httpx2
import pytest

from tests.examples.contacts.running import Served

MODELS = ["contacts/contact", "contacts/company", "contacts/tag", "dcim/site", "dcim/devicetype", "dcim/device"]


def test_the_first_page_leads_to_the_admin_site(served: Served) -> None:
    answer = httpx2.get(served.url, follow_redirects=True)
    assert (answer.status_code, answer.url.path) == (200, "/admin/login/")
    assert "Contacts and devices" in answer.text


def test_its_styles_are_served(served: Served, browser: httpx2.Client) -> None:
    sheets = re.findall(r'<link rel="stylesheet" href="([^"]+)"', browser.get("/admin/").text)
    assert sheets
    assert {httpx2.get(f"{served.url}{sheet}").status_code for sheet in sheets} == {200}


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_listed_searched_and_edited(browser: httpx2.Client, model: str) -> None:
    listed = browser.get(f"/admin/{model}/")
    assert listed.status_code == 200
    rows = re.findall(rf'<a href="(/admin/{model}/[^/"]+/change/)', listed.text)
    assert rows
    assert browser.get(rows[0]).status_code == 200
    assert browser.get(f"/admin/{model}/add/").status_code == 200
    nothing = browser.get(f"/admin/{model}/", params={"q": "no such thing"})
    assert re.findall(rf"/admin/{model}/[^/]+/change/", nothing.text) == []
