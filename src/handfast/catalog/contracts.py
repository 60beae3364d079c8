"""What one server's tools promise: learnt from every tools/list that passes, compiled on first need."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from handfast.core.contract import CompiledContract, ToolContract
from handfast.core.schema import SchemaBounds

_OPEN_PASSES = 64  # paged listings under way at once; an abandoned one is forgotten


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
        # Names seen so far in each paged listing, by the cursor its next page will be asked with.
        self._passes: OrderedDict[bytes, set[str]] = OrderedDict()
        self.is_complete = False  # whether a whole pass was seen since the start

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

    def learn(self, page: Sequence[ToolContract], *, cursor: bytes | None, next_cursor: bytes | None) -> None:
        """Take one page of a listing. A page adds and changes; only a complete pass removes."""
        changes = [change for contract in page if (change := self._take(contract)) is not None]
        seen = set() if cursor is None else self._passes.pop(cursor, None)
        if seen is not None:
            seen.update(contract.name for contract in page)
            if next_cursor is None:
                changes.extend(self._drop_all_but(seen))
                self.is_complete = True
            else:
                self._passes[next_cursor] = seen
                if len(self._passes) > _OPEN_PASSES:
                    self._passes.popitem(last=False)
        if changes and self._on_change is not None:
            self._on_change(changes)

    def _take(self, contract: ToolContract) -> ContractChange | None:
        known = self._contracts.get(contract.name)
        if known is not None and known.fingerprint == contract.fingerprint:
            return None
        self._contracts[contract.name] = CompiledContract(contract, self._bounds)
        return ContractChange(contract.name, known.contract if known else None, contract)

    def _drop_all_but(self, names: set[str]) -> list[ContractChange]:
        gone = [name for name in self._contracts if name not in names]
        return [ContractChange(name, self._contracts.pop(name).contract, None) for name in gone]
