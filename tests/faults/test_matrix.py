"""Every fault over every transport: the call ends, it is on record once, and nobody else notices."""

from collections.abc import Iterator

import pytest

from tests.contracts.rig import ROUTES, Route
from tests.faults.registry import BY_NAME, CASES, TIMEOUT_S, Ending
from tests.faults.scene import Scene, served, wrapped
from tests.gateway.running import eventually, read_records

# The wrapper looks for overdue calls once a second; the rest is for a machine that has other things to do.
LATEST_S = TIMEOUT_S + 6.0


@pytest.fixture(scope="module", params=ROUTES)
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Route, Scene]]:
    route: Route = request.param
    folder = tmp_path_factory.mktemp(route)
    with wrapped(folder) if route == "wrap" else served(route, folder) as found:
        yield route, found


def cases(route_and_scene: tuple[Route, Scene], name: str) -> tuple[Ending, Scene]:
    route, scene = route_and_scene
    if (route, name) not in CASES:
        pytest.skip("a fault of pipes")
    return BY_NAME[name].ends[route], scene


@pytest.mark.parametrize("name", BY_NAME)
def test_a_call_to_a_server_that(scene: tuple[Route, Scene], name: str) -> None:
    ending, happened = cases(scene, name)
    outcome = happened.outcomes[name]
    error = outcome.message.get("error", {})
    assert (error.get("code"), "lost" in outcome.message) == (ending.code, False), outcome.message
    assert outcome.seconds < LATEST_S
    records = eventually(lambda: read_records(happened.states[name], type="tool_call", tool=name), "its record")
    assert [(record.status.value, record.rule) for record in records] == [(ending.status, ending.rule)]


def test_other_callers_notice_nothing(scene: tuple[Route, Scene]) -> None:
    for caller in scene[1].steady.values():
        assert caller.failures == []
        assert caller.calls > 0


def test_every_call_of_the_others_is_on_record(scene: tuple[Route, Scene]) -> None:
    _, happened = scene
    made = sum(caller.calls for caller in happened.steady.values())
    state = happened.states["hangs"]
    eventually(lambda: len(read_records(state, type="tool_call", tool="steady")) == made, f"{made} records")
