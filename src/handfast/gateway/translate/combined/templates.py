"""Whether a URI can come from a URI template (RFC 6570), found without running anything that a server wrote. Pure.

A template is read as text with gaps. The places that a match may have reached are kept as ranges, so nothing is tried
twice and no template can take long, however it is written. Template and URI are in their comparable form.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from handfast.gateway.translate.combined.uris import comparable, has_dot_segments

_EXPRESSION: Final = re.compile(r"\{([^{}]*)\}")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# Beyond these a template is not used; together they bound one comparison to about a millisecond.
_LONGEST_TEMPLATE: Final = 2048
_MOST_GAPS: Final = 16
_LONGEST_URI: Final = 4096
_MOST_PLACES: Final = 128  # where one piece of text is looked for

# Schemes that no server owns: only what follows first (a host, a bucket, the first folder) shows the server.
_WEB: Final = ("http", "https", "ws", "wss", "ftp", "ftps", "sftp", "ssh", "git", "file", "s3", "gs", "ui")
_SHARED_SCHEMES: Final = frozenset((*_WEB, "data", "blob", "mailto", "urn", "tag"))
_BEGINS_SEGMENT: Final = ("/", "?", "#", "&", ";")  # operators whose expansion never continues the segment before it
_BORDERS: Final = "/?#"
_VARIABLE: Final = "\0"

# What ends an expansion, by the operator in front; after `+` and `#` only the end of the URI does.
_STOPS_SIMPLE: Final = re.compile(r"[:/?#\[\]@!$&'()*+;=]")
_STOPS_PATH: Final = re.compile(r"[?#\[\]]")
_STOPS_SEGMENT: Final = re.compile(r"[/?#\[\]]")
_STOPS_QUERY: Final = re.compile(r"[#\[\]]")


@dataclass(frozen=True, slots=True)
class Gap:
    """An expansion: nothing at all, or what `lead` begins and `stop` ends."""

    lead: str
    stop: re.Pattern[str] | None  # None: only the end of the URI


_GAPS: Final = {
    "": Gap("", _STOPS_SIMPLE),
    "+": Gap("", None),
    "#": Gap("#", None),
    "/": Gap("/", _STOPS_PATH),
    ".": Gap(".", _STOPS_SEGMENT),
    ";": Gap(";", _STOPS_SEGMENT),
    "?": Gap("?", _STOPS_QUERY),
    "&": Gap("&", _STOPS_QUERY),
}

Place = tuple[int, int]  # the match may have reached any position from the first to the last
Piece = str | Gap


@dataclass(frozen=True, slots=True)
class Template:
    pieces: tuple[Piece, ...]
    decides: bool
    """Whether a match shows the server: a whole segment must be text, and in a shared scheme the first one."""

    def matches(self, uri: str) -> bool:
        """Whether a URI, in its comparable form, can come from the template; one with dot segments never does."""
        if len(uri) > _LONGEST_URI or has_dot_segments(uri):
            return False
        first, last = self.pieces[0], self.pieces[-1]
        if isinstance(first, str) and not uri.startswith(first):
            return False
        if isinstance(last, str) and not uri.endswith(last):
            return False
        places: list[Place] = [(0, 0)]
        for piece in self.pieces:
            places = _after_text(uri, piece, places) if isinstance(piece, str) else _after_gap(uri, piece, places)
            if not places:
                return False
        return places[-1][1] == len(uri)


@lru_cache(maxsize=1024)
def read_template(text: str) -> Template | None:
    """The template as pieces; None where it cannot be used.

    A template that does not begin with a scheme would match the URIs of every server.
    """
    if len(text) > _LONGEST_TEMPLATE or not _SCHEME.match(text):
        return None
    head, brace, rest = text.partition("{")
    text = comparable(head) + brace + rest
    pieces: list[Piece] = []
    position = 0
    for expression in _EXPRESSION.finditer(text):
        pieces += [text[position : expression.start()], _gap(expression[1])]
        position = expression.end()
    pieces.append(text[position:])
    if len(pieces) > 2 * _MOST_GAPS + 1 or any(isinstance(p, str) and ("{" in p or "}" in p) for p in pieces):
        return None
    return Template(tuple(piece for piece in pieces if piece != ""), _decides(text))


def _decides(text: str) -> bool:
    scheme, _, rest = text.partition(":")
    marked = _EXPRESSION.sub(_mark, rest.lstrip("/"))
    segments = re.split("[/?#]" if rest.startswith("/") else "[:/?#]", marked)
    said = segments[:1] if scheme in _SHARED_SCHEMES else segments
    return any(_VARIABLE not in segment and any(map(str.isalnum, segment)) for segment in said)


def _mark(expression: re.Match[str]) -> str:
    """The mark of an expression, as a new segment where the segment before it ends even if it expands to nothing."""
    if not expression[1].startswith(_BEGINS_SEGMENT):
        return _VARIABLE
    rest = expression.string[expression.end() :]
    while (following := _EXPRESSION.match(rest)) is not None and following[1].startswith(_BEGINS_SEGMENT):
        rest = rest[following.end() :]
    return f"/{_VARIABLE}" if not rest or rest[0] in _BORDERS else _VARIABLE


def _gap(expression: str) -> Gap:
    return _GAPS.get(expression[:1], _GAPS[""])


def _after_text(uri: str, text: str, places: list[Place]) -> list[Place]:
    found: list[Place] = []
    for start, end in places:
        position = uri.find(text, start, end + len(text))
        while position >= 0 and len(found) < _MOST_PLACES:
            reached = position + len(text)
            found.append((reached, reached))
            position = uri.find(text, position + 1, end + len(text))
    return found


def _after_gap(uri: str, gap: Gap, places: list[Place]) -> list[Place]:
    found = list(places)  # a gap may be empty
    reached = -1
    for start, end in places:
        if not gap.lead:
            if end >= reached:  # one that begins inside another ends where that one does
                reached = _end(uri, gap, end)
                found.append((start, reached))
            continue
        begin = uri.find(gap.lead, max(start, reached), end + 1)
        while begin >= 0 and len(found) < 2 * _MOST_PLACES:
            reached = _end(uri, gap, begin + 1)
            found.append((begin + 1, reached))
            begin = uri.find(gap.lead, reached, end + 1)
    return _joined(found)


def _end(uri: str, gap: Gap, position: int) -> int:
    stop = None if gap.stop is None else gap.stop.search(uri, position)
    return len(uri) if stop is None else stop.start()


def _joined(places: list[Place]) -> list[Place]:
    """The places in order, those that touch or overlap joined."""
    found: list[Place] = []
    for start, end in sorted(places):
        if found and start <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
