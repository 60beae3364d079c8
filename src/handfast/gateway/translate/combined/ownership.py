"""Which server owns a URI, decided from what servers have listed, linked and templated. Pure.

A list comes before a link, a link before a template: results may carry any text, and a template may fit any URI. Of
servers that list the same URI the first owns it, as in the joined list; where several link or template it, none does.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_MOST_NAMED: Final = 20


class By(StrEnum):
    LIST = "list"
    LINK = "link"
    TEMPLATE = "template"


@dataclass(frozen=True, slots=True)
class Claims:
    """The servers that claim a URI, in their order."""

    listed: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    templated: tuple[str, ...] = ()
    """A template of theirs fits it, with more than a scheme."""
    fitting: tuple[str, ...] = ()
    """Any template of theirs fits it, also one that fits everything of its scheme."""


@dataclass(frozen=True, slots=True)
class UriOwner:
    server: str
    by: By
    others: tuple[str, ...] = ()
    """Other servers that claim it too."""


def find_owner(claims: Claims) -> UriOwner | None:
    """The owner; None where no server claims the URI, or several do and none lists it."""
    if claims.listed:
        meant, by, among = claims.listed[:1], By.LIST, claims.listed + claims.linked  # whose item the joined list shows
    elif claims.linked:
        # A template does not decide between links: a server that links another's URI may list one as well.
        meant, by, among = claims.linked, By.LINK, claims.linked + claims.templated
    else:
        meant, by, among = claims.templated, By.TEMPLATE, ()
    if len(meant) != 1:
        return None
    return UriOwner(meant[0], by, tuple(dict.fromkeys(name for name in among if name != meant[0])))


def explain_no_owner(claims: Claims) -> str:
    """One line for the client: why nothing was read, and what to do."""
    several = claims.linked or claims.templated
    if several:
        return f"More than one server claims this URI: {_named(several)}. Use /mcp/<server> of the one that is meant."
    if claims.fitting:
        names = _named(claims.fitting)
        return f"Only templates that fit any URI of their scheme fit this one, of: {names}. Use /mcp/<server>."
    return "No server has listed, linked or templated this URI. Take one from resources/list, or use /mcp/<server>."


def _named(servers: tuple[str, ...]) -> str:
    return ", ".join(servers[:_MOST_NAMED])
