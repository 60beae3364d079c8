"""The tools for the history of a picture."""

import pytest

from tests.examples.darkroom.desk import Desk


@pytest.fixture(autouse=True)
def _a_picture(desk: Desk) -> None:
    desk.call("ingest", path="chart.png")


def brighten(desk: Desk, ev: float = 1.0) -> str:
    applied = desk.call("apply_primitive", image_id="chart", primitive="exposure", parameters={"ev": ev})
    return str(applied["state_after"]["head_hash"])


@pytest.mark.requirement("002-13")
def test_snapshot_marks_the_current_state(desk: Desk) -> None:
    bright = brighten(desk)
    taken = desk.call("snapshot", image_id="chart", label="for the wall")
    assert taken == {"hash": taken["hash"], "parent": bright, "label": "for the wall", "refs": ["main"]}
    assert desk.call("diff", image_id="chart", left=bright, right="HEAD")["changes"] == []
    assert desk.code("snapshot", image_id="chart", label=" ") == "invalid_input"
    assert desk.code("snapshot", image_id="nobody", label="x") == "not_found"


@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_snapshot_on_a_detached_head_is_a_versioning_error(desk: Desk) -> None:
    brighten(desk)
    desk.call("checkout", image_id="chart", ref="baseline")
    for tool, more in (
        ("snapshot", {"label": "x"}),
        ("reset", {}),
        ("apply_primitive", {"primitive": "exposure", "parameters": {"ev": 1}}),
        ("bind_layers", {"L1": "clean_sensor"}),
    ):
        error = desk.refused(tool, image_id="chart", **more)
        assert (error["code"], error["details"]) == ("versioning_error", {"reason": "detached_head"})


@pytest.mark.requirement("002-10")
@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_checkout_goes_to_a_branch_or_only_looks(desk: Desk) -> None:
    bright = brighten(desk)
    looking = desk.call("checkout", image_id="chart", ref="baseline")
    assert looking == {
        "branch": None,
        "state_after": {
            "head_hash": desk.call("log", image_id="chart")["snapshots"][0]["hash"],
            "entry_count": 0,
            "enabled_count": 0,
            "layers_present": {"L1": False, "L2": False, "L3": False},
        },
    }
    assert desk.call("checkout", image_id="chart", ref="main") == {
        "branch": "main",
        "state_after": {
            "head_hash": bright,
            "entry_count": 1,
            "enabled_count": 1,
            "layers_present": {"L1": False, "L2": False, "L3": True},
        },
    }
    assert desk.code("checkout", image_id="chart", ref="nowhere") == "not_found"
    assert desk.code("checkout", image_id="chart", ref="f" * 64) == "not_found"
    assert desk.code("checkout", image_id="nobody", ref="main") == "not_found"


@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_branch_makes_a_place_to_try_something(desk: Desk) -> None:
    baseline = desk.call("branch", image_id="chart", name="night")["snapshot"]
    bright = brighten(desk)
    desk.call("checkout", image_id="chart", ref="night")
    dark = brighten(desk, -2.0)
    assert [each["hash"] for each in desk.call("log", image_id="chart")["snapshots"]] == [dark, baseline]
    assert [each["hash"] for each in desk.call("log", image_id="chart", ref="main")["snapshots"]] == [bright, baseline]
    error = desk.refused("branch", image_id="chart", name="night")
    assert (error["code"], error["details"]) == ("versioning_error", {"reason": "ref_exists"})
    assert desk.code("branch", image_id="chart", name="new", ref="nowhere") == "not_found"
    assert desk.code("branch", image_id="chart", name="HEAD") == "invalid_input"
    assert desk.code("branch", image_id="chart", name="../x") == "invalid_input"
    desk.call("ingest", path="lamp.jpg", baseline=False)
    assert desk.code("branch", image_id="lamp", name="new") == "state_error"


@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_tag_stays_with_its_snapshot(desk: Desk) -> None:
    bright = brighten(desk)
    assert desk.call("tag", image_id="chart", name="v1") == {"name": "v1", "snapshot": bright}
    brighten(desk, 2.0)
    assert desk.call("log", image_id="chart", ref="v1")["snapshots"][0] == {
        "hash": bright,
        "parent": desk.call("log", image_id="chart", ref="baseline")["snapshots"][0]["hash"],
        "label": "apply exposure",
        "refs": ["v1"],
    }
    assert desk.code("tag", image_id="chart", name="v1") == "versioning_error"
    assert desk.code("tag", image_id="chart", name="main") == "versioning_error"
    assert desk.code("tag", image_id="chart", name="v2", ref="nowhere") == "not_found"


@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_log_goes_back_to_the_baseline(desk: Desk) -> None:
    for ev in (1.0, 2.0, 3.0):
        brighten(desk, ev)
    whole = desk.call("log", image_id="chart")
    assert (len(whole["snapshots"]), whole["total"]) == (4, 4)
    assert [each["parent"] for each in whole["snapshots"]] == [
        *(each["hash"] for each in whole["snapshots"][1:]),
        None,
    ]
    assert desk.call("log", image_id="chart", limit=2) == {"snapshots": whole["snapshots"][:2], "total": 4}
    assert [each["hash"] for each in desk.call("log", image_id="chart", ref="HEAD~1")["snapshots"]] == [
        each["hash"] for each in whole["snapshots"][1:]
    ]
    assert desk.code("log", image_id="chart", ref="HEAD~9") == "not_found"
    desk.studio.workspace.objects.path(whole["snapshots"][2]["hash"]).unlink()
    assert desk.code("log", image_id="chart") == "versioning_error"


@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_diff_says_what_became_of_each_module(desk: Desk) -> None:
    brighten(desk)
    desk.call("bind_layers", image_id="chart", L2="look_neutral")
    first = desk.call("snapshot", image_id="chart", label="one")["hash"]
    brighten(desk, 2.0)
    desk.call("remove_module", image_id="chart", module_id="l2-contrast")
    desk.call("apply_primitive", image_id="chart", primitive="flip", parameters={"axis": "vertical"})
    found = desk.call("diff", image_id="chart", left=first[:8])
    assert (found["left"], found["right"]) == (
        first,
        desk.call("get_state", image_id="chart")["state_after"]["head_hash"],
    )
    shown = [(each["module_id"], each["change"], each["before"], each["after"]) for each in found["changes"]]
    contrast = _module("l2-contrast", "contrast", {"amount": 0.08}, layer="L2", template="look_neutral")
    assert shown == [
        ("l2-contrast", "removed", contrast, None),
        (
            "exposure",
            "changed",
            _module("exposure", "exposure", {"ev": 1.0}),
            _module("exposure", "exposure", {"ev": 2.0}),
        ),
        ("flip", "added", None, _module("flip", "flip", {"axis": "vertical"})),
    ]
    assert desk.code("diff", image_id="chart", left="nowhere") == "not_found"


def _module(
    name: str, primitive: str, parameters: object, *, layer: str = "L3", template: str | None = None
) -> dict[str, object]:
    return {
        "id": name,
        "primitive": primitive,
        "layer": layer,
        "enabled": True,
        "parameters": parameters,
        "template": template,
    }
