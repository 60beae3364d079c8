"""Back offices for tests: each in a file of its own, with a clock that moves one second at every look."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from backoffice.app_state import AppState
from backoffice.domain.catalogue import CATALOGUE
from backoffice.domain.entities import Entity
from backoffice.handlers.toolbox import build_toolbox
from backoffice.opening import opened
from backoffice.seed import seed
from handfast.core.call.exchange import Recorder
from handfast.toolkit import Actor, Toolbox
from tests.demo import ROOT

T = TypeVar("T")
Json = dict[str, Any]  # Any: JSON

EXAMPLE = ROOT / "examples" / "backoffice"
DAWN = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)
GUARDS = {"confirm": True, "reason": "spring cleaning"}


class Ticking:
    """A second later at every look, so that nothing happens at the same time as anything else."""

    def __init__(self) -> None:
        self._looks = -1

    def __call__(self) -> datetime:
        self._looks += 1
        return DAWN + timedelta(seconds=self._looks)


@contextmanager
def open_office(folder: Path) -> Iterator[AppState]:
    with opened(folder / "office.db", now=Ticking()) as app:
        yield app


@dataclass(frozen=True, slots=True)
class Office:
    """Tools over a back office that has been seeded, called in this process."""

    app: AppState
    tools: Toolbox

    async def call(self, tool: str, arguments: Mapping[str, object] | None = None, *, actor: str = "ada") -> Json:
        """The payload of the answer. An empty actor is nobody."""
        answer = await self.tools.dispatch(tool, arguments, actor=Actor(id=actor) if actor else None)
        assert answer.payload is not None
        assert answer.is_error == (answer.payload["status"] == "error")
        return answer.payload

    async def data(self, tool: str, arguments: Mapping[str, object] | None = None, *, actor: str = "ada") -> Any:
        """What a call that succeeds answers with."""  # Any: JSON, of the tool's own shape
        payload = await self.call(tool, arguments, actor=actor)
        assert payload["status"] == "ok", payload
        return payload["data"]

    async def code(self, tool: str, arguments: Mapping[str, object] | None = None, *, actor: str = "ada") -> str:
        """The code that a call fails with, as this envelope's callers know it."""
        payload = await self.call(tool, arguments, actor=actor)
        assert payload["status"] == "error", payload
        return str(payload["domain_code"])


def in_office(
    folder: Path,
    session: Callable[[Office], Coroutine[Any, Any, T]],  # Any: what a coroutine sends and takes; nothing of ours
    *,
    entities: tuple[Entity, ...] = CATALOGUE,
    recorder: Recorder | None = None,
) -> T:
    """Run a session with the tools of the back office: all of them, or the written ones and those of some entities."""

    async def seeded(app: AppState) -> T:
        await seed(app)
        tools = build_toolbox(app, entities=entities, recorder=recorder)
        try:
            return await session(Office(app, tools))
        finally:
            await tools.registry.close()

    with open_office(folder) as app:
        return asyncio.run(seeded(app))
