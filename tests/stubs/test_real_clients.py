"""The stub is a server to every official client, in each era and over each transport."""

from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from typing import Literal

import pytest

from tests.parts import Mode, Outcome, Parts, Sdk, Session, Target
from tests.stubs.run import Stub, answer, serving, tool, write_stub

Way = Literal["stdio", "http-json", "http-sse"]
WAYS: tuple[Way, ...] = ("stdio", "http-json", "http-sse")
SDKS: tuple[Sdk, ...] = ("ts", "py")
DONE = {"resultType": "complete", "content": []}
ANSWERS = {"plain": answer(DONE), "busy": answer(DONE, "progress:2:0.001"), "cut": answer(DONE, "resume")}
VERSIONS: dict[Mode, str] = {"auto": "2026-07-28", "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}


def steps(mode: Mode) -> list[object]:
    """Resuming is for the 2025 revisions and SSE; elsewhere the fault changes nothing."""
    asked = [{"info": True}, {"list": True}, *({"call": {"name": name, "arguments": {}}} for name in ANSWERS)]
    return list(asked if mode == "legacy" else asked[:-1])


@dataclass(frozen=True, slots=True)
class Held:
    stubs: dict[tuple[Way, Mode], Stub]
    outcomes: dict[tuple[Sdk, Way, Mode], list[Outcome]]


@pytest.fixture(scope="module")
def held(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Held:
    """Every session, those of one client in one process."""
    stubs: dict[tuple[Way, Mode], Stub] = {}
    targets: dict[tuple[Way, Mode], Target] = {}
    outcomes: dict[tuple[Sdk, Way, Mode], list[Outcome]] = {}
    with ExitStack() as running:
        for way, mode in product(WAYS, VERSIONS):
            stub = write_stub(tmp_path_factory.mktemp(way), tools=[tool(name) for name in ANSWERS], answers=ANSWERS)
            stubs[way, mode] = stub
            targets[way, mode] = stub.command if way == "stdio" else running.enter_context(serving(stub, way))
        for sdk in SDKS:
            wanted: list[Session] = [
                {"target": target, "mode": mode, "answers": False, "steps": steps(mode)}
                for (_, mode), target in targets.items()
            ]
            keys = [(sdk, *place) for place in targets]
            outcomes.update(zip(keys, parts.sessions(sdk, wanted), strict=True))
    return Held(stubs, outcomes)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", VERSIONS)
def test_the_official_clients_use_the_stub(held: Held, way: Way, mode: Mode) -> None:
    for sdk in SDKS:
        outcomes = held.outcomes[sdk, way, mode]
        assert [outcome.get("error") for outcome in outcomes] == [None] * len(steps(mode))
        assert outcomes[0]["result"]["protocolVersion"] == VERSIONS[mode]
    assert len(held.stubs[way, mode].journal.calls("busy")) == 2
