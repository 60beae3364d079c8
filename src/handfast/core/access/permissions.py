"""What the scopes of a caller allow: servers, tools by their kind, and prompts and resources. Pure."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from handfast.core.access.identity import Identity
from handfast.core.access.scopes import Scope, ScopeKind, match
from handfast.core.words.wording import scrubbed

# A tool stands for all of a server here, so that only scopes without a tool of their own count.
_ALL: Final = "*"
_MOST_DECIDED: Final = 4096  # of one identity; a caller may invent names of tools


class Denied(NamedTuple):
    """What a caller may not do, in words, and the scope that would allow it."""

    text: str
    scope: str


def may_enter(identity: Identity | None, server: str) -> bool:
    """Whether a caller may use anything of a server. Without authentication everybody may."""
    if identity is None:
        return True
    found = identity.decided.get((server, "", ""))
    return _decide(identity, server) if found is None else found


def may_call(identity: Identity | None, server: str, tool: str, kind: ScopeKind) -> bool:
    if identity is None:
        return True
    found = identity.decided.get((server, tool, kind))
    return _decide(identity, server, tool, kind) if found is None else found


def _decide(identity: Identity, server: str, tool: str = "", kind: str = "") -> bool:
    if len(identity.decided) >= _MOST_DECIDED:
        identity.decided.clear()
    if kind:
        found = match(identity.scopes, server=server, tool=tool, kind=kind)
    else:
        found = any(scope.names(server) for scope in identity.scopes)
    identity.decided[server, tool, kind] = found
    return found


def may_read(identity: Identity | None, server: str) -> bool:
    """Whether a caller may use prompts and resources: a scope for the whole server that allows reading is needed."""
    if identity is None:
        return True
    return any(scope.names(server) and scope.tool == _ALL and scope.kind in (None, "read") for scope in identity.scopes)


def covers(identity: Identity, scopes: Iterable[Scope]) -> bool:
    """Whether a token surely allows all that these scopes do."""
    return all(any(own.covers(other) for own in identity.scopes) for other in scopes)


def may_all(identity: Identity | None, server: str) -> bool:
    """Whether a caller may do everything at a server, so that nothing of it is hidden."""
    return identity is None or covers(identity, (Scope(server),))


def deny_entry(server: str) -> Denied:
    return Denied(f"The token has no scope for the server {server}. {_ask_for(server)}", server)


def deny_call(server: str, tool: str, kind: ScopeKind) -> Denied:
    scope = f"{server}:{kind}"
    return Denied(f"The token does not allow the tool {scrubbed(tool)} of {server}. {_ask_for(scope)}", scope)


def deny_reading(server: str, what: str) -> Denied:
    scope = f"{server}:read"
    return Denied(f"The token does not allow {what} of {server}. {_ask_for(scope)}", scope)


def _ask_for(scope: str) -> str:
    return f"Ask the operator for a token with the scope {scope}."
