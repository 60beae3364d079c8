"""The boundary `jwt`: tokens of this gateway, made from claims and read back only if nothing about them is odd."""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Final

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from handfast.access.refused import AuthRefused
from handfast.boundary import parse_typed
from handfast.core.call import rules
from handfast.core.events import SECURITY_AUTH_FAILED

# RFC 9864's name for EdDSA with this one curve. The algorithm is ours to choose and never taken from a token.
ALGORITHM: Final = "Ed25519"
ISSUER: Final = "handfast"
# Ours have some four hundred bytes; reading a longer one would only cost time.
LONGEST: Final = 8 * 1024

MALFORMED: Final = "jwt_claims_malformed"
_FOREIGN: Final = "The token is not one of this gateway. Send the whole text that `handfast token create` printed."

_log = logging.getLogger("handfast.access")


def _to_epoch(value: object) -> object:
    if not isinstance(value, datetime):
        return value
    return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())


EpochSeconds = Annotated[int, BeforeValidator(_to_epoch), Field(ge=0, le=2**53)]


class JwtClaims(BaseModel):
    """The claims of a token of this gateway. Times are seconds since 1970; a datetime becomes such."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sub: Annotated[str, Field(min_length=1)]
    jti: Annotated[str, Field(min_length=1)]
    iss: str
    aud: str
    iat: EpochSeconds
    exp: EpochSeconds
    username: str | None = None
    role: str | None = None
    must_change_password: bool | None = None
    pwd_sig: str | None = None
    scope: str = ""
    groups: tuple[str, ...] = ()


def create_token(claims: JwtClaims, key: OKPKey, key_id: str) -> str:
    """The text of a token with these claims."""
    payload = claims.model_dump_json(exclude_none=True).encode()
    return jws.serialize_compact({"alg": ALGORITHM, "kid": key_id, "typ": "JWT"}, payload, key, algorithms=[ALGORITHM])


def decode_token(text: bytes, keys: Mapping[str, OKPKey], *, audience: str, now: float) -> JwtClaims:
    """The claims of a token of this gateway that is valid now. Raises: AuthRefused."""
    claims = read_claims(_verified(text, keys))
    if claims.iss != ISSUER:
        raise AuthRefused(rules.AUTH_ISSUER, _FOREIGN)
    if claims.aud != audience:
        raise AuthRefused(rules.AUTH_AUDIENCE, "The token was made for another gateway. Use one that was made here.")
    if claims.exp <= now:
        raise AuthRefused(rules.AUTH_EXPIRED, "The token has expired. Ask the operator for a new one.")
    if claims.iat > now + 60:
        raise AuthRefused(rules.AUTH_NOT_YET, "The token is not valid yet. Compare the clocks of both machines.")
    return claims


def _verified(text: bytes, keys: Mapping[str, OKPKey]) -> bytes:
    """The payload of a token that one of the keys has signed. Raises: AuthRefused."""
    if len(text) > LONGEST:
        raise AuthRefused(rules.AUTH_MALFORMED, _FOREIGN)
    try:
        token = jws.extract_compact(text)
        header: object = token.protected
        if not isinstance(header, dict) or header.get("alg") != ALGORITHM or header.keys() - {"alg", "kid", "typ"}:
            raise AuthRefused(rules.AUTH_SIGNATURE, _FOREIGN)
        key_id = header.get("kid")
        key = keys.get(key_id) if isinstance(key_id, str) else None
        if key is None:
            raise AuthRefused(rules.AUTH_UNKNOWN_KEY, _FOREIGN)
        if not jws.validate_compact(token, key, algorithms=[ALGORITHM]):
            raise AuthRefused(rules.AUTH_SIGNATURE, _FOREIGN)
    except (JoseError, ValueError, TypeError, RecursionError):
        raise AuthRefused(rules.AUTH_MALFORMED, _FOREIGN) from None
    return token.payload


def read_claims(payload: bytes) -> JwtClaims:
    """Raises: AuthRefused."""
    try:
        return parse_typed("jwt", payload, JwtClaims)
    except ValidationError:
        _log.warning(
            "%s: %s", SECURITY_AUTH_FAILED, MALFORMED, extra={"event": SECURITY_AUTH_FAILED, "reason": MALFORMED}
        )
        raise AuthRefused(rules.AUTH_CLAIMS, _FOREIGN) from None
