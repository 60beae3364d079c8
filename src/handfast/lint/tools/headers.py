"""Parameters that are repeated in HTTP headers: the protocol's rules for `x-mcp-header`, and secrets kept out of it."""

import re
from collections.abc import Iterator

from handfast.core.words.redaction import is_secret_name
from handfast.lint.tools.schema_positions import Position, join, positions

MARK = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
_TYPES = ("string", "integer", "boolean")


def find_header_faults(schema: object) -> Iterator[tuple[str, str, str]]:
    """What is wrong with the marks of an input schema: the finding's id, the path, and why, as a sentence."""
    taken: set[str] = set()
    for position in positions(schema):
        if MARK not in position.schema:
            continue
        why = _broken_rule(position, taken)
        if why:
            yield "tool-header", join(position.path, MARK), why
        if position.names and is_secret_name(position.names[-1]):
            yield "tool-header-secret", position.path, "The name of this parameter looks like that of a secret."


def _broken_rule(position: Position, taken: set[str]) -> str:
    header = position.schema[MARK]
    if not position.names:
        return "Only a parameter under nothing but properties may be repeated in a header."
    if not isinstance(header, str) or not _TOKEN.fullmatch(header):
        return "This is not the name of a header: letters, digits and a few signs, and no spaces."
    if position.schema.get("type") not in _TYPES:
        return "Only a string, an integer or a boolean may be repeated in a header."
    if header.lower() in taken:
        return "Another parameter is repeated in the same header."
    taken.add(header.lower())
    return ""
