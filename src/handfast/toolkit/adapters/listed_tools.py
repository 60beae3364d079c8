"""What a server's tools promise, learnt from its own lists: one view for each kind of caller, compiled once."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from handfast.core.call.contract import CompiledContract, ToolContract
from handfast.core.schema.compiled import DEFAULT_BOUNDS

MOST_VIEWS = 256  # callers with a list of their own; past that the oldest is forgotten and listed again

Schemas = tuple[Any, Any]  # Any: the input schema and the output schema as JSON, None where there is none
Page = Mapping[str, Schemas]


@dataclass(slots=True)
class _View:
    """The last whole list that one kind of caller got, and what follows from it."""

    listed: Page
    contracts: dict[str, CompiledContract] = field(default_factory=dict)


class ListedTools:
    """A list may differ from caller to caller, and no caller learns of a tool that only others are shown."""

    def __init__(self) -> None:
        self._views: OrderedDict[str, _View] = OrderedDict()
        self._compiled: WeakValueDictionary[str, CompiledContract] = WeakValueDictionary()

    def find(self, view: str, tool: str) -> CompiledContract | None:
        known = self._views.get(view)
        return None if known is None else known.contracts.get(tool)

    def is_known(self, view: str) -> bool:
        """Whether this kind of caller's whole list was seen."""
        return view in self._views

    def learn(self, view: str, page: Page, *, is_whole: bool = True) -> None:
        """Take a list. A part of one only adds; the whole also says what there is no more."""
        known = self._views.get(view)
        if not is_whole:
            if known is not None:
                known.contracts.update(self._contracts(page))
            return
        if known is not None and known.listed == page:
            return  # over HTTP the SDK lists the tools for many a call, and nearly always they are the same
        self._views[view] = _View(page, self._contracts(page))
        self._views.move_to_end(view)
        if len(self._views) > MOST_VIEWS:
            self._views.popitem(last=False)

    def forget(self) -> None:
        """The tools are others now: ask again before the next call."""
        self._views.clear()

    def _contracts(self, page: Page) -> dict[str, CompiledContract]:
        found = [ToolContract(name, _text(taken), _text(given)) for name, (taken, given) in page.items()]
        compiled = self._compiled
        return {one.name: compiled.setdefault(one.fingerprint, CompiledContract(one, DEFAULT_BOUNDS)) for one in found}


def _text(schema: Any) -> bytes | None:  # Any: JSON
    return None if schema is None else json.dumps(schema, ensure_ascii=False, separators=(",", ":")).encode()
