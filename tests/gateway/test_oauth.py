"""The gateway as a resource server of OAuth: which tokens of an issuer are good, where, and what others are told."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.access.issuer import RSA, Issuer, running_issuer, signed
from tests.access.test_issuers import confused, unsigned
from tests.gateway.running import Serving, call, eventually, read_records, running, send
from tests.gateway.signed import SignedClient, token
from tests.gateway.test_sign_in import ERAS, status_of, stub_of
from tests.gateway.translate.servers.asking import LEGACY, MODERN

PUBLIC = "https://tools.example"
PLACES = ["/mcp/old", "/mcp/new", "/mcp#old", "/mcp#new"]
METADATA = "/.well-known/oauth-protected-resource"
ENDPOINTS = {"/mcp": "", "/mcp/old": "/mcp/old", "/mcp/new": "/mcp/new"}


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with running_issuer() as found:
        yield found


def auth(issuer: Issuer, **more: object) -> dict[str, object]:
    trusted = {"name": "corp", "issuer": issuer.url}
    return {"mode": "oauth", "public_url": PUBLIC, "issuers": [trusted], "scopes": ["old:read"], **more}


@pytest.fixture(scope="module")
def gateway(issuer: Issuer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("oauth")
    stubs = {name: stub_of(folder, name, versions) for name, versions in (("old", LEGACY), ("new", MODERN))}
    servers = {name: {"command": stub.command[0], "args": stub.command[1:]} for name, stub in stubs.items()}
    with running(servers, folder, auth=auth(issuer)) as serving:
        yield serving


def resource(place: str) -> str:
    return PUBLIC + place.partition("#")[0]


def ask(gateway: Serving, place: str, text: str | None, *, is_modern: bool) -> tuple[int, dict[str, str]]:
    """The answer to a call, which needs no session in 2026 and none that is open in 2025."""
    client = SignedClient(gateway, place, text, is_modern=is_modern)
    message = json.dumps(
        client.render("tools/list" if is_modern else "initialize", None if is_modern else OPENING)
    ).encode()
    found = send(gateway.base, "POST", client.path, message, client.headers(message))
    return found.status, dict(found.headers)


OPENING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


@ERAS
@pytest.mark.parametrize("place", PLACES)
def test_a_token_for_an_endpoint_is_good_there_and_nowhere_else(
    gateway: Serving, issuer: Issuer, place: str, *, is_modern: bool
) -> None:
    name = place.replace("#", "/").rpartition("/")[2]
    client = SignedClient(gateway, place, issuer.token(aud=resource(place), scope=f"{name}:read"), is_modern=is_modern)
    client.open()
    assert client.call(client.prefix + "look").text == "fine"
    assert client.call(client.prefix + "wipe").status == 403
    record = eventually(lambda: read_records(gateway.state, type="tool_call", tool="look", server=name), "a record")[-1]
    assert record.actor == "corp:alice"
    for other in PLACES:
        if resource(other) != resource(place):
            assert ask(gateway, other, client.token, is_modern=is_modern)[0] == 401, other
    eventually(lambda: read_records(gateway.state, rule="auth.audience"), "a record")


def cases(issuer: Issuer, aud: str) -> dict[str, tuple[str | None, str]]:
    now = int(time.time())
    return {
        "absent": (None, "auth.missing"),
        "malformed": ("a.b.c", "auth.malformed"),
        "words": ("hello", "auth.malformed"),
        "expired": (issuer.token(aud=aud, exp=now - 60), "auth.expired"),
        "not yet valid": (issuer.token(aud=aud, nbf=now + 600), "auth.not_yet"),
        "another audience": (issuer.token(aud=f"{aud}/other"), "auth.audience"),
        "an audience by prefix": (issuer.token(aud=PUBLIC), "auth.audience"),
        "an audience by case": (issuer.token(aud=aud.upper()), "auth.audience"),
        "another issuer": (issuer.token(aud=aud, iss="https://elsewhere"), "auth.issuer"),
        "an unknown key": (issuer.token(aud=aud, header={"kid": "x"}), "auth.unknown_key"),
        "alg none": (unsigned(issuer.claims(aud=aud)), "auth.signature"),
        "key confusion": (confused(issuer), "auth.signature"),
        "our own issuer, its key": (
            signed(issuer.claims(iss="handfast", aud=aud), RSA, {"alg": "RS256", "kid": "r"}),
            "auth.signature",
        ),
    }


@ERAS
@pytest.mark.parametrize("place", ["/mcp/old", "/mcp#old"])
def test_every_other_token_is_refused_with_where_to_sign_in(
    gateway: Serving, issuer: Issuer, place: str, *, is_modern: bool
) -> None:
    endpoint = place.partition("#")[0]
    for what, (text, rule) in cases(issuer, resource(place)).items():
        before = len(read_records(gateway.state, rule=rule))
        status, headers = ask(gateway, place, text, is_modern=is_modern)
        assert status == 401, what
        challenge = headers["www-authenticate"]
        assert f'resource_metadata="{PUBLIC}{METADATA}{endpoint}"' in challenge, what
        assert 'scope="old:read"' in challenge, what
        assert ("error=" in challenge) == (text is not None), what
        assert before or eventually(lambda rule=rule: read_records(gateway.state, rule=rule), what), what  # type: ignore[misc]


@ERAS
@pytest.mark.parametrize("place", ["/mcp/old", "/mcp#old"])
def test_too_few_scopes_are_403_with_all_that_the_call_needs(
    gateway: Serving, issuer: Issuer, place: str, *, is_modern: bool
) -> None:
    client = SignedClient(gateway, place, issuer.token(aud=resource(place), scope="old:read"), is_modern=is_modern)
    client.open()
    client.list_tools()
    message = json.dumps(client.render("tools/call", {"name": client.prefix + "note", "arguments": {}})).encode()
    found = send(gateway.base, "POST", client.path, message, client.headers(message))
    assert found.status == 403
    challenge = found.headers["www-authenticate"]
    for said in ('error="insufficient_scope"', 'scope="old:write"', f'resource_metadata="{PUBLIC}{METADATA}'):
        assert said in challenge
    assert "offline_access" not in challenge


def test_tokens_of_our_own_are_good_beside_those_of_an_issuer(gateway: Serving) -> None:
    client = SignedClient(gateway, "/mcp/old", token(gateway.state, subject="alice"), is_modern=False)
    client.open()
    assert client.call("look").text == "fine"
    assert eventually(lambda: [r for r in read_records(gateway.state, tool="look") if r.actor == "alice"], "a record")


def test_one_name_at_two_issuers_is_two_callers(gateway: Serving, issuer: Issuer) -> None:
    mine = SignedClient(gateway, "/mcp/old", issuer.token(aud=resource("/mcp/old"), scope="old"), is_modern=False)
    mine.open()
    mine.token = token(gateway.state, subject="alice")
    assert mine.call("look").status == 404


def test_a_refreshed_token_keeps_its_session(gateway: Serving, issuer: Issuer) -> None:
    mine = SignedClient(
        gateway, "/mcp/old", issuer.token(aud=resource("/mcp/old"), jti="1", scope="old"), is_modern=False
    )
    mine.open()
    mine.token = issuer.token(aud=resource("/mcp/old"), jti="2", scope="old")
    assert mine.call("look").text == "fine"


def test_each_endpoint_says_what_it_is_and_where_to_sign_in(gateway: Serving, issuer: Issuer) -> None:
    for path, suffix in [("/mcp", ""), ("/mcp", "/mcp"), ("/mcp/old", "/mcp/old"), ("/mcp/nobody", "/mcp/nobody")]:
        found = send(gateway.base, "GET", METADATA + suffix)
        assert (found.status, json.loads(found.body)) == (
            200,
            {
                "resource": PUBLIC + path,
                "authorization_servers": [issuer.url],
                "bearer_methods_supported": ["header"],
                "resource_name": "handfast" if path == "/mcp" else f"handfast: {path.rpartition('/')[2]}",
                "scopes_supported": ["old:read"],
            },
        )
    assert send(gateway.base, "POST", METADATA, b"{}").status == 405
    for odd in ("/x", "/mcpx", "/other/mcp/old"):
        assert send(gateway.base, "GET", METADATA + odd).status == 401


def test_an_issuer_that_is_no_longer_trusted_ends_what_its_tokens_began(issuer: Issuer, tmp_path: Path) -> None:
    stub = stub_of(tmp_path, "old", LEGACY)
    servers = {"old": {"command": stub.command[0], "args": stub.command[1:]}}
    with running(servers, tmp_path, auth=auth(issuer)) as own:
        client = SignedClient(own, "/mcp/old", issuer.token(aud=resource("/mcp/old"), scope="old"), is_modern=False)
        client.open()
        assert client.call("look").text == "fine"
        other = auth(issuer, issuers=[{"name": "new", "issuer": "https://login.example"}])
        own.write_settings({"mcpServers": servers, "auth": other})
        eventually(lambda: status_of(client) == 401, "a refusal")
        assert send(own.base, "POST", "/mcp/old", call(1, "look"), client.headers(call(1, "look"))).status == 401


WRONG = {
    "no url": ({"public_url": None}, "auth.mode oauth needs auth.public_url"),
    "a path": ({"public_url": "https://a.example/mcp"}, "auth.public_url must not have a path"),
    "no issuers": ({"issuers": []}, "auth.mode oauth needs auth.issuers"),
    "plain http": ({"public_url": "http://a.example"}, "auth.public_url must be an https address"),
    "twice": (
        {"issuers": [{"name": "a", "issuer": "https://a.example"}, {"name": "a", "issuer": "https://b.example"}]},
        "auth.issuers has two with the same name",
    ),
    "a shared secret": (
        {"issuers": [{"name": "a", "issuer": "https://a.example", "algorithms": ["HS256"]}]},
        "algorithms of a must be some of RS256",
    ),
    "a typo": ({"issuers": [{"nam": "a", "issuer": "https://a.example"}]}, "what is wrong is at auth.issuers[0]"),
    "plain http inside": (
        {"issuers": [{"name": "a", "issuer": "http://a.example"}]},
        "what is wrong is at auth.issuers[0].issuer",
    ),
}


@pytest.mark.parametrize(("more", "said"), WRONG.values(), ids=WRONG.keys())
def test_wrong_settings_say_what_is_missing(issuer: Issuer, tmp_path: Path, more: dict[str, object], said: str) -> None:
    from handfast.gateway.settings import SettingsError, load_settings

    file = tmp_path / "handfast.json"
    block = {name: value for name, value in auth(issuer, **more).items() if value is not None}
    file.write_text(json.dumps({"mcpServers": {"a": {"command": "true"}}, "auth": block}))
    with pytest.raises(SettingsError) as refused:
        load_settings(file, environ={})
    assert said in str(refused.value)
