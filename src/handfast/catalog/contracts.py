"""The contracts of one server's tools: learnt from every tools/list answer that passes, compiled on first use."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from handfast.core.bounds import MOST_ITEMS
from handfast.core.call.contract import CompiledContract, ToolContract
from handfast.core.schema.compiled import SchemaBounds

_OPEN_PASSES = 64  # paged listings in progress at once; the oldest is dropped
_VIEWS = 4096  # kinds of clients, by their capabilities, with a list each: a megabyte, as they share lists
_LISTINGS = 16  # different lists over all kinds; real servers have a few at most
_LONGEST_KEY = 256  # of a cursor, or of a client's capabilities
# Bytes of contracts in one page that are parsed because their spelling changed: some milliseconds. Spellings are kept,
# so the key orders of a server that has one per revision are known after a few lists.
_MOST_READ = 64 * 1024
_MOST_BYTES = 32 * 1024 * 1024  # of one listing, in memory and on disk; the largest real one has a hundredth of this


@dataclass(frozen=True, slots=True)
class ContractChange:
    """One tool whose contract is new, changed or removed."""

    tool: str
    before: ToolContract | None
    after: ToolContract | None

    @property
    def kind(self) -> str:
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


def short_key(text: bytes) -> bytes:
    """A bounded key for text that a client or server chose, which may have megabytes."""
    return text if len(text) <= _LONGEST_KEY else sha256(text).digest()


@dataclass(slots=True)
class ListPass:
    """A listing in progress: the names so far, and the bytes of their contracts."""

    names: set[str] = field(default_factory=set)
    size: int = 0


@dataclass(slots=True)
class _Listing:
    """The names of a complete listing, and the number of views that have it, usually all."""

    names: frozenset[str]
    views: int = 0


class ServerContracts:
    """The known contracts of one server."""

    def __init__(
        self,
        known: Iterable[ToolContract] = (),
        *,
        bounds: SchemaBounds,
        on_change: Callable[[Sequence[ContractChange]], None] | None = None,
        most: int = MOST_ITEMS,
    ) -> None:
        self._bounds = bounds
        self.most = most  # tools of one listing; further ones are not learnt
        self._on_change = on_change
        self._contracts = {contract.name: CompiledContract(contract, bounds) for contract in known}
        self._size = sum(compiled.contract.size for compiled in self._contracts.values())
        # The paged listings in progress, by view and the cursor of the next page.
        self._passes: OrderedDict[tuple[bytes, bytes], ListPass] = OrderedDict()
        # A server may list more tools to clients with more capabilities; each view is the last complete listing for one
        # kind. The least recently used view is dropped first, as a client can declare any number of kinds.
        self._views: OrderedDict[bytes, _Listing] = OrderedDict()
        self._listings: dict[frozenset[str], _Listing] = {}
        self._to_read = 0

    def __len__(self) -> int:
        return len(self._contracts)

    def find(self, tool: str) -> CompiledContract | None:
        return self._contracts.get(tool)

    def compiled(self, contract: ToolContract) -> CompiledContract:
        """An earlier contract, compiled: the current one if it promises the same."""
        known = self._contracts.get(contract.name)
        if known is not None and known.promises_same_as(contract):
            return known
        return CompiledContract(contract, self._bounds)

    def all(self) -> list[ToolContract]:
        return [compiled.contract for compiled in self._contracts.values()]

    def is_complete(self, view: bytes = b"") -> bool:
        """Whether a complete listing for the view was seen since the start. Marks the view as used."""
        if view not in self._views:
            return False
        self._views.move_to_end(view)
        return True

    def start_anew(self) -> None:
        """Marks all views as incomplete, as the next list may differ; the known contracts still judge."""
        self._views.clear()
        self._listings.clear()

    def learn(
        self,
        page: Sequence[ToolContract],
        *,
        cursor: bytes | None,
        next_cursor: bytes | None,
        view: bytes = b"",
        is_cut: bool = False,
        own: ListPass | None = None,
    ) -> int:
        """Learns one page of a listing. A page adds and changes contracts; only a complete listing removes them.

        `view` stands for the capabilities of the client that the list is for; a tool is removed when no view has it.
        Returns how many tools of the page are within the bounds: if some are not, or the page is cut, the listing ends
        there. `own` is a listing by handfast itself, kept apart so that other listings cannot displace it.
        """
        known = own or (ListPass() if cursor is None else self._passes.get((view, short_key(cursor))))
        seen = known or ListPass()
        taken = self._count_within(page, seen)
        self._to_read = _MOST_READ
        changes = [change for contract in page[:taken] if (change := self._take(contract)) is not None]
        if known is not None or taken < len(page):
            if next_cursor is None or is_cut or taken < len(page):
                changes.extend(self._complete(view, frozenset(seen.names)))
            elif own is None:
                following = (view, short_key(next_cursor))
                self._passes[following] = seen
                self._passes.move_to_end(following)
                if len(self._passes) > _OPEN_PASSES:
                    self._passes.popitem(last=False)
        if changes and self._on_change is not None:
            self._on_change(changes)
        return taken

    def _count_within(self, page: Sequence[ToolContract], seen: ListPass) -> int:
        """Adds to the listing the tools that fit into it; returns their number."""
        # During a listing the tools of the last one are still there, so there is room for two; tools for other kinds of
        # clients, and from pages without a listing, share it.
        room = 2 * self.most - len(self._contracts)
        room_in_bytes = 2 * _MOST_BYTES - self._size
        for number, contract in enumerate(page):
            is_new = contract.name not in seen.names
            room -= contract.name not in self._contracts
            room_in_bytes -= contract.size
            seen.size += contract.size
            if len(seen.names) + is_new > self.most or seen.size > _MOST_BYTES or min(room, room_in_bytes) < 0:
                return number
            seen.names.add(contract.name)
        return len(page)

    def _take(self, contract: ToolContract) -> ContractChange | None:
        known = self._contracts.get(contract.name)
        if known is not None and self._is_known(known, contract):
            return None
        self._size += contract.size - (known.contract.size if known is not None else 0)
        self._contracts[contract.name] = CompiledContract(contract, self._bounds)
        return ContractChange(contract.name, known.contract if known else None, contract)

    def _is_known(self, known: CompiledContract, contract: ToolContract) -> bool:
        """Whether the contract promises the same as before; past a bound per page it counts as new without parsing."""
        if known.is_spelt_as(contract):
            return True
        self._to_read -= contract.size
        return self._to_read >= 0 and known.promises_same_as(contract)

    def _complete(self, view: bytes, names: frozenset[str]) -> list[ContractChange]:
        listing = self._listings.setdefault(names, _Listing(names))
        listing.views += 1
        self._forget_view(view)
        self._views[view] = listing
        while len(self._views) > _VIEWS or len(self._listings) > _LISTINGS:
            self._forget_view(next(iter(self._views)))
        listed = frozenset[str]().union(*self._listings)
        gone = [self._contracts.pop(name).contract for name in list(self._contracts) if name not in listed]
        self._size -= sum(contract.size for contract in gone)
        return [ContractChange(contract.name, contract, None) for contract in gone]

    def _forget_view(self, view: bytes) -> None:
        listing = self._views.pop(view, None)
        if listing is not None:
            listing.views -= 1
            if not listing.views:
                del self._listings[listing.names]
