"""Tokens of other issuers: believed only if the issuer's own key has signed them, and they are for us and for now."""

import asyncio
import base64
import hmac
import json
import logging
import time
from collections.abc import Iterator

import pytest
from joserfc.jwk import ECKey, RSAKey

from handfast.access.issuers import IssuerClaims, Issuers, issuer_named_in
from handfast.access.refused import AuthRefused
from handfast.access.trusted import TrustedIssuer
from handfast.core.access.identity import Identity
from tests.access.issuer import ALGORITHMS, EC, OKP, RSA, Issuer, running_issuer, signed


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with running_issuer() as running:
        yield running


def trusted(issuer: Issuer, **more: object) -> TrustedIssuer:
    return TrustedIssuer(**{"name": "corp", "issuer": issuer.url, "audiences": ("here",), **more})  # type: ignore[arg-type]


def verify(issuer: Issuer, text: str, **more: object) -> Identity:
    async def run() -> Identity:
        return await Issuers([trusted(issuer, **more)]).verify(text.encode(), time.time())

    return asyncio.run(run())


def refusal(issuer: Issuer, text: str, **more: object) -> str:
    with pytest.raises(AuthRefused) as caught:
        verify(issuer, text, **more)
    assert "alice" not in str(caught.value)
    return caught.value.rule


@pytest.mark.requirement("001-18")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_token_of_the_issuer_says_who_calls(issuer: Issuer, algorithm: str) -> None:
    found = verify(
        issuer, issuer.token(algorithm=algorithm, jti="t1", azp="app", groups=["dev"], scope="up:read a/b openid")
    )
    assert (found.actor, found.client, found.token, found.groups) == ("corp:alice", "app", "t1", frozenset({"dev"}))
    assert [str(scope) for scope in found.scopes] == ["up:read", "a/b", "openid"]
    assert found.audiences is None


def test_an_issuer_may_write_lists_or_words_and_leave_out_an_id(issuer: Issuer) -> None:
    text = issuer.token(aud=["there", "here"], scope=["up:read", "up:write", 5], groups="dev ops", extra={"a": 1})
    found = verify(issuer, text)
    assert [str(scope) for scope in found.scopes] == ["up:read", "up:write"]
    assert found.groups == frozenset({"dev", "ops"})
    assert len(found.token) == 16
    assert verify(issuer, text).token == found.token


def test_claims_may_have_other_names(issuer: Issuer) -> None:
    text = issuer.token(email="ada@corp", roles=["dev"], permissions=["up"])
    found = verify(issuer, text, subject_claim="email", groups_claim="roles", scopes_claim="permissions")
    assert (found.actor, found.groups, [str(scope) for scope in found.scopes]) == (
        "corp:ada@corp",
        frozenset({"dev"}),
        ["up"],
    )


def test_without_configured_audiences_the_token_keeps_its_own_for_each_endpoint(issuer: Issuer) -> None:
    found = verify(issuer, issuer.token(aud=["https://a/mcp", "https://a/mcp/up"]), audiences=())
    assert found.audiences == frozenset({"https://a/mcp", "https://a/mcp/up"})


def test_what_is_not_of_our_form_is_no_scope(issuer: Issuer) -> None:
    odd = "https://graph/mail.read up:sudo /x UP:READ up:read"
    assert [str(scope) for scope in verify(issuer, issuer.token(scope=odd)).scopes] == ["up:read"]


def unsigned(claims: dict[str, object], **header: object) -> str:
    parts = (json.dumps(part).encode() for part in ({"alg": "none", "kid": "r", **header}, claims))
    return b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts).decode() + "."


def confused(issuer: Issuer) -> str:
    """For a reader that takes the algorithm from the token: joserfc itself refuses to make one."""
    text = unsigned(issuer.claims(), alg="HS256").rstrip(".")
    mark = hmac.digest(RSA.as_pem(private=False), text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(mark).decode().rstrip('=')}"


def forged(issuer: Issuer) -> dict[str, tuple[str, str]]:
    now = int(time.time())
    other = RSAKey.generate_key(2048)
    good = issuer.token()
    return {
        "none": (unsigned(issuer.claims()), "auth.signature"),
        "NONE": (unsigned(issuer.claims(), alg="NONE"), "auth.signature"),
        "its public key as a secret": (confused(issuer), "auth.signature"),
        "another key under its id": (signed(issuer.claims(), other, {"alg": "RS256", "kid": "r"}), "auth.signature"),
        "an unknown key": (signed(issuer.claims(), other, {"alg": "RS256", "kid": "x"}), "auth.unknown_key"),
        "a key of another kind": (signed(issuer.claims(), EC, {"alg": "ES256", "kid": "r"}), "auth.unknown_key"),
        "a key that it brings": (
            signed(issuer.claims(), other, {"alg": "RS256", "kid": "r", "jku": "http://127.0.0.1:1/keys"}),
            "auth.signature",
        ),
        "critical": (signed(issuer.claims(), RSA, {"alg": "RS256", "kid": "r", "crit": ["kid"]}), "auth.signature"),
        "another issuer": (issuer.token(iss="https://elsewhere"), "auth.issuer"),
        "almost the issuer": (issuer.token(iss=issuer.url + "/"), "auth.issuer"),
        "no issuer": (issuer.token(iss=None), "auth.issuer"),
        "another audience": (issuer.token(aud="there"), "auth.audience"),
        "no audience": (issuer.token(aud=None), "auth.claims"),
        "an audience by prefix": (issuer.token(aud="here2"), "auth.audience"),
        "an audience by case": (issuer.token(aud="HERE"), "auth.audience"),
        "expired": (issuer.token(exp=now - 31), "auth.expired"),
        "without end": (issuer.token(exp=None), "auth.claims"),
        "of tomorrow": (issuer.token(nbf=now + 3600), "auth.not_yet"),
        "made tomorrow": (issuer.token(iat=now + 3600), "auth.not_yet"),
        "no subject": (issuer.token(sub=None), "auth.claims"),
        "an empty subject": (issuer.token(sub=" "), "auth.claims"),
        "a subject with a line": (issuer.token(sub="a\nb"), "auth.claims"),
        "a number for a subject": (issuer.token(sub=5), "auth.claims"),
        "text for a time": (issuer.token(exp="9999999999"), "auth.claims"),
        "cut": (good[:-4], "auth.signature"),
        "words": ("hello", "auth.issuer"),
        "long": (good + "A" * 50_000, "auth.issuer"),
    }


@pytest.mark.requirement("001-18")
def test_a_forged_token_is_refused_and_the_record_can_say_why(issuer: Issuer) -> None:
    cases = forged(issuer)
    assert {what: refusal(issuer, text) for what, (text, _) in cases.items()} == {
        what: rule for what, (_, rule) in cases.items()
    }


def test_an_algorithm_that_is_not_listed_is_none(issuer: Issuer) -> None:
    assert refusal(issuer, issuer.token(algorithm="ES256"), algorithms=("RS256",)) == "auth.signature"


@pytest.mark.requirement("001-18")
def test_odd_claims_leave_one_line_without_values(issuer: Issuer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        refusal(issuer, issuer.token(exp="soon"))
    (line,) = [record for record in caplog.records if record.name == "handfast.boundary"]
    assert (line.event, line.boundary) == ("api.boundary.validation_failed", "jwt.issuer")  # type: ignore[attr-defined]
    assert "soon" not in caplog.text


def test_a_key_that_does_not_fit_does_not_hide_one_that_does(issuer: Issuer) -> None:
    """Without an id all keys of the kind are tried, whatever their curve and algorithm."""
    before = issuer.pages["/keys"]
    odd = [ECKey.generate_key("P-384").as_dict(private=False), {**RSA.as_dict(private=False), "alg": "PS256"}]
    issuer.show("/keys", {"keys": [*odd, EC.as_dict(private=False), RSA.as_dict(private=False)]})
    try:
        for key, algorithm in ((EC, "ES256"), (RSA, "RS256")):
            assert verify(issuer, signed(issuer.claims(), key, {"alg": algorithm})).actor == "corp:alice"
    finally:
        issuer.pages["/keys"] = before


def test_a_stream_lives_as_long_as_requests_are_let_in(issuer: Issuer) -> None:
    now = int(time.time())
    assert verify(issuer, issuer.token(exp=now - 20)).expires > now


def test_two_clocks_may_differ_by_half_a_minute(issuer: Issuer) -> None:
    now = int(time.time())
    assert verify(issuer, issuer.token(exp=now - 20, nbf=now + 20, iat=now + 20)).actor == "corp:alice"


@pytest.mark.parametrize(
    "text", [b"", b"a", b"a.b.c", b"a.e30.c", b"a.W10.c", b"a.\xff.c", b"..", b"a." + b"W1" * 60_000]
)
def test_whose_a_token_is_can_be_asked_of_anything(text: bytes) -> None:
    assert issuer_named_in(text) is None


def test_claims_are_a_model_that_lets_others_be() -> None:
    claims = IssuerClaims.model_validate({"iss": "i", "aud": "a", "exp": 1, "anything": {"at": "all"}})
    assert claims.audiences == {"a"}
    assert claims.model_dump()["anything"] == {"at": "all"}


def test_old_and_new_names_of_the_same_signature_are_both_known(issuer: Issuer) -> None:
    text = signed(issuer.claims(), OKP, {"alg": "EdDSA", "kid": "o"})
    assert verify(issuer, text).actor == "corp:alice"
