"""What one server's tools promise: learnt from every tools/list that passes, compiled on first need."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from handfast.core.contract import CompiledContract, ToolContract
from handfast.core.schema import SchemaBounds

_OPEN_PASSES = 64  # paged listings under way at once; an abandoned one is forgotten
_VIEWS = 16  # kinds of clients, by what they can do, whose lists are told apart
_TOOLS = 10_000  # of one server; a list without end teaches no more than this


@dataclass(frozen=True, slots=True)
class ContractChange:
    """One tool whose promise is new, different or gone."""

    tool: str
    before: ToolContract | None
    after: ToolContract | None

    @property
    def kind(self) -> str:
        if self.before is None:
            return "added"
        return "removed" if self.after is None else "changed"


class ServerContracts:
    """The contracts of one server, as far as they are known."""

    def __init__(
        self,
        known: Iterable[ToolContract] = (),
        *,
        bounds: SchemaBounds,
        on_change: Callable[[Sequence[ContractChange]], None] | None = None,
    ) -> None:
        self._bounds = bounds
        self._on_change = on_change
        self._contracts = {contract.name: CompiledContract(contract, bounds) for contract in known}
        # Names seen so far in each paged listing, by who asks and the cursor its next page will be asked with.
        self._passes: OrderedDict[tuple[bytes, bytes], set[str]] = OrderedDict()
        # A server may list more tools to clients that can do more; each view is the last whole pass of one kind.
        self._views: OrderedDict[bytes, frozenset[str]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._contracts)

    def find(self, tool: str) -> CompiledContract | None:
        return self._contracts.get(tool)

    def compiled(self, contract: ToolContract) -> CompiledContract:
        """A contract from earlier, ready to judge by: the current one where the promise is still the same."""
        known = self._contracts.get(contract.name)
        if known is not None and known.fingerprint == contract.fingerprint:
            return known
        return CompiledContract(contract, self._bounds)

    def all(self) -> list[ToolContract]:
        return [compiled.contract for compiled in self._contracts.values()]

    def is_complete(self, view: bytes = b"") -> bool:
        """Whether a whole pass was seen since the start."""
        return view in self._views

    def start_anew(self) -> None:
        """What was listed may differ from what will be: it still judges, but is complete no more."""
        self._views.clear()

    def learn(
        self, page: Sequence[ToolContract], *, cursor: bytes | None, next_cursor: bytes | None, view: bytes = b""
    ) -> None:
        """Take one page of a listing. A page adds and changes; only a complete pass removes.

        `view` says what the client that the list was made for can do; a tool is gone when no view has it.
        """
        changes = [change for contract in page if (change := self._take(contract)) is not None]
        seen = set() if cursor is None else self._passes.pop((view, cursor), None)
        if seen is not None:
            seen.update(contract.name for contract in page)
            if next_cursor is None:
                changes.extend(self._complete(view, frozenset(seen)))
            elif len(seen) <= _TOOLS:
                self._passes[view, next_cursor] = seen
                if len(self._passes) > _OPEN_PASSES:
                    self._passes.popitem(last=False)
        if changes and self._on_change is not None:
            self._on_change(changes)

    def _take(self, contract: ToolContract) -> ContractChange | None:
        known = self._contracts.get(contract.name)
        if known is not None and known.fingerprint == contract.fingerprint:
            return None
        if known is None and len(self._contracts) >= _TOOLS:
            return None
        self._contracts[contract.name] = CompiledContract(contract, self._bounds)
        return ContractChange(contract.name, known.contract if known else None, contract)

    def _complete(self, view: bytes, names: frozenset[str]) -> list[ContractChange]:
        self._views[view] = names
        self._views.move_to_end(view)
        if len(self._views) > _VIEWS:
            self._views.popitem(last=False)
        listed = frozenset[str]().union(*self._views.values())
        gone = [name for name in self._contracts if name not in listed]
        return [ContractChange(name, self._contracts.pop(name).contract, None) for name in gone]
