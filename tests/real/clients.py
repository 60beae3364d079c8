"""The official clients, each in every way it can open a session."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from tests.parts import Mode, Outcome, Parts, Session, Target

Sdk = Literal["py", "ts", "ts1"]
Key = TypeVar("Key", bound=Hashable)
REVISIONS = {False: "2025-11-25", True: "2026-07-28"}


@dataclass(frozen=True, slots=True)
class RealClient:
    sdk: Sdk
    mode: Mode

    def is_modern_with(self, *, is_dual: bool) -> bool:
        """Which era it ends up in, with a server that speaks both or only the older one."""
        return self.mode == "2026-07-28" or (self.mode == "auto" and is_dual)

    def drive(self, parts: Parts, target: Target, steps: Sequence[object]) -> list[Outcome]:
        drivers: dict[Sdk, Callable[[], list[Outcome]]] = {
            "py": lambda: parts.py_client(target, steps, mode=self.mode),
            "ts": lambda: parts.ts_client(target, steps, mode=self.mode),
            "ts1": lambda: parts.ts_client(target, steps, sdk=1),
        }
        return drivers[self.sdk]()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A session to be held."""

    client: RealClient
    target: Target
    steps: Sequence[object]

    @property
    def session(self) -> Session:
        return {"target": self.target, "mode": self.client.mode, "answers": False, "steps": self.steps}


def hold_sessions(parts: Parts, wanted: Mapping[Key, Wanted]) -> dict[Key, list[Outcome]]:
    """One after the other, and all of a library's in one process: that takes longer to start than most sessions last.

    They are given in the order in which they were held.
    """
    held: dict[Key, list[Outcome]] = {}
    for sdk in dict.fromkeys(one.client.sdk for one in wanted.values()):
        own = {key: one.session for key, one in wanted.items() if one.client.sdk == sdk}
        held.update(zip(own, parts.sessions(sdk, list(own.values())), strict=True))
    return held


CLIENTS: Mapping[str, RealClient] = {
    "py-auto": RealClient("py", "auto"),
    "py-legacy": RealClient("py", "legacy"),
    "py-modern": RealClient("py", "2026-07-28"),
    "ts-auto": RealClient("ts", "auto"),
    "ts-legacy": RealClient("ts", "legacy"),
    "ts-modern": RealClient("ts", "2026-07-28"),
    "ts1": RealClient("ts1", "legacy"),
}


def pairs(*servers: str) -> list[tuple[str, str]]:
    """Every server with every SDK; the pinned modes where they add something: with the server that speaks both eras
    (a modern-only client can only talk to that one), and once with each transport of the older era."""
    found = []
    for server in servers:
        for name, client in CLIENTS.items():
            is_needed = client.mode == "auto" or client.sdk == "ts1" or server == "time"
            if is_needed or (client.mode == "legacy" and server.startswith("everything")):
                found.append((server, name))
    return found
