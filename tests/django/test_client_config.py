"""Addresses and snippets for clients."""

import json
import os
from pathlib import Path

import pytest

from handfast.django.client_config import CLIENTS, AddressUnknown, Site, address, note, snippet
from tests.demo import HANDFAST
from tests.test_project import run

URL = "https://shop.example/mcp/"
LIVE = Site(["shop.example"])


@pytest.mark.parametrize(
    ("site", "url", "found"),
    [
        (LIVE, None, URL),
        (Site([".shop.example", "other.example"]), None, URL),
        (Site(["*", "shop.example"]), None, URL),
        (Site(["*.shop.example", "shop.example"]), None, URL),
        (Site(["shop.example"], is_debug=True), None, "http://shop.example/mcp/"),
        (Site(["shop.example"], is_debug=True, is_tls=True), None, URL),
        (Site([], is_debug=True), None, "http://127.0.0.1:8000/mcp/"),
        (Site(["localhost"]), None, "http://localhost:8000/mcp/"),
        (Site(["[::1]"]), None, "http://[::1]:8000/mcp/"),
        (Site([]), "https://shop.example", URL),
        (LIVE, "http://10.0.0.5:9000/", "http://10.0.0.5:9000/mcp/"),
        (LIVE, "https://shop.example/agents/mcp", "https://shop.example/agents/mcp"),
    ],
)
def test_an_address_comes_from_the_url_or_the_settings(site: Site, url: str | None, found: str) -> None:
    assert address("/mcp/", site, url) == found


@pytest.mark.parametrize("site", [Site([]), Site(["*"]), Site(["*.shop.example"])])
def test_without_a_host_to_go_to_it_must_be_said(site: Site) -> None:
    with pytest.raises(AddressUnknown) as unknown:
        address("/mcp/", site)
    assert str(unknown.value) == "ALLOWED_HOSTS names no host to go to. Say it: --url https://example.com"


@pytest.mark.parametrize("url", ["shop.example", "ftp://shop.example", "https://", "/mcp/"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(AddressUnknown) as unknown:
        address("/mcp/", LIVE, url)
    assert str(unknown.value) == "--url is not an address. Write it whole, such as https://example.com"


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (
            "claude",
            {
                "mcpServers": {
                    "shop": {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${HANDFAST_TOKEN}"}}
                }
            },
        ),
        (
            "cursor",
            {"mcpServers": {"shop": {"url": URL, "headers": {"Authorization": "Bearer ${env:HANDFAST_TOKEN}"}}}},
        ),
        (
            "vscode",
            {
                "inputs": [
                    {
                        "type": "promptString",
                        "id": "handfast-token",
                        "description": "Token for shop",
                        "password": True,
                    }
                ],
                "servers": {
                    "shop": {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${input:handfast-token}"}}
                },
            },
        ),
        (
            "generic",
            {
                "mcpServers": {
                    "shop": {"type": "http", "url": URL, "headers": {"Authorization": "Bearer ${HANDFAST_TOKEN}"}}
                }
            },
        ),
        (
            "stdio",
            {
                "mcpServers": {
                    "shop": {
                        "command": "handfast",
                        "args": ["wrap", "--name", "shop", "--url", URL],
                        "env": {"HANDFAST_TOKEN": "PASTE-THE-TOKEN-HERE"},
                    }
                }
            },
        ),
    ],
)
def test_each_client_gets_its_own_shape(client: str, expected: object) -> None:
    assert snippet(client, "shop", URL) == expected


@pytest.mark.parametrize("client", CLIENTS)
def test_a_token_that_is_given_is_all_that_is_needed(client: str) -> None:
    written = json.dumps(snippet(client, "shop", URL, "hf_secret"))
    assert written.count("hf_secret") == 1
    assert not any(place in written for place in ("${", "PASTE", "inputs"))


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_is_told_where_it_belongs(client: str) -> None:
    assert note(client).endswith(".")
    assert "\n" not in note(client)


@pytest.mark.parametrize("client", ["claude", "cursor", "generic", "stdio"])
def test_the_snippet_is_one_that_handfast_itself_understands(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(HANDFAST.parent), prepend=os.pathsep)  # the snippet for stdio starts it by its name
    (tmp_path / "handfast.json").write_text(json.dumps(snippet(client, "shop", URL, "hf_secret")), "utf-8")
    checked = run(HANDFAST, "config", "check", tmp_path / "handfast.json")
    assert checked.returncode == 0, checked.stdout + checked.stderr
