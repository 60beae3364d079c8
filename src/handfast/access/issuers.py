"""Tokens of other issuers: checked with the issuer's own keys, and read as its settings say."""

import json
import warnings
from collections.abc import Sequence
from hashlib import sha256
from typing import Annotated, Final

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.util import urlsafe_b64decode
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from handfast.access.issuer_keys import IssuerKeys, Key, KeysUnavailable
from handfast.access.jwt import ISSUER
from handfast.access.refused import AuthRefused
from handfast.access.trusted import TrustedIssuer
from handfast.boundary import parse_typed
from handfast.core.access.identity import Identity
from handfast.core.access.scopes import Scope, ScopeError, parse_scope
from handfast.core.call import rules

# With groups and claims of their own these are longer than ours; more than this no header of a client holds.
_LONGEST: Final = 48 * 1024
_LEEWAY_S: Final = 30.0  # between two machines' clocks
_MOST_SCOPES: Final = 1000
_LONGEST_SUBJECT: Final = 256
_NOT_TRUSTED: Final = "The token is of no issuer that is trusted here. Sign in again, or ask the operator."
_Number = Annotated[float, Field(ge=0, le=2**53)]


class IssuerClaims(BaseModel):
    """The claims that are read of every issuer's token. It may hold others."""

    model_config = ConfigDict(extra="allow", frozen=True)

    iss: str
    aud: str | list[str]
    exp: _Number
    nbf: _Number | None = None
    iat: _Number | None = None
    jti: str | None = None
    azp: str | None = None
    client_id: str | None = None

    @property
    def audiences(self) -> frozenset[str]:
        return frozenset((self.aud,) if isinstance(self.aud, str) else self.aud)


def issuer_named_in(text: bytes) -> str | None:
    """The issuer that a token names, before anything of it is believed; None if it cannot be read."""
    try:
        claims: object = json.loads(urlsafe_b64decode(text.split(b".")[1]))
    except (ValueError, IndexError, RecursionError):
        return None
    issuer = claims.get("iss") if isinstance(claims, dict) else None
    return issuer if isinstance(issuer, str) else None


class Issuers:
    def __init__(self, trusted: Sequence[TrustedIssuer]) -> None:
        self._trusted = {one.issuer: (one, IssuerKeys(one)) for one in trusted}

    def issued(self, text: bytes) -> bool:
        """Whether a token says that an issuer other than this gateway made it; nothing of it is checked yet."""
        return issuer_named_in(text) not in (None, ISSUER)

    def has(self, name: str) -> bool:
        """Whether an issuer of this name is still trusted."""
        return any(one.name == name for one, _ in self._trusted.values())

    async def verify(self, text: bytes, now: float) -> Identity:
        """The identity of a token that one of the issuers has signed and that is valid now. Raises: AuthRefused."""
        found = self._trusted.get(issuer_named_in(text) or "")
        if found is None or len(text) > _LONGEST:
            raise AuthRefused(rules.AUTH_ISSUER, _NOT_TRUSTED)
        trusted, keys = found
        claims = read_issued_claims(await _verified(text, trusted, keys))
        if claims.iss != trusted.issuer:  # as it was written, not as another reader took it
            raise AuthRefused(rules.AUTH_ISSUER, _NOT_TRUSTED)
        if claims.exp + _LEEWAY_S <= now:
            raise AuthRefused(rules.AUTH_EXPIRED, "The token has expired. Sign in again.")
        if max(claims.nbf or 0, claims.iat or 0) - _LEEWAY_S > now:
            raise AuthRefused(rules.AUTH_NOT_YET, "The token is not valid yet. Compare the clocks of both machines.")
        if trusted.audiences and not claims.audiences.intersection(trusted.audiences):
            raise AuthRefused(rules.AUTH_AUDIENCE, "The token was made for another service. Sign in for this one.")
        return _identity(trusted, claims, text)


async def _verified(text: bytes, trusted: TrustedIssuer, keys: IssuerKeys) -> bytes:
    """The payload of a token that the issuer has signed. Raises: AuthRefused."""
    try:
        token = jws.extract_compact(text)
        header: object = token.protected
        if not isinstance(header, dict) or header.get("alg") not in trusted.algorithms or "crit" in header:
            raise AuthRefused(rules.AUTH_SIGNATURE, _NOT_TRUSTED)
        algorithm, key_id = str(header["alg"]), header.get("kid")
        found = await keys.find(algorithm, key_id if isinstance(key_id, str) else None)
        if not found:
            raise AuthRefused(rules.AUTH_UNKNOWN_KEY, "The token's key is not one of its issuer. Sign in again.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joserfc warns of the older name of Ed25519
            if any(_has_signed(token, key, algorithm) for key in found):
                return token.payload
    except KeysUnavailable:
        text_of_it = "The keys of the token's issuer cannot be had at the moment. Try again later."
        raise AuthRefused(rules.AUTH_UNKNOWN_KEY, text_of_it) from None
    except (JoseError, ValueError, TypeError, RecursionError):
        raise AuthRefused(rules.AUTH_MALFORMED, _NOT_TRUSTED) from None
    raise AuthRefused(rules.AUTH_SIGNATURE, _NOT_TRUSTED)


def _has_signed(token: jws.CompactSignature, key: Key, algorithm: str) -> bool:
    """False also for a key that is of another curve, or only for another algorithm."""
    try:
        return jws.validate_compact(token, key, algorithms=[algorithm])
    except (JoseError, ValueError, TypeError):
        return False


def read_issued_claims(payload: bytes) -> IssuerClaims:
    """Raises: AuthRefused."""
    try:
        return parse_typed("jwt.issuer", payload, IssuerClaims)
    except ValidationError:
        raise AuthRefused(rules.AUTH_CLAIMS, _NOT_TRUSTED) from None


def _identity(trusted: TrustedIssuer, claims: IssuerClaims, text: bytes) -> Identity:
    """Raises: AuthRefused."""
    every = claims.model_dump()
    subject = every.get(trusted.subject_claim)
    if (
        not isinstance(subject, str)
        or not subject.strip()
        or len(subject) > _LONGEST_SUBJECT
        or not subject.isprintable()
    ):
        raise AuthRefused(rules.AUTH_CLAIMS, "The token does not say who signed in. The operator finds which claim.")
    return Identity(
        subject=subject,
        issuer=trusted.name,
        client=claims.azp or claims.client_id or "",
        groups=frozenset(_words(every.get(trusted.groups_claim))),
        scopes=_scopes(_words(every.get(trusted.scopes_claim))),
        token=claims.jti or sha256(text).hexdigest()[:16],
        audiences=None if trusted.audiences else claims.audiences,
        expires=claims.exp + _LEEWAY_S,
    )


def _words(claim: object) -> list[str]:
    """The words of a claim, which issuers write as a list or with blanks between."""
    if isinstance(claim, str):
        return claim.split()
    return [word for word in claim if isinstance(word, str)] if isinstance(claim, list) else []


def _scopes(words: Sequence[str]) -> tuple[Scope, ...]:
    """The scopes that are of our form. An issuer's own, such as offline_access, allow nothing here."""
    found: list[Scope] = []
    for word in words[:_MOST_SCOPES]:
        try:
            found.append(parse_scope(word))
        except ScopeError:
            continue
    return tuple(dict.fromkeys(found))
