"""Contracts learnt from a server's own tool lists: one view for each kind of caller, each contract compiled once."""

import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

from handfast.core.call.contract import CompiledContract, ToolContract
from handfast.core.schema.compiled import DEFAULT_BOUNDS

MOST_VIEWS = 256  # kinds of callers with their own list; past this the oldest is dropped, and listed again if needed

Schemas = tuple[Any, Any]  # Any: the input schema and the output schema as JSON, None where there is none
Page = Mapping[str, Schemas]


@dataclass(slots=True)
class _View:
    """The last whole list for one kind of caller, and its contracts."""

    listed: Page
    contracts: dict[str, CompiledContract] = field(default_factory=dict)


class ListedTools:
    """Contracts by view: lists may differ between callers, and none may learn of tools shown only to others."""

    def __init__(self) -> None:
        self._views: OrderedDict[str, _View] = OrderedDict()
        self._compiled: WeakValueDictionary[str, CompiledContract] = WeakValueDictionary()

    def find(self, view: str, tool: str) -> CompiledContract | None:
        known = self._views.get(view)
        return None if known is None else known.contracts.get(tool)

    def is_known(self, view: str) -> bool:
        """Whether the whole list for this kind of caller was seen."""
        return view in self._views

    def learn(self, view: str, page: Page, *, is_whole: bool = True) -> None:
        """Learns a list. A partial list only adds tools; a whole one also removes those that it lacks."""
        known = self._views.get(view)
        if not is_whole:
            if known is not None:
                known.contracts.update(self._contracts(page))
            return
        if known is not None and known.listed == page:
            return  # over HTTP the SDK lists the tools for many calls, usually without a change
        self._views[view] = _View(page, self._contracts(page))
        self._views.move_to_end(view)
        if len(self._views) > MOST_VIEWS:
            self._views.popitem(last=False)

    def forget(self) -> None:
        """Drops all views, because the tools have changed; the next call lists them again."""
        self._views.clear()

    def _contracts(self, page: Page) -> dict[str, CompiledContract]:
        found = [ToolContract(name, _text(taken), _text(given)) for name, (taken, given) in page.items()]
        compiled = self._compiled
        return {one.name: compiled.setdefault(one.fingerprint, CompiledContract(one, DEFAULT_BOUNDS)) for one in found}


def _text(schema: Any) -> bytes | None:  # Any: JSON
    return None if schema is None else json.dumps(schema, ensure_ascii=False, separators=(",", ":")).encode()
