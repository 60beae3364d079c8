"""Requests to one upstream: what is written to it, and the one redirect that is followed."""

import asyncio
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from urllib.parse import quote, urljoin, urlsplit

from handfast.gateway.http.pool import ConnectionPool
from handfast.gateway.http.response import (
    BodyTooLarge,
    Response,
    UpstreamFailed,
    UpstreamHungUp,
    UpstreamProtocolError,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)

__all__ = [
    "BodyTooLarge",
    "HttpClient",
    "RequestUnsafe",
    "Response",
    "ServerUrl",
    "UpstreamFailed",
    "UpstreamHungUp",
    "UpstreamProtocolError",
    "UpstreamRefused",
    "UpstreamTimeout",
    "UpstreamUnavailable",
    "UrlUnusable",
]

DEFAULT_PORTS = {"http": 80, "https": 443}
# Set by us for every request; a client's are left out.
OWN_HEADERS = frozenset({b"connection", b"content-length", b"transfer-encoding", b"host", b"accept-encoding"})

_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")  # RFC 9110 5.6.2, token
_METHOD = re.compile(r"[A-Z]+")
_TARGET = re.compile(r"/[!\"$-~]*")  # visible ASCII, and no fragment
_BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})


class RequestUnsafe(ValueError):
    """The request could be read in two ways; nothing of it was written."""


class UrlUnusable(ValueError):
    """The url cannot be called; the message says what to change, and never quotes it (it may hold secrets)."""


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """The parts of a url: where to connect, and what to request there."""

    scheme: str
    host: str
    port: int
    target: str

    @classmethod
    def parse(cls, url: str) -> "ServerUrl":
        """Raises: UrlUnusable."""
        # urlsplit drops some control characters silently, so look first.
        if any(character <= " " or character == "\x7f" for character in url):
            raise UrlUnusable("The url holds a blank or a control character. Remove it, or write a blank as %20.")
        try:
            parts = urlsplit(url)
            host, port = (parts.hostname or "").encode("idna").decode(), parts.port
        except ValueError:
            raise UrlUnusable("The url's host or port is malformed. Write it as https://host:port/path.") from None
        if parts.scheme not in DEFAULT_PORTS or not host or port == 0:
            raise UrlUnusable("The url is not an http or https address. Write it as https://host:port/path.")
        if "@" in parts.netloc:
            raise UrlUnusable("The url holds a user name or password. Take it out and send an Authorization header.")
        path = parts.path or "/"
        target = quote(f"{path}?{parts.query}" if parts.query else path, safe="!\"$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
        return cls(parts.scheme, host, port or DEFAULT_PORTS[parts.scheme], target)

    @property
    def authority(self) -> str:
        """The value of the Host header: no default port, and no IPv6 zone, which stays local (RFC 6874)."""
        host = f"[{self.host.partition('%')[0]}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"


class HttpClient:
    """One upstream. Every request goes out at most once; answers stream with back-pressure."""

    def __init__(
        self,
        url: str,
        *,
        connect_timeout: float = 10,
        idle_seconds: float = 2.0,  # well under the 5 s after which uvicorn closes, since no request is repeated
        max_connections: int = 256,
        tls: ssl.SSLContext | None = None,
        waits_for_pairing: bool = False,
    ) -> None:
        """`tls` replaces the default context, for private certificate authorities.

        With `waits_for_pairing` an answer that was read whole keeps its connection until `Response.release`: a peer
        that sends one answer too many is out of step, which only the requester can notice. Raises: UrlUnusable.
        """
        self._endpoint = endpoint = ServerUrl.parse(url)
        if endpoint.scheme == "https" and tls is None:
            tls = ssl.create_default_context()
        self._pool = ConnectionPool(
            endpoint.origin,
            endpoint.host,
            endpoint.port,
            tls=tls if endpoint.scheme == "https" else None,
            connect_timeout=connect_timeout,
            idle_seconds=idle_seconds,
            max_connections=max_connections,
            waits_for_pairing=waits_for_pairing,
        )
        self._openings = {method: self._render_opening(method, endpoint.target) for method in ("POST", "GET", "DELETE")}

    @property
    def origin(self) -> str:
        """Scheme, host and port, safe to show."""
        return self._endpoint.origin

    async def request(
        self,
        method: str,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes = b"",
        *,
        target: str | None = None,
        response_timeout: float | None,
    ) -> Response:
        """Sends once, and returns when the answer's head is here.

        The timeout spans everything until then: waiting for a free connection, connecting, one redirect.
        Raises: RequestUnsafe, UpstreamUnavailable, UpstreamProtocolError, UpstreamTimeout.
        """
        fields = self._render_fields(method, headers, len(body))
        opening = self._openings.get(method) if target is None else None
        if opening is None:
            opening = self._render_opening(method, self._endpoint.target if target is None else target)
        deadline = inf if response_timeout is None else asyncio.get_running_loop().time() + response_timeout
        response = await self._exchange(method, opening + fields, body, deadline)
        if response.status not in (307, 308):
            return response
        moved_to = self._same_origin_target(response, target)
        if moved_to is None:
            return response
        response.dismiss()
        return await self._exchange(method, self._render_opening(method, moved_to) + fields, body, deadline)

    @property
    def is_busy(self) -> bool:
        """Whether a request is under way."""
        return self._pool.is_busy

    def dismiss(self, text: str) -> None:
        """Requests under way fail with this text."""
        self._pool.dismiss(text)

    async def close(self) -> None:
        """Closes every connection; requests under way fail."""
        await self._pool.close()

    async def _exchange(self, method: str, head: bytes, body: bytes, deadline: float) -> Response:
        pool = self._pool
        connection = pool.take_warm() or await pool.acquire(deadline)
        pool.watch(deadline)
        answer = connection.send(head, body, has_body=method != "HEAD", deadline=deadline)
        try:
            return await answer
        except asyncio.CancelledError:
            connection.abandon(answer)
            if not answer.cancelled() and answer.exception() is None:
                answer.result().abort()  # the answer came in the same moment
            raise

    def _same_origin_target(self, response: Response, target: str | None) -> str | None:
        """Returns the target of a 307 or 308 on the same origin, else None: no other host may get method and body."""
        location = response.header(b"location")
        if not location:
            return None
        try:
            here = self._endpoint.origin + (self._endpoint.target if target is None else target)
            there = ServerUrl.parse(urljoin(here, location.decode("ascii")))
        except ValueError:
            return None
        return there.target if there.origin == self._endpoint.origin else None

    def _render_opening(self, method: str, target: str) -> bytes:
        if not _METHOD.fullmatch(method):
            raise RequestUnsafe(f"The method for {self.origin} is not in capital letters only. Use one such as POST.")
        if not _TARGET.fullmatch(target):
            raise RequestUnsafe(f"The target on {self.origin} is not a path of visible ASCII. Percent-encode it.")
        lines = f"{method} {target} HTTP/1.1\r\nHost: {self._endpoint.authority}\r\nAccept-Encoding: identity\r\n"
        return lines.encode("ascii")

    def _render_fields(self, method: str, headers: Sequence[tuple[bytes, bytes]], body_size: int) -> bytes:
        pieces: list[bytes] = []
        for name, value in headers:
            if not _is_own(name):
                pieces += (name, b": ", value, b"\r\n")
        block = b"".join(pieces)
        # Each line ends with exactly two such bytes: counting them in one pass is cheaper than checking every value.
        if len(block.translate(None, b"\r\n\0")) != len(block) - len(pieces) // 2:
            raise RequestUnsafe(f"A header for {self.origin} holds a line break or NUL. Remove it and call again.")
        if body_size or method in _BODY_METHODS:
            return b"%bContent-Length: %d\r\n\r\n" % (block, body_size)
        return block + b"\r\n"


@lru_cache(maxsize=256)  # names repeat; the bound is there because clients choose them
def _is_own(name: bytes) -> bool:
    """Whether this header is ours to set. Raises: RequestUnsafe for an invalid name."""
    if not _NAME.fullmatch(name):
        raise RequestUnsafe("A header's name holds a character that no name may have. Remove that header.")
    return name.lower() in OWN_HEADERS
