"""The tools that change a picture: what they do, what they answer, and what they refuse."""

import pytest

from tests.examples.darkroom.desk import Desk

EMPTY = {"L1": False, "L2": False, "L3": False}


@pytest.fixture(autouse=True)
def _a_picture(desk: Desk) -> None:
    desk.call("ingest", path="chart.png")


def head(desk: Desk) -> object:
    return desk.call("get_state", image_id="chart")["state_after"]["head_hash"]


@pytest.mark.requirement("002-10")
@pytest.mark.requirement("002-13")
def test_get_state_says_where_the_head_is_and_no_more(desk: Desk) -> None:
    baseline = desk.call("log", image_id="chart")["snapshots"][0]["hash"]
    assert desk.call("get_state", image_id="chart") == {
        "branch": "main",
        "state_after": {"head_hash": baseline, "entry_count": 0, "enabled_count": 0, "layers_present": EMPTY},
    }


@pytest.mark.requirement("002-10")
@pytest.mark.requirement("002-13")
def test_get_state_has_no_hash_only_before_the_first_snapshot(desk: Desk) -> None:
    desk.call("ingest", path="lamp.jpg", baseline=False)
    nothing = {"head_hash": None, "entry_count": 0, "enabled_count": 0, "layers_present": EMPTY}
    assert desk.call("get_state", image_id="lamp") == {"branch": "main", "state_after": nothing}
    taken = desk.call("snapshot", image_id="lamp", label="as it came")
    assert desk.call("get_state", image_id="lamp")["state_after"] == nothing | {"head_hash": taken["hash"]}
    assert taken["refs"] == ["main", "baseline"]


@pytest.mark.requirement("002-10")
@pytest.mark.requirement("002-13")
def test_apply_primitive_adds_a_module_and_its_defaults(desk: Desk) -> None:
    before = head(desk)
    applied = desk.call("apply_primitive", image_id="chart", primitive="white_balance", parameters={"temperature": 0.5})
    assert head(desk) != before
    assert applied == {
        "module": {
            "id": "white_balance",
            "primitive": "white_balance",
            "layer": "L3",
            "enabled": True,
            "parameters": {"temperature": 0.5, "tint": 0.0},
            "template": None,
        },
        "replaced": False,
        "state_after": {
            "head_hash": head(desk),
            "entry_count": 1,
            "enabled_count": 1,
            "layers_present": EMPTY | {"L3": True},
        },
    }


@pytest.mark.requirement("002-13")
def test_apply_primitive_replaces_a_module_and_can_switch_it_off(desk: Desk) -> None:
    desk.call("apply_primitive", image_id="chart", primitive="exposure", parameters={"ev": 1})
    again = desk.call("apply_primitive", image_id="chart", primitive="exposure", parameters={"ev": 2}, enabled=False)
    assert (again["replaced"], again["module"]["parameters"], again["module"]["enabled"]) == (True, {"ev": 2}, False)
    assert (again["state_after"]["entry_count"], again["state_after"]["enabled_count"]) == (1, 0)


@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_apply_primitive_refuses_with_the_code_that_fits(desk: Desk) -> None:
    exposure = {"image_id": "chart", "primitive": "exposure", "parameters": {"ev": 1}}
    desk.call("apply_primitive", **exposure)
    before = head(desk)
    codes = {
        "unknown picture": desk.code("apply_primitive", **exposure | {"image_id": "nobody"}),
        "unknown primitive": desk.code("apply_primitive", **exposure | {"primitive": "glow"}),
        "a template": desk.code("apply_primitive", **exposure | {"primitive": "look_silver"}),
        "another's parameter": desk.code("apply_primitive", **exposure | {"parameters": {"ev": 1, "seed": 1}}),
        "no parameters": desk.code("apply_primitive", image_id="chart", primitive="exposure"),
        "out of bounds": desk.code("apply_primitive", **exposure | {"parameters": {"ev": 5}}),
        "another's id": desk.code(
            "apply_primitive", **exposure | {"primitive": "blur", "module_id": "exposure", "parameters": {"radius": 1}}
        ),
    }
    assert codes == {
        "unknown picture": "not_found",
        "unknown primitive": "not_found",
        "a template": "invalid_input",
        "another's parameter": "invalid_input",
        "no parameters": "invalid_input",
        "out of bounds": "invalid_input",
        "another's id": "state_error",
    }
    assert head(desk) == before


@pytest.mark.requirement("002-10")
@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_remove_module_takes_one_edit_away(desk: Desk) -> None:
    for primitive in ("exposure", "gamma"):
        value = {"exposure": {"ev": 1}, "gamma": {"gamma": 2}}[primitive]
        desk.call("apply_primitive", image_id="chart", primitive=primitive, parameters=value)
    removed = desk.call("remove_module", image_id="chart", module_id="exposure")
    assert removed == {
        "module_id": "exposure",
        "state_after": {
            "head_hash": head(desk),
            "entry_count": 1,
            "enabled_count": 1,
            "layers_present": EMPTY | {"L3": True},
        },
    }
    assert desk.code("remove_module", image_id="chart", module_id="exposure") == "not_found"
    assert desk.code("remove_module", image_id="nobody", module_id="exposure") == "not_found"


@pytest.mark.requirement("002-10")
@pytest.mark.requirement("002-13")
def test_bind_layers_fills_the_layers_below(desk: Desk) -> None:
    bound = desk.call("bind_layers", image_id="chart", L1="clean_sensor", L2="look_silver")
    assert [(module["id"], module["layer"], module["template"]) for module in bound["modules"]] == [
        ("l1-levels", "L1", "clean_sensor"),
        ("l1-sharpen", "L1", "clean_sensor"),
        ("l2-black_and_white", "L2", "look_silver"),
        ("l2-contrast", "L2", "look_silver"),
    ]
    assert bound["state_after"] == {
        "head_hash": head(desk),
        "entry_count": 4,
        "enabled_count": 4,
        "layers_present": {"L1": True, "L2": True, "L3": False},
    }
    again = desk.call("bind_layers", image_id="chart", L2="look_neutral")
    assert [module["id"] for module in again["modules"]] == ["l2-contrast"]
    assert again["state_after"]["entry_count"] == 3


@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_bind_layers_refuses_with_the_code_that_fits(desk: Desk) -> None:
    desk.call("ingest", path="lamp.jpg", baseline=False)
    codes = {
        "no layer": desk.code("bind_layers", image_id="chart"),
        "wrong layer": desk.code("bind_layers", image_id="chart", L1="look_silver"),
        "a primitive": desk.code("bind_layers", image_id="chart", L1="exposure"),
        "unknown template": desk.code("bind_layers", image_id="chart", L2="look_lost"),
        "unknown picture": desk.code("bind_layers", image_id="nobody", L2="look_silver"),
        "without history": desk.code("bind_layers", image_id="lamp", L2="look_silver"),
    }
    assert codes == {
        "no layer": "invalid_input",
        "wrong layer": "invalid_input",
        "a primitive": "invalid_input",
        "unknown template": "not_found",
        "unknown picture": "not_found",
        "without history": "state_error",
    }


@pytest.mark.requirement("002-10")
@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_reset_goes_back_to_the_baseline_and_keeps_the_history(desk: Desk) -> None:
    desk.call("apply_primitive", image_id="chart", primitive="exposure", parameters={"ev": 1})
    assert desk.call("reset", image_id="chart") == {
        "state_after": {"head_hash": head(desk), "entry_count": 0, "enabled_count": 0, "layers_present": EMPTY}
    }
    assert [each["label"] for each in desk.call("log", image_id="chart")["snapshots"]] == [
        "reset to baseline",
        "apply exposure",
        "ingest chart.png",
    ]
    assert desk.call("diff", image_id="chart")["changes"] == []
    desk.call("ingest", path="lamp.jpg", baseline=False)
    assert desk.code("reset", image_id="lamp") == "state_error"
    assert desk.code("reset", image_id="nobody") == "not_found"
