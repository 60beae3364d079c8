"""Which HTTP headers pass, by allow-list in both directions; only our own headers describe a body."""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from enum import Enum, auto
from functools import lru_cache

from handfast.core.call import rules
from handfast.gateway.http.exchange import Headers, HttpExchange, HttpProblem

_TO_UPSTREAM = frozenset(
    (
        b"accept",
        b"last-event-id",
        b"mcp-method",
        b"mcp-name",
        b"mcp-protocol-version",
        b"mcp-session-id",
        b"traceparent",
        b"tracestate",
        b"user-agent",
    )
)
# Not www-authenticate: the token that it asks for would be meant for the server, and must not pass through us.
_TO_CLIENT = frozenset((b"allow", b"mcp-protocol-version", b"mcp-session-id", b"retry-after"))
# With what else clients usually send: one comparison with this set saves checking each header.
_USUAL = _TO_UPSTREAM | frozenset(
    (
        b"accept-encoding",
        b"accept-language",
        b"authorization",
        b"connection",
        b"content-length",
        b"content-type",
        b"host",
        b"sec-fetch-mode",
        b"transfer-encoding",
    )
)
_EXTENSION = b"mcp-"
_PARAM = b"mcp-param-"
_REPEATING = re.compile(rb"mcp-(method\Z|name\Z|param-)")
# If one of these came twice, two readers could use different ones. Lists such as Accept may come in pieces.
_SINGLE = frozenset(
    (
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"host",
        b"last-event-id",
        b"origin",
        b"traceparent",
        b"transfer-encoding",
        b"user-agent",
    )
)
# In another charset the same bytes are another message, and no other parameter has a meaning for these types.
_PARAMETERS = frozenset((b"", b"charset=utf-8", b'charset="utf-8"'))


class Form(Enum):
    """What a body is, by its Content-Type."""

    JSON = auto()
    EVENTS = auto()
    OTHER = auto()
    """Also JSON or events in a charset that is not UTF-8, or with two Content-Types."""


_FORMS = {b"application/json": Form.JSON, b"text/event-stream": Form.EVENTS}


@lru_cache(maxsize=256)  # the same few on every request; the bound is there because the other side chooses them
def _form(content_type: bytes) -> Form:
    # Split and not matched: a pattern with optional blanks and parameters takes endless time for some values.
    kind, *parameters = (part.strip(b" \t") for part in content_type.lower().split(b";"))
    return _FORMS.get(kind, Form.OTHER) if _PARAMETERS.issuperset(parameters) else Form.OTHER


def form_of(headers: Headers) -> Form:
    kinds = [value for name, value in headers if name == b"content-type"]
    return _form(kinds[0]) if len(kinds) == 1 else Form.OTHER


# --- what comes from a client ----------------------------------------------------------------------------------------


def check_repeated(http: HttpExchange) -> None:
    """Raises: HttpProblem 400 for a header that may stand only once."""
    if not http.has_repeated_headers:
        return
    times = Counter(name for name, _ in http.headers)
    if any(count > 1 and (name in _SINGLE or name.startswith(_EXTENSION)) for name, count in times.items()):
        text = "A header that may stand only once is repeated. Send each header once."
        raise HttpProblem(400, text, rule=rules.REQUEST_REPEATED_HEADER)


def check_described(http: HttpExchange) -> None:
    """Refuses a body that is not plain JSON in UTF-8, which could be read in two ways. Raises: HttpProblem 415."""
    if _form(http.header(b"content-type") or b"") is not Form.JSON:
        text = "The body must be application/json in UTF-8. Send it so, with no other parameter."
        raise HttpProblem(415, text, rule=rules.REQUEST_UNREADABLE)
    encoding = http.header(b"content-encoding")
    if encoding and encoding.lower() != b"identity":
        text = "The body must not be encoded. Send it without Content-Encoding."
        raise HttpProblem(415, text, rule=rules.REQUEST_UNREADABLE)


# --- what a server is sent -------------------------------------------------------------------------------------------


class UpstreamHeaders:
    """Chooses the headers that one server gets: the client's that may pass, then the operator's, which win."""

    def __init__(self, configured: Headers, forwarded: Collection[bytes] = ()) -> None:
        """`forwarded` are the names that the operator added to the list."""
        # The code that writes the body also writes the headers that describe it, even if an operator's file has some.
        self._configured = [header for header in configured if not header[0].startswith(b"content-")]
        self._own = frozenset(name for name, _ in self._configured)
        self._forwarded = frozenset(forwarded) - self._own
        self._passed = _TO_UPSTREAM.union(forwarded) - self._own

    def choose(self, headers: Headers, *, has_others: bool = True) -> Headers:
        """Returns the headers to send. `has_others` is what `has_extensions` found."""
        passed = self._passed
        chosen = [header for header in headers if header[0] in passed]
        if has_others:
            chosen += [
                header for header in headers if header[0] not in passed and self._is_extension(header[0], headers)
            ]
        chosen += self._configured
        return chosen

    def choose_forwarded(self, headers: Headers) -> Headers:
        """Only what the operator added to the list, for a server that knows none of the protocol's."""
        return [header for header in headers if header[0] in self._forwarded]

    def choose_without_body(self, headers: Headers) -> Headers:
        """As `choose`, for a GET or DELETE: without the headers that name a method, a tool or an argument."""
        return self.choose([header for header in headers if not _REPEATING.match(header[0])])

    def _is_extension(self, name: bytes, headers: Headers) -> bool:
        """Whether a header of the protocol that is not on the list may pass.

        Many servers take `_` for `-` in a name. So a name with `_` passes only for an argument, whose name may hold
        any, and only if there is no other header that it could be taken for.
        """
        if name in self._own or not name.startswith(_EXTENSION):
            return False
        if b"_" not in name:
            return True
        folded = _fold(name)
        return name.startswith(_PARAM) and all(other == name or _fold(other) != folded for other, _ in headers)


def has_extensions(names: Iterable[bytes]) -> bool:
    """Whether any header is outside the usual ones, such as an argument's."""
    return not _USUAL.issuperset(names)


def _fold(name: bytes) -> bytes:
    return name.replace(b"_", b"-")


# --- what a client is sent -------------------------------------------------------------------------------------------


def to_client(headers: Headers) -> Headers:
    """Returns a server's headers that pass to the client beside our own, each once."""
    found = [header for header in headers if header[0] in _TO_CLIENT]
    return found if len(found) < 2 else [*dict(reversed(found)).items()]
