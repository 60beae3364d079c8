"""Edits and the state they leave: one snapshot each, and a summary that says no more than it should."""

import asyncio
import subprocess
import sys

import pytest

from darkroom.edits import apply_primitive, bind_layers, remove_module, reset, take_snapshot
from darkroom.history import History
from darkroom.refusal import Refused
from darkroom.state import LayersPresent, StateSummary, summarize_state
from darkroom.studio import Studio, ingest


def labels(history: History) -> list[str]:
    return [snapshot.label for snapshot in history.ancestry(history.require_head())]


def test_every_change_is_one_snapshot(chart: History) -> None:
    apply_primitive(chart, "exposure", {"ev": 1}, module_id=None, enabled=True)
    bind_layers(chart, {"L1": "clean_sensor", "L2": "look_silver"})
    remove_module(chart, "exposure")
    take_snapshot(chart, "before lunch")
    reset(chart)
    assert labels(chart) == [
        "reset to baseline",
        "before lunch",
        "remove exposure",
        "bind L1 clean_sensor, L2 look_silver",
        "apply exposure",
        "ingest chart.png",
    ]
    assert chart.current_stack() == chart.stack(chart.require_baseline())


def test_applying_again_replaces_and_another_id_adds(chart: History) -> None:
    first = apply_primitive(chart, "exposure", {"ev": 1}, module_id=None, enabled=True)
    again = apply_primitive(chart, "exposure", {"ev": 2}, module_id=None, enabled=True)
    other = apply_primitive(chart, "exposure", {"ev": 3}, module_id="second", enabled=False)
    assert [(a.module.id, a.replaced) for a in (first, again, other)] == [
        ("exposure", False),
        ("exposure", True),
        ("second", False),
    ]
    assert [(m.id, m.enabled, m.parameters) for m in chart.current_stack().modules] == [
        ("exposure", True, {"ev": 2.0}),
        ("second", False, {"ev": 3.0}),
    ]


def test_a_refused_edit_leaves_no_trace(chart: History) -> None:
    before = chart.require_head()
    for change in (
        lambda: apply_primitive(chart, "exposure", {"ev": 9}, module_id=None, enabled=True),
        lambda: remove_module(chart, "nothing"),
        lambda: bind_layers(chart, {}),
        lambda: bind_layers(chart, {"L1": "clean_sensor", "L2": "clean_sensor"}),
    ):
        with pytest.raises(Refused):
            change()
    assert chart.require_head() == before


def test_binding_a_layer_again_replaces_it(chart: History) -> None:
    bind_layers(chart, {"L2": "look_silver"})
    modules = bind_layers(chart, {"L2": "look_neutral"})
    assert [(m.id, m.template) for m in modules] == [("l2-contrast", "look_neutral")]
    assert chart.current_stack().modules == modules


@pytest.mark.requirement("002-10")
def test_the_summary_counts_what_is_there(chart: History) -> None:
    bind_layers(chart, {"L2": "look_silver"})
    apply_primitive(chart, "exposure", {"ev": 1}, module_id=None, enabled=False)
    assert summarize_state(chart) == StateSummary(
        head_hash=chart.require_head(),
        entry_count=3,
        enabled_count=2,
        layers_present=LayersPresent(L1=False, L2=True, L3=True),
    )


@pytest.mark.requirement("002-10")
@pytest.mark.requirement("002-14")
def test_before_the_first_snapshot_there_is_no_hash_and_no_edit(studio: Studio) -> None:
    history = asyncio.run(ingest(studio, "chart.png", image_id=None, baseline=False))[1]
    nothing = StateSummary(
        head_hash=None, entry_count=0, enabled_count=0, layers_present=LayersPresent(L1=False, L2=False, L3=False)
    )
    assert summarize_state(history) == nothing
    for change in (
        lambda: apply_primitive(history, "exposure", {"ev": 1}, module_id=None, enabled=True),
        lambda: remove_module(history, "exposure"),
        lambda: bind_layers(history, {"L1": "clean_sensor"}),
        lambda: reset(history),
    ):
        with pytest.raises(Refused) as refused:
            change()
        assert refused.value.code == "state_error"
    assert summarize_state(history) == nothing
    take_snapshot(history, "as it came")
    assert summarize_state(history).head_hash == history.require_baseline()


def test_two_processes_lose_none_of_each_others_edits(studio: Studio, chart: History) -> None:
    program = (
        "import sys; from pathlib import Path; from darkroom.workspace import Workspace; "
        "from darkroom.edits import apply_primitive\n"
        "history = Workspace(Path(sys.argv[1])).history('chart')\n"
        "for n in range(30):\n"
        "    apply_primitive(history, 'exposure', {'ev': 1}, module_id=f'{sys.argv[2]}{n}', enabled=True)"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    commands = [[sys.executable, "-c", program, str(studio.workspace.root), name] for name in "ab"]
    running = [subprocess.Popen(command, env=environment) for command in commands]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    assert len(chart.current_stack().modules) == 60
    assert len(labels(chart)) == 61
