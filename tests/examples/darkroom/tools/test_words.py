"""The tools for the vocabulary."""

import pytest

from darkroom.parameters import PRIMITIVES
from tests.examples.darkroom.desk import Desk


@pytest.mark.requirement("002-13")
def test_list_vocabulary_has_every_entry_with_its_parameters(desk: Desk) -> None:
    vocabulary = desk.call("list_vocabulary")
    assert len(vocabulary["entries"]) == 23
    assert {
        "name": "exposure",
        "layer": "L3",
        "description": "Brighten or darken the light itself, in stops.",
        "parameters": [{"name": "ev", "expected": "a number from -4 to 4", "required": True}],
    } in vocabulary["entries"]


@pytest.mark.requirement("002-13")
def test_list_vocabulary_by_layer(desk: Desk) -> None:
    names = {
        layer: [entry["name"] for entry in desk.call("list_vocabulary", layer=layer)["entries"]]
        for layer in ("L1", "L2", "L3")
    }
    assert names == {
        "L1": ["clean_sensor", "even_lens"],
        "L2": ["look_neutral", "look_warm_film", "look_silver"],
        "L3": list(PRIMITIVES),
    }
    assert desk.refused("list_vocabulary", layer="L4")["details"] == {"kind": "shape"}


@pytest.mark.requirement("002-13")
def test_every_listed_primitive_can_be_applied_as_its_entry_says(desk: Desk) -> None:
    """An agent that knows nothing but the list and the published schema finds parameters that work."""
    (tool,) = [tool for tool in desk.tools.registry.published() if tool["name"] == "apply_primitive"]
    published = tool["inputSchema"]["$defs"]["PrimitiveArguments"]["properties"]
    desk.call("ingest", path="chart.png")
    examples = {"points": [[0, 0], [1, 1]], "axis": "vertical"}
    for entry in desk.call("list_vocabulary", layer="L3")["entries"]:
        assert {parameter["name"] for parameter in entry["parameters"]} <= published.keys()
        needed = [parameter["name"] for parameter in entry["parameters"] if parameter["required"]]
        parameters = {name: examples.get(name, 1) for name in needed}
        applied = desk.call("apply_primitive", image_id="chart", primitive=entry["name"], parameters=parameters)
        assert applied["module"]["parameters"].keys() == {parameter["name"] for parameter in entry["parameters"]}
    assert desk.call("get_state", image_id="chart")["state_after"]["entry_count"] == len(PRIMITIVES)


@pytest.mark.requirement("002-13")
def test_log_vocabulary_gap_is_remembered(desk: Desk) -> None:
    desk.call("ingest", path="chart.png")
    first = desk.call("log_vocabulary_gap", wanted="Take the haze away.")
    second = desk.call("log_vocabulary_gap", wanted="Dodge.", workaround="Used a curve.", image_id="chart")
    assert (first, second) == ({"number": 1}, {"number": 2})
    assert desk.call("read_context")["recent_gaps"] == [
        {"wanted": "Take the haze away.", "workaround": None, "image_id": None},
        {"wanted": "Dodge.", "workaround": "Used a curve.", "image_id": "chart"},
    ]


@pytest.mark.requirement("002-13")
def test_log_vocabulary_gap_wants_words_and_a_picture_that_exists(desk: Desk) -> None:
    assert desk.code("log_vocabulary_gap", wanted=" ") == "invalid_input"
    assert desk.code("log_vocabulary_gap", wanted="Dodge.", image_id="nobody") == "not_found"
    assert desk.call("read_context")["recent_gaps"] == []
