"""What may be said of an issuer in the settings."""

import msgspec
import pytest

from handfast.access.trusted import ALGORITHMS, TrustedIssuer


def read(**given: object) -> TrustedIssuer:
    return msgspec.convert({"name": "corp", "issuer": "https://login.example.com", **given}, TrustedIssuer)


def test_a_name_and_an_address_are_enough() -> None:
    found = read()
    assert (found.audiences, found.subject_claim, found.algorithms) == ((), "sub", ALGORITHMS)


@pytest.mark.parametrize(
    "issuer", ["https://a.example/realms/x", "http://127.0.0.1:8080", "http://localhost/", "http://[::1]:1"]
)
def test_an_issuer_is_at_https_or_on_this_machine(issuer: str) -> None:
    assert read(issuer=issuer).issuer == issuer


@pytest.mark.parametrize(
    "given",
    [
        {"issuer": "http://login.example.com"},
        {"issuer": "http://127.0.0.1.evil.example"},
        {"issuer": "https://a?b"},
        {"issuer": "http://localhost:80@evil.example/"},
        {"jwks_url": "http://127.0.0.1:1@evil.example/keys"},
        {"issuer": "https://a#b"},
        {"issuer": "login.example.com"},
        {"name": "a:b"},
        {"name": ""},
        {"jwks_url": "file:///keys"},
        {"audience": ["a"]},
        {"audiences": [""]},
        {"subject_claim": ""},
    ],
)
def test_anything_else_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(**given)


def test_no_algorithm_has_a_shared_secret() -> None:
    assert not [name for name in ALGORITHMS if name.startswith(("HS", "none"))]
