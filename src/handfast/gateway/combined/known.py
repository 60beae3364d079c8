"""What each caller was shown: the names, URIs and templates of each server, and the links in results.

Everything is kept by caller. What one caller's results link, or lists show that a server gives to him alone, tells
another caller nothing; whoever asks first asks the servers himself. All of it can be learnt again, so it is bounded and
the caller that was silent longest is forgotten first.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from handfast.gateway.combined.templates import read_template

_CALLER_BYTES: Final = 8 * 1024**2  # about 50,000 names or URIs
_ALL_BYTES: Final = 128 * 1024**2
_ENTRY: Final = 100  # what an entry costs besides its text
_LONGEST: Final = 8192  # of a URI that is remembered
_MOST_LINKS: Final = 10_000
_MOST_TEMPLATES: Final = 100  # of one server that are compared with a URI


class Known:
    """What one caller was shown. A list's entries are kept by kind (`tools`, `resources`, …) and server."""

    def __init__(self) -> None:
        self._listed: dict[tuple[str, str], dict[str, str]] = {}
        self._links: OrderedDict[str, str] = OrderedDict()  # URI → who linked it first
        self.bytes = 0
        self.not_before: dict[tuple[str, str], float] = {}  # when a list that failed may be asked for again

    def learn(self, kind: str, server: str, entries: Mapping[str, str], *, is_whole: bool) -> None:
        """Take what a list shows, by what clients call it; a whole list also takes away what it no longer shows."""
        before = self._listed.setdefault((kind, server), {})
        if is_whole:
            self.bytes -= _cost(before)
            before.clear()
        for public, own in entries.items():
            if public not in before and len(public) <= _LONGEST and self.bytes < _CALLER_BYTES:
                before[public] = own
                self.bytes += len(public) + _ENTRY

    def link(self, server: str, uris: Iterable[str]) -> None:
        """Whoever linked a URI first keeps it: a later result cannot take it over."""
        for uri in uris:
            if uri in self._links or len(uri) > _LONGEST:
                continue
            self._links[uri] = server
            self.bytes += len(uri) + _ENTRY
            while len(self._links) > _MOST_LINKS or (self.bytes > _CALLER_BYTES and len(self._links) > 1):
                forgotten, _ = self._links.popitem(last=False)
                self.bytes -= len(forgotten) + _ENTRY

    def own(self, kind: str, server: str, public: str) -> str | None:
        """What the server itself calls it."""
        return self._listed.get((kind, server), {}).get(public)

    def shown(self, kind: str, servers: Iterable[str]) -> list[str]:
        return [public for server in servers for public in self._listed.get((kind, server), {})]

    def owner(self, uri: str, servers: Sequence[str]) -> str | None:
        """Whose URI it is: the first server that lists it, else one whose template fits, else the one that linked it.

        Results may carry text from anywhere, so a link never takes a URI from a server that lists or templates it.
        """
        for server in servers:
            if uri in self._listed.get(("resources", server), {}):
                return server
        linked = self._links.get(uri)
        fitting = [server for server in servers if self._has_template_for(server, uri)]
        if fitting:
            return linked if linked in fitting else fitting[0]
        return linked if linked in servers else None

    def template_owner(self, template: str, servers: Sequence[str]) -> str | None:
        """Who listed exactly this template."""
        for server in servers:
            if template in self._listed.get(("resourceTemplates", server), {}):
                return server
        return None

    def _has_template_for(self, server: str, uri: str) -> bool:
        texts = list(self._listed.get(("resourceTemplates", server), {}))[:_MOST_TEMPLATES]
        return any(template.matches(uri) for text in texts if (template := read_template(text)) is not None)


def _cost(entries: Mapping[str, str]) -> int:
    return sum(map(len, entries)) + _ENTRY * len(entries)


class Knowledge:
    """What every caller was shown, within bounds."""

    def __init__(self) -> None:
        self._callers: OrderedDict[str, Known] = OrderedDict()

    def of(self, caller: str) -> Known:
        known = self._callers.get(caller)
        if known is None:
            known = self._callers[caller] = Known()
            self._forget()
        self._callers.move_to_end(caller)
        return known

    def forget(self, caller: str) -> None:
        """It will not come again."""
        self._callers.pop(caller, None)

    def _forget(self) -> None:
        # Once per new caller is enough: each one is bounded by itself.
        total = sum(known.bytes + 1000 for known in self._callers.values())
        while total > _ALL_BYTES and len(self._callers) > 1:
            _, forgotten = self._callers.popitem(last=False)
            total -= forgotten.bytes + 1000
