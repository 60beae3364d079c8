"""TrustedIssuer: an authorization server whose tokens are accepted, as the settings name it."""

from typing import Annotated, Final

from msgspec import Meta, Struct

# Signatures that need a private key. With a shared secret, whoever can check a token could also make one.
ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "Ed25519",
    "EdDSA",
)
TRUSTED_URL: Final = r"^(https://[^\s/#?@]|http://(127\.0\.0\.1|localhost|\[::1\])([:/]|$))[^\s#?@]*$"
_Claim = Annotated[str, Meta(min_length=1, max_length=200)]


class TrustedIssuer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(pattern="^[A-Za-z0-9_.-]{1,64}$")]
    """Stands before the subject in records: `corp:alice`."""
    issuer: Annotated[str, Meta(pattern=TRUSTED_URL)]
    audiences: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    """What `aud` may be; empty: the address of the endpoint that is asked."""
    jwks_url: Annotated[str, Meta(pattern=TRUSTED_URL)] | None = None
    """Where its keys are; None: found through its metadata."""
    algorithms: tuple[str, ...] = ALGORITHMS
    subject_claim: _Claim = "sub"
    groups_claim: _Claim = "groups"
    scopes_claim: _Claim = "scope"
