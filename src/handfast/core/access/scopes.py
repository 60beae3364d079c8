"""Scopes: which tools of which servers a token allows, written `server`, `server/tool` or `server/tool:read`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from handfast.core.words.wording import scrubbed

ScopeKind: TypeAlias = Literal["read", "write", "admin"]

KINDS: Final[tuple[ScopeKind, ...]] = get_args(ScopeKind)
_SERVER: Final = re.compile(r"[\w.*-]+")  # the names that servers may have in settings, and patterns of them
_STARS: Final = re.compile(r"\*+")
_FORM: Final = "Write server, server/tool or either with :read, :write or :admin; * stands for any characters."


class ScopeError(ValueError):
    """A text that is not a scope; the message says in one line what is wrong and what to write."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope. Either name may hold `*`; a scope without a kind allows tools of every kind."""

    server: str
    tool: str = "*"
    kind: ScopeKind | None = None

    def __str__(self) -> str:
        tool = "" if self.tool == "*" else f"/{self.tool}"
        return f"{self.server}{tool}{f':{self.kind}' if self.kind else ''}"

    def names(self, server: str) -> bool:
        """Whether it is about this server."""
        return _fits(self.server, server)

    def covers(self, other: "Scope") -> bool:
        """Whether it surely allows all that the other one does; patterns are compared as they are written."""
        is_same = self.server in ("*", other.server) and self.tool in ("*", other.tool)
        return is_same and self.kind in (None, other.kind)

    def allows(self, *, server: str, tool: str, kind: str) -> bool:
        is_its_kind = self.kind is None or self.kind == kind
        return is_its_kind and _fits(self.server, server) and _fits(self.tool, tool)


def match(scopes: Iterable[Scope], *, server: str, tool: str, kind: str) -> bool:
    """Whether one of the scopes allows this tool. An empty set of scopes allows no tool."""
    return any(scope.allows(server=server, tool=tool, kind=kind) for scope in scopes)


def kind_of(annotations: Mapping[str, object] | None) -> ScopeKind:
    """The kind that a tool's annotations give it. As in the protocol, a tool without hints counts as destructive."""
    said = annotations or {}
    if said.get("readOnlyHint") is True:
        return "read"
    return "write" if said.get("destructiveHint") is False else "admin"


def parse_scopes(text: str) -> tuple[Scope, ...]:
    """Parses scopes separated by white space, and drops repeated ones. Raises: ScopeError."""
    return tuple(dict.fromkeys(parse_scope(one) for one in text.split()))


def parse_scope(text: str) -> Scope:
    """Parses one scope. Raises: ScopeError."""
    names, colon, kind = text.rpartition(":") if ":" in text else (text, "", "")
    server, slash, tool = names.partition("/")
    problem = _problem(server, slash, tool, colon, kind)
    if problem:
        raise ScopeError(f"'{scrubbed(text)}' is not a scope: {problem}. {_FORM}")
    found = next((each for each in KINDS if each == kind), None)
    return Scope(_STARS.sub("*", server), _STARS.sub("*", tool) if slash else "*", found)


def _problem(server: str, slash: str, tool: str, colon: str, kind: str) -> str:
    if colon and kind not in KINDS:
        return f"after the colon stands none of {', '.join(KINDS)}"
    if not server:
        return "it names no server (* is any)"
    if not _SERVER.fullmatch(server):
        return "a server's name has only letters, digits, dot, dash and underscore"
    if slash and not tool:
        return "after the slash stands no tool"
    # Other servers may give a tool any name, so only names that could be read in two ways are refused.
    is_plain = ":" not in tool and tool.isprintable() and " " not in tool
    return "" if is_plain else "a tool's name has no colon or space here"


def _fits(pattern: str, name: str) -> bool:
    """Whether the name fits the pattern. A regular expression would need exponential time for some patterns."""
    first, *others = pattern.split("*")
    if not others:
        return pattern == name
    *inner, last = others
    place = len(first)
    for part in inner:
        found = name.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return name.startswith(first) and name.endswith(last) and place + len(last) <= len(name)
