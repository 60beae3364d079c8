"""URIs in one spelling, so that two that mean the same are compared as the same. Pure.

Only what RFC 3986 (6.2.2) says of every URI: the case of scheme and host, and percent-encoding. Only for comparing:
what goes to a server is always the client's own spelling.
"""

import re
from typing import Final

_HEAD: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)(?://([^/?#]*))?")
_ENCODED: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_DOTS: Final = re.compile(r"/\.\.?(?:[/?#]|$)")


def comparable(uri: str) -> str:
    if "%" in uri:
        uri = _ENCODED.sub(_decoded, uri)
    head = _HEAD.match(uri)
    if head is None:
        return uri
    scheme, authority = head.groups()
    if authority is None:
        return scheme.lower() + uri[head.end() :]
    user, at, host = authority.rpartition("@")
    return f"{scheme.lower()}//{user}{at}{host.lower()}{uri[head.end() :]}"


def has_dot_segments(uri: str) -> bool:
    """Whether a comparable URI has `.` or `..` segments, so that it may lead out of the folder it begins with."""
    return _DOTS.search(uri) is not None


def _decoded(found: re.Match[str]) -> str:
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else f"%{found[1].upper()}"
