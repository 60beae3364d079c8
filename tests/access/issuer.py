"""An issuer for the tests, whose keys they hold: its metadata and keys over HTTP, and tokens of any kind."""

import contextlib
import json
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any  # JSON

from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

Key = RSAKey | ECKey | OKPKey
RSA, EC, OKP = RSAKey.generate_key(2048), ECKey.generate_key("P-256"), OKPKey.generate_key("Ed25519")
ALGORITHMS: dict[str, tuple[str, Key]] = {
    "RS256": ("r", RSA),
    "PS256": ("r", RSA),
    "ES256": ("e", EC),
    "Ed25519": ("o", OKP),
}
METADATA = "/.well-known/openid-configuration"


def public(key_id: str, key: Key) -> dict[str, Any]:
    return {**key.as_dict(private=False), "kid": key_id, "use": "sig"}


KEYS = [public("r", RSA), public("e", EC), public("o", OKP)]


@dataclass(slots=True)
class Issuer:
    """What it answers may be changed while it runs."""

    url: str
    pages: dict[str, tuple[int, bytes, dict[str, str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    pause: float = 0.0  # before each answer
    drips: bool = False  # a byte at a time, without end

    def __post_init__(self) -> None:
        self.show(METADATA, {"issuer": self.url, "jwks_uri": f"{self.url}/keys"})
        self.show("/keys", {"keys": KEYS})

    def show(self, path: str, page: object, status: int = 200, **headers: str) -> None:
        self.pages[path] = (status, page if isinstance(page, bytes) else json.dumps(page).encode(), headers)

    def claims(self, **more: object) -> dict[str, object]:
        now = int(time.time())
        every = {"iss": self.url, "sub": "alice", "aud": "here", "iat": now - 5, "exp": now + 600, "scope": "up:read"}
        return {name: value for name, value in {**every, **more}.items() if value is not None}

    def token(self, *, algorithm: str = "RS256", header: dict[str, object] | None = None, **more: object) -> str:
        key_id, key = ALGORITHMS[algorithm]
        return signed(self.claims(**more), key, {"alg": algorithm, "kid": key_id, **(header or {})})


def signed(claims: object, key: Key, header: dict[str, object]) -> str:
    payload = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return jws.serialize_compact(header, payload, key, algorithms=[str(header["alg"])])


@contextmanager
def running_issuer() -> Iterator[Issuer]:
    """An issuer that answers until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked.append(self.path)
            time.sleep(issuer.pause)
            if issuer.drips:
                self._drip()
                return
            status, page, headers = issuer.pages.get(self.path, (404, b"", {}))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(page)), **headers}.items():
                self.send_header(name, value)
            with contextlib.suppress(OSError):  # the gateway has given up on a slow answer
                self.end_headers()
                self.wfile.write(page)

        def _drip(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            with contextlib.suppress(OSError):
                self.end_headers()
                for _ in range(40):
                    self.wfile.write(b" ")
                    time.sleep(0.5)

        def log_message(self, *_: object) -> None:
            """Nothing to read for anybody."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = False
        issuer = Issuer(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
