"""TLS of the listener: a certificate and its key, read again when their files change."""

import logging
import os
import ssl
from pathlib import Path
from typing import Final

_log: Final = logging.getLogger("handfast.gateway")


class TlsUnusable(Exception):
    """The certificate or its key cannot be used; the message says why and what to do."""


class Certificate:
    """New connections get the certificate that is in the files; open ones keep theirs."""

    def __init__(self, certificate: str, key: str) -> None:
        """Raises: TlsUnusable."""
        self._certificate, self._key = Path(certificate).expanduser(), Path(key).expanduser()
        self._seen = self._stamp()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        self._load(self.context)

    def look(self) -> bool:
        """Takes up files that have changed, and returns whether it did. What cannot be used leaves the old in force."""
        seen = self._stamp()
        if seen == self._seen:
            return False
        self._seen = seen
        try:
            self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))  # both files, before the one in use is touched
            self._load(self.context)
        except TlsUnusable as problem:
            _log.error("the changed certificate was refused, the old one stays: %s", problem)
            return False
        return True

    def _stamp(self) -> tuple[object, ...]:
        return tuple(_stamp(path) for path in (self._certificate, self._key))

    def _load(self, context: ssl.SSLContext) -> None:
        """Raises: TlsUnusable."""
        for path in (self._certificate, self._key):
            if not os.access(path, os.R_OK):
                raise TlsUnusable(f"tls: {path} cannot be read. Check the path, and who may read it.")
        try:
            context.load_cert_chain(self._certificate, self._key, password=_no_password)
        except (ssl.SSLError, ValueError) as problem:
            why = getattr(problem, "reason", None) or "it is encrypted, or no PEM"
            raise TlsUnusable(
                f"tls: {self._certificate} and {self._key} cannot be used ({why}). Give a certificate with its chain,"
                " and its own key without a password, both in PEM."
            ) from None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _no_password() -> bytes:
    """Without this OpenSSL would ask at the terminal, and wait."""
    raise ValueError("the key has a password")
