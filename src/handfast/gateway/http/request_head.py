"""The head of a request: read whole, refused where two parsers could read it differently."""

from typing import NamedTuple
from urllib.parse import unquote

import httptools

from handfast.core.call import rules
from handfast.gateway.http.exchange import Headers, HttpProblem

# Two and a half times what Apache accepts. Each becomes an object or two, of many times its length.
_HEADERS = 256
_VERSIONS = {b"HTTP/1.1": False, b"HTTP/1.0": True}


class RequestHead(NamedTuple):
    method: str
    path: str
    query: bytes
    headers: Headers
    """Names in lower case, values without the blanks around them, all of them in the order in which they came."""
    by_name: dict[bytes, bytes]
    """The first value of each name."""
    is_version_1_0: bool


class _Lines:
    """What the parser calls."""

    __slots__ = ("headers", "is_whole")

    def __init__(self) -> None:
        self.headers: Headers = []
        self.is_whole = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        self.is_whole = True


def read_head(head: bytes) -> RequestHead:
    """Parses a head, which ends with its only empty line. Raises: HttpProblem 400 and 431."""
    if head.count(b"\n") > _HEADERS + 2:
        text = f"The request has more than {_HEADERS} headers. Send fewer."
        raise HttpProblem(431, text, rule=rules.REQUEST_HEAD_TOO_LARGE)
    try:
        method, target, version = head[: head.index(b"\r\n")].split(b" ")
        is_version_1_0 = _VERSIONS[version]
    except (ValueError, KeyError):
        raise bad_request("its first line is not method, target and HTTP/1.1") from None
    lines = _Lines()
    try:
        httptools.HttpRequestParser(lines).feed_data(head)
    except httptools.HttpParserUpgrade:
        pass  # an Upgrade may be ignored; this is where WebSockets would begin
    except httptools.HttpParserError:
        raise bad_request("its head cannot be read") from None
    if not lines.is_whole:
        raise bad_request("its head cannot be read")
    path, query = _split_target(target)
    headers = lines.headers
    return RequestHead(method.decode("ascii"), path, query, headers, dict(reversed(headers)), is_version_1_0)


def read_length(head: RequestHead) -> int | None:
    """Returns the length of the body; None for one in chunks. Raises: HttpProblem 400."""
    encoding, length = head.by_name.get(b"transfer-encoding"), head.by_name.get(b"content-length")
    if encoding is None:
        return int(length) if length is not None else 0  # the parser accepts only one, of digits alone
    # With any other encoding, or one beside a length, a reader after us could see the body end elsewhere.
    times = sum(name == b"transfer-encoding" for name, _ in head.headers)
    if encoding.lower() != b"chunked" or times > 1 or length is not None or head.is_version_1_0:
        raise bad_request("its Transfer-Encoding is not chunked alone")
    return None


def asks_to_close(head: RequestHead) -> bool:
    """Whether the connection closes after the answer, as HTTP/1.0 clients always expect."""
    asked = head.by_name.get(b"connection")
    if asked is None or asked.lower() == b"keep-alive":
        return head.is_version_1_0
    wishes = b",".join(value for name, value in head.headers if name == b"connection")
    return head.is_version_1_0 or b"close" in [wish.strip() for wish in wishes.lower().split(b",")]


def expects_go_ahead(head: RequestHead) -> bool:
    return not head.is_version_1_0 and head.by_name.get(b"expect", b"").lower() == b"100-continue"


def bad_request(why: str) -> HttpProblem:
    text = f"The request is not HTTP as it should be: {why}. Send it as RFC 9112 has it."
    return HttpProblem(400, text, rule=rules.REQUEST_MALFORMED)


def _split_target(target: bytes) -> tuple[str, bytes]:
    """Path and query. Raises: HttpProblem 400."""
    try:
        url = httptools.parse_url(target)
    except httptools.HttpParserInvalidURLError:
        raise bad_request("its target is not a URL") from None
    path: str = (url.path or b"/").decode("ascii")
    return unquote(path) if "%" in path else path, url.query or b""
