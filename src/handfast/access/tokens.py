"""Tokens of this gateway: issued with a name, a subject and scopes, and verified against what is kept of them."""

import re
import secrets
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from joserfc.jwk import OKPKey

from handfast.access.jwt import ISSUER, JwtClaims, create_token, decode_token
from handfast.access.refused import AuthRefused
from handfast.access.token_store import FILE_NAME, TokenEntry, TokenStore, check_version, read_entries, read_keys
from handfast.activity.state_folder import prepare_database
from handfast.activity.store import StoreError
from handfast.core.access.identity import Identity
from handfast.core.access.scopes import Scope, parse_scopes
from handfast.core.call import rules

# No colon: in records it stands between an issuer and its subject. No blank: names are listed with blanks between.
_NAME: Final = re.compile(r"[A-Za-z0-9_.@+-]{1,128}")
_WAIT_SECONDS: Final = 0.1
_REVOKED: Final = "The token was revoked. Ask the operator for a new one."


# Scopes and groups of one token, in characters: what is longer makes a token that no header should have to hold.
LONGEST_RIGHTS: Final = 4000


class NameTaken(Exception):
    """A token of this name is in force."""


def is_name(text: str) -> bool:
    """Whether the text can name a token, a subject or a group."""
    return _NAME.fullmatch(text) is not None


def issue_token(
    store: TokenStore,
    *,
    name: str,
    subject: str,
    scopes: Iterable[Scope],
    groups: Iterable[str],
    seconds: float,
    now: float,
) -> tuple[TokenEntry, str]:
    """A new token and its text, which is kept nowhere. Raises: NameTaken, StoreError."""
    entry = TokenEntry(
        id=secrets.token_hex(8),
        name=name,
        subject=subject,
        scopes=" ".join(map(str, scopes)),
        groups=" ".join(groups),
        created=now,
        expires=now + seconds,
    )
    key = store.add(entry, now)
    if key is None:
        raise NameTaken(name)
    claims = JwtClaims(
        sub=subject,
        jti=entry.id,
        iss=ISSUER,
        aud=store.audience(),
        iat=int(now),
        exp=int(entry.expires),
        username=name,
        scope=entry.scopes,
        groups=tuple(groups),
    )
    return entry, create_token(claims, OKPKey.import_key(Ed25519PrivateKey.from_private_bytes(key.seed)), key.id)


class KnownTokens:
    """The gateway's view of the store: it notices within a look what other processes have issued and revoked."""

    def __init__(self, folder: Path) -> None:
        """Raises: StoreError."""
        self._path = folder / FILE_NAME
        self._connection: sqlite3.Connection | None = None
        try:
            prepare_database(folder, FILE_NAME)  # private to its owner, and no link
            self._file = _file_at(self._path)
            # The gateway answers nobody while it waits here; readers wait for writers only while a file is made.
            self._connection = sqlite3.connect(self._path, timeout=_WAIT_SECONDS, isolation_level=None)
            if not check_version(self._connection, self._path):
                TokenStore(folder).audience()  # makes the tables
            found = self._connection.execute("SELECT audience FROM gateway").fetchone()
            self._audience = str(found[0])
            self._read()
        except (sqlite3.Error, OSError, TypeError) as problem:
            self.close()
            raise StoreError(_unreadable(problem)) from problem

    def _read(self) -> None:
        """Raises: sqlite3.Error."""
        assert self._connection is not None
        self._seen = self._connection.execute("PRAGMA data_version").fetchone()
        self._entries = {one.id: one for one in read_entries(self._connection)}
        self._keys = {
            name: OKPKey.import_key(Ed25519PublicKey.from_public_bytes(public))
            for name, public in read_keys(self._connection).items()
        }

    def look(self) -> bool:
        """Reads again what has changed; returns whether anything had. Raises: StoreError, also for another file."""
        assert self._connection is not None
        try:
            if _file_at(self._path) != self._file:
                raise StoreError(f"{FILE_NAME} is another file than before; it is read anew.")
            if self._connection.execute("PRAGMA data_version").fetchone() == self._seen:
                return False
            self._read()
        except (sqlite3.Error, OSError) as problem:
            raise StoreError(_unreadable(problem)) from problem
        return True

    def is_in_force(self, token: str) -> bool:
        entry = self._entries.get(token)
        return entry is not None and entry.revoked is None

    def verify(self, text: bytes, now: float) -> Identity:
        """The identity of a token of this gateway that is valid now. Raises: AuthRefused."""
        claims = decode_token(text, self._keys, audience=self._audience, now=now)
        entry = self._entries.get(claims.jti)
        if entry is None:  # only the store can say that it was not revoked
            raise AuthRefused(rules.AUTH_UNKNOWN_KEY, "The token is not known here any more. Ask for a new one.")
        if entry.revoked is not None:
            raise AuthRefused(rules.AUTH_REVOKED, _REVOKED)
        return Identity(
            subject=claims.sub,
            groups=frozenset(claims.groups),
            scopes=parse_scopes(claims.scope),
            token=claims.jti,
            expires=float(claims.exp),
        )

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _file_at(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def _unreadable(problem: Exception) -> str:
    why = problem.strerror if isinstance(problem, OSError) else str(problem)
    return f"{FILE_NAME} cannot be read: {why}. Nobody is let in until it can. Check the disk of the state folder."
