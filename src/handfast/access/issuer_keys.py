"""The public keys of an issuer: fetched beside the calls, kept, fetched again for a key that is not known."""

import asyncio
import ipaddress
import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from handfast.access.trusted import TrustedIssuer

Key = RSAKey | ECKey | OKPKey

_FRESH_S: Final = 600.0  # after that they are fetched again, beside the calls
_LEAST_PAUSE_S: Final = 10.0  # between two fetches, whatever key ids a caller invents
# A key that its issuer took back is not good for ever because the issuer cannot be reached.
_STALE_S: Final = 86_400.0
_FETCH_S: Final = 5.0
_MOST_BYTES: Final = 1024 * 1024
_MOST_KEYS: Final = 100
_KINDS: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
_CLASSES: Final[dict[str, Any]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}  # Any: classes without a common one

_log = logging.getLogger("handfast.access")


class KeysUnavailable(Exception):
    """The issuer's keys cannot be had, and none are kept that are young enough."""


class IssuerKeys:
    def __init__(
        self,
        trusted: TrustedIssuer,
        *,
        fetch: "Callable[[str], bytes] | None" = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._trusted = trusted
        self._fetch = fetch or fetch_document
        self._monotonic = monotonic
        self._keys: list[tuple[str, str | None, Key]] = []  # kind, id and key
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, algorithm: str, key_id: str | None) -> list[Key]:
        """The keys that may have signed a token. Raises: KeysUnavailable."""
        found = self._known(algorithm, key_id)
        if found and self._age() < _FRESH_S:
            return found
        if found and self._age() < _STALE_S:
            self._begin()  # the answer does not wait for it
            return found
        if (fetching := self._begin()) is not None:
            await asyncio.wait((fetching,), timeout=_FETCH_S)
        if self._age() >= _STALE_S:
            raise KeysUnavailable
        return self._known(algorithm, key_id)

    def _age(self) -> float:
        return float("inf") if self._fetched_at is None else self._monotonic() - self._fetched_at

    def _known(self, algorithm: str, key_id: str | None) -> list[Key]:
        kind = _KINDS[algorithm[:2]]
        return [key for of, name, key in self._keys if of == kind and (key_id is None or name == key_id)]

    def _begin(self) -> "asyncio.Task[None] | None":
        """The fetch under way; a new one, unless the last is only a moment ago."""
        if self._fetching is None or self._fetching.done():
            now = self._monotonic()
            if self._tried_at is not None and now - self._tried_at < _LEAST_PAUSE_S:
                return None
            self._tried_at = now
            self._fetching = asyncio.create_task(self._renew())
        return self._fetching

    async def _renew(self) -> None:
        try:
            self._keys = await asyncio.to_thread(self._read)
            self._fetched_at = self._monotonic()
        except (OSError, HTTPException, ValueError, RecursionError) as problem:
            _log.warning("the keys of the issuer %s cannot be had: %s", self._trusted.name, _why(problem))

    def _read(self) -> list[tuple[str, str | None, Key]]:
        """Runs on a thread of its own. Raises: OSError, ValueError."""
        document = _object(self._fetch(self._trusted.jwks_url or self._find_url()))
        listed = document.get("keys")
        if not isinstance(listed, list):
            raise ValueError("the document has no list of keys")
        return [found for entry in listed[:_MOST_KEYS] if (found := _read_key(entry)) is not None]

    def _find_url(self) -> str:
        """Raises: OSError, ValueError."""
        issuer = self._trusted.issuer
        parts = urlsplit(issuer)
        path = parts.path.rstrip("/")
        base = f"{parts.scheme}://{parts.netloc}"
        problem: Exception | None = None
        for url in (
            f"{issuer.rstrip('/')}/.well-known/openid-configuration",
            f"{base}/.well-known/oauth-authorization-server{path}",
        ):
            try:
                metadata = _object(self._fetch(url))
            except (OSError, HTTPException, ValueError) as failure:
                problem = problem or failure
                continue
            if metadata.get("issuer") != issuer:
                raise ValueError("its metadata names another issuer")
            found = metadata.get("jwks_uri")
            if not isinstance(found, str):
                raise ValueError("its metadata names no jwks_uri")
            return found
        raise ValueError(f"it has no metadata ({_why(problem)}); set jwks_url") from None


def _why(problem: Exception | None) -> str:
    if isinstance(problem, urllib.error.URLError):
        return str(problem.reason)
    return str(problem)


def _object(text: bytes) -> dict[str, object]:
    """Raises: ValueError."""
    found: object = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("the document is no JSON object")
    return found


def _read_key(entry: object) -> tuple[str, str | None, Key] | None:
    """A public key for signatures; None for any other. A shared secret is never one."""
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or "d" in entry:
        return None
    kind, name = entry.get("kty"), entry.get("kid")
    make = _CLASSES.get(kind) if isinstance(kind, str) else None
    if make is None or not isinstance(name, str | None):
        return None
    try:
        return str(kind), name, make.import_key(entry)
    except (JoseError, ValueError, TypeError, KeyError):
        return None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        """A redirect could lead to where the operator did not point."""


_opener = urllib.request.build_opener(_NoRedirects)


def fetch_document(url: str) -> bytes:
    """A small document of an issuer. Raises: OSError, HTTPException, ValueError."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(parts.hostname or "")):
        raise ValueError("it is not at an https address")
    asked = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310 - the scheme is checked
    deadline = time.monotonic() + _FETCH_S
    text = b""
    try:
        with _opener.open(asked, timeout=_FETCH_S) as response:
            while piece := response.read1(_MOST_BYTES + 1 - len(text)):
                text += piece
                if time.monotonic() > deadline:  # the timeout alone is for each piece
                    raise ValueError("it did not come in time")
                if len(text) > _MOST_BYTES:
                    break
    except urllib.error.HTTPError as problem:
        problem.close()
        raise ValueError(f"HTTP status {problem.code}") from None
    if len(text) > _MOST_BYTES:
        raise ValueError("the document is too long")
    return text


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
