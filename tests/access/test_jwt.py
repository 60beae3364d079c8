"""The boundary `jwt`: what is made from claims is read back, and nothing else is taken for a token of this gateway."""

import base64
import json
import logging
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jws
from joserfc.jwk import OctKey, OKPKey, RSAKey
from pydantic import ValidationError

from handfast.access.jwt import ALGORITHM, ISSUER, JwtClaims, create_token, decode_token
from handfast.access.refused import AuthRefused

KEY = OKPKey.generate_key("Ed25519")
OTHER = OKPKey.generate_key("Ed25519")
KEYS = {"k1": KEY}
NOW = 1_800_000_000
CLAIMS = {"sub": "alice", "jti": "t1", "iss": ISSUER, "aud": "here", "iat": NOW - 5, "exp": NOW + 60}


def signed(payload: object, *, key: OKPKey = KEY, **header: object) -> bytes:
    """A token with any payload, signed all the same."""
    text = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    whole = {"alg": ALGORITHM, "kid": "k1", "typ": "JWT", **header}
    return jws.serialize_compact(whole, text, key, algorithms=[ALGORITHM]).encode()


def read(token: bytes, **more: object) -> JwtClaims:
    return decode_token(token, KEYS, **{"audience": "here", "now": float(NOW), **more})  # type: ignore[arg-type]


def refusal(token: bytes) -> str:
    with pytest.raises(AuthRefused) as caught:
        read(token)
    assert "alice" not in str(caught.value)
    return caught.value.rule


@pytest.mark.requirement("001-6")
@pytest.mark.requirement("001-18")
def test_what_was_made_from_claims_is_read_back() -> None:
    claims = JwtClaims.model_validate(
        {**CLAIMS, "username": "ci", "scope": "a b:read", "groups": ("dev",), "role": "r", "pwd_sig": "x"}
    )
    assert read(create_token(claims, KEY, "k1").encode()) == claims


@pytest.mark.requirement("001-6")
def test_times_are_seconds_and_a_datetime_becomes_such() -> None:
    when = datetime(2027, 1, 15, 8, 0, tzinfo=UTC)
    elsewhere = when.astimezone(timezone(timedelta(hours=5)))
    made = JwtClaims.model_validate({**CLAIMS, "iat": when, "exp": elsewhere})
    naive = JwtClaims.model_validate({**CLAIMS, "iat": when.replace(tzinfo=None)})
    assert made.iat == made.exp == naive.iat == int(when.timestamp())
    payload = create_token(made, KEY, "k1").split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(payload + "=="))["exp"] == made.exp


@pytest.mark.requirement("001-6")
@pytest.mark.requirement("001-18")
@pytest.mark.parametrize(
    "payload",
    [
        {**CLAIMS, "admin": True},
        {key: value for key, value in CLAIMS.items() if key != "jti"},
        {**CLAIMS, "exp": "1900000000"},
        {**CLAIMS, "exp": 1e9},
        {**CLAIMS, "exp": -1},
        {**CLAIMS, "sub": ""},
        {**CLAIMS, "aud": ["here"]},
        [],
        b"no json",
        b"",
        b"\xff",
    ],
    ids=["extra", "missing", "text", "float", "negative", "empty", "list", "array", "words", "nothing", "bytes"],
)
def test_signed_claims_of_another_shape_are_refused_with_one_line_in_the_log(
    payload: object, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert refusal(signed(payload)) == "auth.claims"
    (boundary,) = [line for line in caplog.records if line.name == "handfast.boundary"]
    assert (boundary.event, boundary.boundary) == ("api.boundary.validation_failed", "jwt")  # type: ignore[attr-defined]
    (line,) = [line for line in caplog.records if line.name == "handfast.access"]
    assert (line.event, line.reason) == ("security.auth.failed", "jwt_claims_malformed")  # type: ignore[attr-defined]
    assert "alice" not in caplog.text
    assert "1900000000" not in caplog.text


def unsigned(header: object, payload: object = CLAIMS) -> bytes:
    parts = (json.dumps(part).encode() for part in (header, payload))
    return b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts) + b"."


def confused() -> bytes:
    """A token whose secret is our public key, for a reader that takes the algorithm from the token."""
    public = KEY.as_dict(private=False)["x"]
    assert isinstance(public, str)
    raw = base64.urlsafe_b64decode(public + "=")
    secret = OctKey.import_key(raw)
    return jws.serialize_compact(
        {"alg": "HS256", "kid": "k1"}, json.dumps(CLAIMS).encode(), secret, algorithms=["HS256"]
    ).encode()


def of_another_kind() -> bytes:
    key = RSAKey.generate_key(2048)
    header = {"alg": "RS256", "kid": "k1", "jwk": key.as_dict(private=False)}
    return jws.serialize_compact(header, json.dumps(CLAIMS).encode(), key, algorithms=["RS256"]).encode()


GOOD = signed(CLAIMS)
FORGED = {
    "none": (unsigned({"alg": "none", "kid": "k1"}), "auth.signature"),
    "None": (unsigned({"alg": "None", "kid": "k1"}), "auth.signature"),
    "no algorithm": (unsigned({"kid": "k1"}), "auth.malformed"),
    "no signature": (unsigned({"alg": ALGORITHM, "kid": "k1"}), "auth.signature"),
    "a list of headers": (unsigned(["alg"]), "auth.signature"),
    "our key as a secret": (confused(), "auth.signature"),
    "a key of its own": (of_another_kind(), "auth.malformed"),
    "an embedded key": (signed(CLAIMS, key=OTHER, jwk=OTHER.as_dict(private=False)), "auth.signature"),
    "another key": (signed(CLAIMS, key=OTHER), "auth.signature"),
    "an unknown key": (signed(CLAIMS, kid="k2"), "auth.unknown_key"),
    "a list for a key": (unsigned({"alg": ALGORITHM, "kid": ["k1"]}), "auth.unknown_key"),
    "crit": (unsigned({"alg": ALGORITHM, "kid": "k1", "crit": ["b64"], "b64": False}), "auth.signature"),
    "another payload": (
        GOOD.split(b".")[0] + b"." + signed({**CLAIMS, "sub": "root"}).split(b".", 1)[1],
        "auth.signature",
    ),
    "cut": (GOOD[:-4], "auth.signature"),
    "two parts": (b".".join(GOOD.split(b".")[:2]), "auth.malformed"),
    "four parts": (GOOD + b".x", "auth.malformed"),
    "words": (b"hello", "auth.malformed"),
    "nothing": (b"", "auth.malformed"),
    "long": (GOOD + b"A" * 9000, "auth.malformed"),
    "another issuer": (signed({**CLAIMS, "iss": "Handfast"}), "auth.issuer"),
    "another gateway": (signed({**CLAIMS, "aud": "there"}), "auth.audience"),
    "expired": (signed({**CLAIMS, "exp": NOW}), "auth.expired"),
    "of tomorrow": (signed({**CLAIMS, "iat": NOW + 86_400}), "auth.not_yet"),
}
# Only the payload differs in these two, so that a signature over it is of the right key.
FORGED["another payload"] = (
    b".".join((GOOD.split(b".")[0], signed({**CLAIMS, "sub": "root"}).split(b".")[1], GOOD.split(b".")[2])),
    "auth.signature",
)


@pytest.mark.requirement("001-6")
@pytest.mark.parametrize(("token", "rule"), FORGED.values(), ids=FORGED.keys())
def test_a_forged_token_is_refused_and_the_record_can_say_why(token: bytes, rule: str) -> None:
    assert read(GOOD).sub == "alice"
    assert refusal(token) == rule


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode()))
def test_any_bytes_are_refused_in_the_same_way(token: bytes) -> None:
    with pytest.raises(AuthRefused):
        read(token)


@given(place=st.integers(min_value=0, max_value=len(GOOD) - 1), byte=st.integers(min_value=0, max_value=255))
def test_no_byte_of_a_token_can_be_exchanged_for_one_that_says_something_else(place: int, byte: int) -> None:
    token = GOOD[:place] + bytes([byte]) + GOOD[place + 1 :]
    try:
        assert read(token) == read(GOOD)  # the last letter of base64 has bits that mean nothing
    except AuthRefused:
        assert token != GOOD


def test_a_model_is_never_made_from_what_it_does_not_know() -> None:
    with pytest.raises(ValidationError):
        JwtClaims.model_validate({**CLAIMS, "scopes": "*"})
