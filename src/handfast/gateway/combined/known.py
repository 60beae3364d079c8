"""What each caller was shown: the names, URIs and templates of each server, and the links in results.

Everything is kept by caller. What one caller's results link, or lists show that a server gives to him alone, tells
another caller nothing; whoever asks first asks the servers himself. All of it can be learnt again, so it is bounded: by
server, so that none crowds out what another has shown, and the caller that was silent longest is forgotten first.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from handfast.gateway.combined.ownership import Claims
from handfast.gateway.combined.templates import Template, read_template
from handfast.gateway.combined.uris import comparable

_SERVER_BYTES: Final = 4 * 1024**2  # about 25,000 names or URIs
_ALL_BYTES: Final = 128 * 1024**2
_ENTRY: Final = 100  # what an entry costs besides its text
_LONGEST: Final = 8192  # of a URI that is remembered
_MOST_LINKS: Final = 5000  # of one server
_MOST_TEMPLATES: Final = 100  # of one server that are compared with a URI
_RESOURCES: Final = "resources"
_TEMPLATES: Final = "resourceTemplates"


class _Shown:
    """What one server has shown to one caller. A list's entries are kept by kind (`tools`, `resources`, …)."""

    def __init__(self) -> None:
        self.listed: dict[str, dict[str, str]] = {}
        self.respelt: set[str] = set()  # comparable forms of listed URIs that are spelt in another way
        self.links: OrderedDict[str, None] = OrderedDict()  # in their comparable form, the oldest first
        self.bytes = 0

    def learn(self, kind: str, entries: Mapping[str, str], *, is_whole: bool) -> None:
        before = self.listed.setdefault(kind, {})
        if is_whole:
            self.bytes -= _cost(before)
            before.clear()
        if is_whole and kind == _RESOURCES:
            self.respelt.clear()
        for public, own in entries.items():
            if public not in before and len(public) <= _LONGEST and self.bytes < _SERVER_BYTES:
                before[public] = own
                self.bytes += len(public) + _ENTRY
                if kind == _RESOURCES and (form := comparable(public)) != public:
                    self.respelt.add(form)

    def link(self, uris: Iterable[str]) -> None:
        for uri in uris:
            form = comparable(uri)
            if form in self.links or len(form) > _LONGEST:
                continue
            self.links[form] = None
            self.bytes += len(form) + _ENTRY
            while len(self.links) > _MOST_LINKS or (self.bytes > _SERVER_BYTES and len(self.links) > 1):
                forgotten, _ = self.links.popitem(last=False)
                self.bytes -= len(forgotten) + _ENTRY

    def lists(self, form: str) -> bool:
        return form in self.respelt or form in self.listed.get(_RESOURCES, {})

    def fitting(self, form: str) -> list[Template]:
        texts = list(self.listed.get(_TEMPLATES, {}))[:_MOST_TEMPLATES]
        return [template for text in texts if (template := read_template(text)) is not None and template.matches(form)]


class Known:
    """What one caller was shown."""

    def __init__(self) -> None:
        self._servers: dict[str, _Shown] = {}
        self.not_before: dict[tuple[str, str], float] = {}  # when a list that failed may be asked for again
        self.asked: dict[tuple[str, str], float] = {}  # when a list was asked for last

    @property
    def bytes(self) -> int:
        return sum(shown.bytes for shown in self._servers.values())

    def learn(self, kind: str, server: str, entries: Mapping[str, str], *, is_whole: bool) -> None:
        """Take what a list shows, by what clients call it; a whole list also takes away what it no longer shows."""
        self._servers.setdefault(server, _Shown()).learn(kind, entries, is_whole=is_whole)

    def link(self, server: str, uris: Iterable[str]) -> None:
        self._servers.setdefault(server, _Shown()).link(uris)

    def own(self, kind: str, server: str, public: str) -> str | None:
        """What the server itself calls it."""
        return self._listed(kind, server).get(public)

    def shown(self, kind: str, servers: Iterable[str]) -> list[str]:
        return [public for server in servers for public in self._listed(kind, server)]

    def claims(self, uri: str, servers: Sequence[str]) -> Claims:
        """What these servers have said of a URI."""
        form = comparable(uri)
        known = [(server, self._servers[server]) for server in servers if server in self._servers]
        # Exactly as it is spelt first: to some servers two spellings are two things.
        exact = tuple(server for server, shown in known if uri in shown.listed.get(_RESOURCES, {}))
        listed = exact or tuple(server for server, shown in known if shown.lists(form))
        linked = tuple(server for server, shown in known if form in shown.links)
        if listed:
            return Claims(listed, linked)  # a template cannot matter, and takes time
        fitting = {server: found for server, shown in known if (found := shown.fitting(form))}
        return Claims(
            linked=linked,
            templated=tuple(server for server, found in fitting.items() if any(one.decides for one in found)),
            fitting=tuple(fitting),
        )

    def template_owners(self, template: str, servers: Sequence[str]) -> list[str]:
        """Who listed exactly this template."""
        return [server for server in servers if template in self._listed(_TEMPLATES, server)]

    def _listed(self, kind: str, server: str) -> Mapping[str, str]:
        shown = self._servers.get(server)
        return {} if shown is None else shown.listed.get(kind, {})


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
