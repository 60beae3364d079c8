"""Every fault behind the bridge and at `/mcp`: the call ends as it does without them, and nobody else notices."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.contracts.rig import Route
from tests.faults.crossings import CROSSINGS, TIMEOUT_S, Crossing, crossed
from tests.faults.registry import BY_NAME
from tests.faults.scene import Scene
from tests.gateway.running import eventually, read_records

LATEST_S = TIMEOUT_S + 10.0
CASES = [
    pytest.param(crossing, route, name, id=f"{crossing.name}-{route}-{name}")
    for crossing in CROSSINGS
    for route, names in crossing.suffered.items()
    for name in names
]
Scenes = dict[Route, Scene]


@pytest.fixture(scope="module")
def scenes_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Crossing], Scenes]:
    """Played once each; what happened is kept."""
    played: dict[str, Scenes | None] = {}

    def play(crossing: Crossing) -> Scenes:
        if crossing.name not in played:
            played[crossing.name] = None  # a scene that cannot be set is not tried for every test anew
            with crossed(crossing, tmp_path_factory.mktemp(crossing.name)) as found:
                played[crossing.name] = found
        scenes = played[crossing.name]
        assert scenes is not None, "the scene could not be set"
        return scenes

    return play


@pytest.fixture
def scenes(request: pytest.FixtureRequest, scenes_of: Callable[[Crossing], Scenes]) -> Scenes:
    return scenes_of(request.param)


@pytest.mark.parametrize(("scenes", "route", "name"), CASES, indirect=["scenes"])
def test_a_call_to_a_server_that(scenes: Scenes, route: Route, name: str) -> None:
    ending, happened = BY_NAME[name].ends[route], scenes[route]
    outcome = happened.outcomes[name]
    error = outcome.message.get("error", {})
    assert (error.get("code"), "lost" in outcome.message) == (ending.code, False), outcome.message
    assert outcome.seconds < LATEST_S
    find = partial(read_records, happened.states[name], type="tool_call", tool=name, server=route)
    records = eventually(find, "its record")
    assert [(record.status.value, record.rule) for record in records] == [(ending.status, ending.rule)]


@pytest.mark.parametrize("scenes", CROSSINGS, indirect=True, ids=lambda crossing: crossing.name)
def test_other_callers_notice_nothing_and_all_their_calls_are_on_record(scenes: Scenes) -> None:
    happened = scenes["stdio"]
    for server, caller in happened.steady.items():
        assert (caller.failures, caller.calls > 0) == ([], True)
        eventually(partial(has_records, happened.states["hangs"], server, caller.calls), f"the records of {server}")


def has_records(state: Path, server: str, made: int) -> bool:
    return len(read_records(state, type="tool_call", tool="steady", server=server)) == made
