"""Which HTTP headers travel: hop-by-hop ones never, a client's credentials never, everything else does."""

from collections.abc import Iterable

from handfast.gateway.http_exchange import Headers

_HOP_BY_HOP = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
# Passing a client's token upstream is forbidden by the specification; its cookies and origin are for us, not for them.
_NOT_UPSTREAM = _HOP_BY_HOP | frozenset(
    (b"authorization", b"cookie", b"origin", b"host", b"content-length", b"accept-encoding", b"expect", b"referer")
)
_NOT_DOWNSTREAM = _HOP_BY_HOP | frozenset((b"content-length", b"server", b"date", b"set-cookie"))


def to_upstream(headers: Headers, configured: Headers) -> Headers:
    """The client's headers that go on, and the operator's, which win."""
    dropped = _NOT_UPSTREAM | _named_by_connection(headers) if _has_connection(headers) else _NOT_UPSTREAM
    if configured:
        dropped |= {name for name, _ in configured}
    return [header for header in headers if header[0] not in dropped] + configured


def to_client(headers: Headers) -> Headers:
    dropped = _NOT_DOWNSTREAM | _named_by_connection(headers) if _has_connection(headers) else _NOT_DOWNSTREAM
    return [header for header in headers if header[0] not in dropped]


def _has_connection(headers: Headers) -> bool:
    for name, _ in headers:  # noqa: SIM110 - a generator would cost more than all the rest
        if name == b"connection":
            return True
    return False


def _named_by_connection(headers: Headers) -> frozenset[bytes]:
    """RFC 9110 7.6.1: what Connection names is for this hop too."""
    names: Iterable[bytes] = (part for name, value in headers if name == b"connection" for part in value.split(b","))
    return frozenset(name.strip().lower() for name in names)
