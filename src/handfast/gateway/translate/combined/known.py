"""What each caller was shown: the names, URIs and templates of each server, and the links in results.

Everything is kept by caller: one caller's lists and results must show another caller nothing, so each caller's own
requests ask the servers. All of it can be learnt again, so it is bounded: by caller, server and kind, so that no server
takes room from another, nor a server's URIs from its tools. Over all callers, the address that was shown the most
loses the caller that was silent longest.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from handfast.gateway.translate.combined.ownership import Claims
from handfast.gateway.translate.combined.templates import Template, read_template
from handfast.gateway.translate.combined.uris import comparable

_MIB: Final = 1024**2
# Of one server and one caller: about 25,000 names or URIs. A tool's name that is not kept goes to its server as it is.
_KIND_BYTES: Final = {"tools": 4 * _MIB, "prompts": 2 * _MIB, "resources": 4 * _MIB, "resourceTemplates": _MIB}
_LINK_BYTES: Final = _MIB
_ALL_BYTES: Final = 128 * 1024**2
_ENTRY: Final = 100  # what an entry costs besides its text
_MOST_CALLERS: Final = 10_000  # more are one client under many names
_CALLER: Final = 1000  # the cost of a caller that was shown nothing
_LONGEST: Final = 8192  # of a URI that is remembered
_MOST_LINKS: Final = 5000  # of one server
_MOST_TEMPLATES: Final = 100  # of one server that are compared with a URI
_RESOURCES: Final = "resources"
_TEMPLATES: Final = "resourceTemplates"
_LINKS: Final = "links"


class _Shown:
    """What one server has shown to one caller. A list's entries are kept by kind (`tools`, `resources`, …)."""

    def __init__(self) -> None:
        self.listed: dict[str, dict[str, str]] = {}
        self.respelt: set[str] = set()  # comparable forms of listed URIs that are spelt in another way
        self.links: OrderedDict[str, None] = OrderedDict()  # in their comparable form, the oldest first
        self.cut: set[str] = set()  # kinds of which not everything is kept
        self._sizes: Counter[str] = Counter()

    @property
    def bytes(self) -> int:
        return self._sizes.total()

    def learn(self, kind: str, entries: Mapping[str, str], *, is_whole: bool) -> None:
        before = self.listed.setdefault(kind, {})
        if is_whole:
            before.clear()
            self._sizes[kind] = 0
            self.cut.discard(kind)
        if is_whole and kind == _RESOURCES:
            self.respelt.clear()
        size, most = self._sizes[kind], _KIND_BYTES[kind]
        for public, own in entries.items():
            if public in before:
                continue
            if len(public) > _LONGEST or size >= most:
                self.cut.add(kind)
                continue
            before[public] = own
            size += len(public) + _ENTRY
            if kind == _RESOURCES and (form := comparable(public)) != public:
                self.respelt.add(form)
                size += len(form) + _ENTRY
        self._sizes[kind] = size

    def link(self, uris: Iterable[str]) -> None:
        for uri in uris:
            form = comparable(uri)
            if form in self.links or len(form) > _LONGEST:
                continue
            self.links[form] = None
            self._sizes[_LINKS] += len(form) + _ENTRY
            while len(self.links) > _MOST_LINKS or self._sizes[_LINKS] > _LINK_BYTES:
                forgotten, _ = self.links.popitem(last=False)
                self._sizes[_LINKS] -= len(forgotten) + _ENTRY

    def lists(self, form: str) -> bool:
        return form in self.respelt or form in self.listed.get(_RESOURCES, {})

    def fitting(self, form: str) -> list[Template]:
        texts = list(self.listed.get(_TEMPLATES, {}))[:_MOST_TEMPLATES]
        return [template for text in texts if (template := read_template(text)) is not None and template.matches(form)]


class CallerKnowledge:
    """What one caller was shown."""

    def __init__(
        self, address: str = "", on_change: Callable[["CallerKnowledge", int], None] | None = None, *, caller: str = ""
    ) -> None:
        """`on_change` takes how many more bytes, or fewer, are kept now."""
        self.caller = caller
        self.address = address
        self.has_links = False
        self.is_forgotten = False
        self._on_change = on_change
        self._servers: dict[str, _Shown] = {}
        self.not_before: dict[tuple[str, str], float] = {}  # when a list that failed may be asked for again
        self.asked: dict[tuple[str, str], float] = {}  # when a list was asked for last

    @property
    def bytes(self) -> int:
        return sum(shown.bytes for shown in self._servers.values())

    def learn(self, kind: str, server: str, entries: Mapping[str, str], *, is_whole: bool) -> None:
        """Keeps the entries of a list by their public names; a whole list also removes what it no longer shows."""
        shown = self._servers.setdefault(server, _Shown())
        before = shown.bytes
        shown.learn(kind, entries, is_whole=is_whole)
        self._changed(shown.bytes - before)

    def link(self, server: str, uris: Iterable[str]) -> None:
        shown = self._servers.setdefault(server, _Shown())
        before = shown.bytes
        shown.link(uris)
        self.has_links = self.has_links or bool(shown.links)
        self._changed(shown.bytes - before)

    def _changed(self, more: int) -> None:
        if more and self._on_change is not None:
            self._on_change(self, more)

    def is_cut(self, kind: str, server: str) -> bool:
        """Whether the server lists more of this kind than is kept."""
        shown = self._servers.get(server)
        return shown is not None and kind in shown.cut

    def own(self, kind: str, server: str, public: str) -> str | None:
        """The server's own name for a public name."""
        return self._listed(kind, server).get(public)

    def shown(self, kind: str, servers: Iterable[str]) -> list[str]:
        return [public for server in servers for public in self._listed(kind, server)]

    def claims(self, uri: str, servers: Sequence[str]) -> Claims:
        """Which of these servers have listed, linked or templated a URI."""
        form = comparable(uri)
        known = [(server, self._servers[server]) for server in servers if server in self._servers]
        # The exact spelling counts first: to some servers two spellings are two resources.
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
        """The servers that listed exactly this template."""
        return [server for server in servers if template in self._listed(_TEMPLATES, server)]

    def _listed(self, kind: str, server: str) -> Mapping[str, str]:
        shown = self._servers.get(server)
        return {} if shown is None else shown.listed.get(kind, {})


class Knowledge:
    """What every caller was shown, within bounds."""

    def __init__(self, most_bytes: int = _ALL_BYTES) -> None:
        self._most_bytes = most_bytes
        self._callers: OrderedDict[str, CallerKnowledge] = OrderedDict()
        # Callers without links: they can list again all that they were shown, so they make way first.
        self._unlinked: OrderedDict[str, None] = OrderedDict()
        self._counts: Counter[str] = Counter()  # callers by address
        self._bytes: Counter[str] = Counter()  # by address
        self._total = 0

    def of(self, caller: str, address: str = "") -> CallerKnowledge:
        known = self._callers.get(caller)
        if known is None:
            address = address or caller
            self._make_room(address)
            known = self._callers[caller] = CallerKnowledge(address, self._changed, caller=caller)
            self._unlinked[caller] = None
            self._counts[address] += 1
            self._changed(known, _CALLER)
        self._callers.move_to_end(caller)
        if not known.has_links and not known.is_forgotten:
            self._unlinked.move_to_end(caller)
        return known

    def _make_room(self, address: str) -> None:
        """Makes room for one more caller. An address holds at most half of them, then forgets its own."""
        if self._counts[address] >= _MOST_CALLERS // 2:
            self.forget(next(caller for caller, known in self._callers.items() if known.address == address))
        elif len(self._callers) >= _MOST_CALLERS:
            self.forget(next(iter(self._unlinked or self._callers)))

    def forget(self, caller: str) -> None:
        """Drops what a caller was shown: it will not come again, or has to make way."""
        known = self._callers.pop(caller, None)
        if known is None:
            return
        known.is_forgotten = True
        self._unlinked.pop(caller, None)
        self._counts[known.address] -= 1
        if not self._counts[known.address]:
            del self._counts[known.address]
        self._total -= known.bytes + _CALLER
        self._bytes[known.address] -= known.bytes + _CALLER
        if not self._bytes[known.address]:
            del self._bytes[known.address]

    def _changed(self, known: CallerKnowledge, more: int) -> None:
        if known.is_forgotten:
            return  # its open requests still use it, and then it is gone
        if known.has_links:
            self._unlinked.pop(known.caller, None)
        self._bytes[known.address] += more
        self._total += more
        while self._total > self._most_bytes and (leaver := self._find_leaver(known)) is not None:
            self.forget(leaver)

    def _find_leaver(self, spared: CallerKnowledge) -> str | None:
        """The other caller that was silent longest, of the address that was shown the most; else of any."""
        crowded = max(self._bytes, key=self._bytes.__getitem__)
        others = [(caller, known.address) for caller, known in self._callers.items() if known is not spared]
        own = (caller for caller, address in others if address == crowded)
        return next(own, None) or (others[0][0] if others else None)
