"""The vocabulary: every entry described, every parameter bounded, and words for what does not fit."""

from itertools import chain

import pytest

from darkroom.parameters import PRIMITIVES, PrimitiveParameters
from darkroom.pixels import pipeline
from darkroom.refusal import Refused
from darkroom.vocabulary import TEMPLATES, complete_parameters, digest, entries, require_template


def test_every_primitive_has_its_pixels_and_every_template_its_primitives() -> None:
    assert set(PRIMITIVES) == set(pipeline.PRIMITIVES)
    assert {primitive for template in TEMPLATES.values() for primitive, _ in template.edits} <= set(PRIMITIVES)
    assert set(PRIMITIVES) & set(TEMPLATES) == set()


def test_every_entry_is_in_one_layer_and_says_what_it_does() -> None:
    by_layer = {layer: [entry.name for entry in entries(layer)] for layer in ("L1", "L2", "L3")}
    assert by_layer == {
        "L1": ["clean_sensor", "even_lens"],
        "L2": ["look_neutral", "look_warm_film", "look_silver"],
        "L3": list(PRIMITIVES),
    }
    assert [entry.name for entry in entries()] == [*chain.from_iterable(by_layer.values())]
    assert [entry.name for entry in entries() if not entry.description] == []


@pytest.mark.parametrize("model", PRIMITIVES.values(), ids=PRIMITIVES)
def test_every_number_has_both_bounds(model: type[PrimitiveParameters]) -> None:
    for declared in model.model_json_schema()["properties"].values():
        if declared["type"] in ("number", "integer"):
            assert declared.keys() & {"minimum", "exclusiveMinimum"}
            assert declared.keys() & {"maximum", "exclusiveMaximum"}


@pytest.mark.requirement("002-14")
@pytest.mark.parametrize(
    ("primitive", "given", "message"),
    [
        ("exposure", {"ev": 4.1}, "Parameter 'ev' of exposure must be a number from -4 to 4."),
        ("exposure", {"ev": "1"}, "Parameter 'ev' of exposure must be a number from -4 to 4."),
        ("exposure", {"ev": True}, "Parameter 'ev' of exposure must be a number from -4 to 4."),
        ("exposure", {"ev": float("nan")}, "Parameter 'ev' of exposure must be a number from -4 to 4."),
        ("exposure", {}, "Parameter 'ev' of exposure must be a number from -4 to 4."),
        ("exposure", {"radius": 2}, "exposure does not take that parameter. It takes: ev."),
        ("exposure", {"ev": 1, "radius": 2}, "exposure does not take that parameter. It takes: ev."),
        ("crop", {"width": 0}, "Parameter 'width' of crop must be a number above 0 and at most 1."),
        ("crop", {"left": 1}, "Parameter 'left' of crop must be a number at least 0 and below 1."),
        ("crop", {"left": 0.5, "width": 0.6}, "For crop, left + width and top + height must each be at most 1."),
        ("flip", {"axis": "z"}, "Parameter 'axis' of flip must be 'horizontal' or 'vertical'."),
        (
            "grain",
            {"strength": 1, "seed": 1.5},
            "Parameter 'seed' of grain must be a whole number from 0 to 2147483647.",
        ),
        ("curve", {"points": [[0, 0], [0, 1]]}, "For curve, the points of the curve must have rising inputs."),
        (
            "curve",
            {"points": [[0, 0], [1, 2]]},
            "Parameter 'points' of curve must be 2 to 16 pairs [in, out] of numbers from 0 to 1.",
        ),
        (
            "black_and_white",
            {"red": 0, "green": 0, "blue": 0},
            "For black_and_white, at least one of red, green and blue must be above 0.",
        ),
        ("look_silver", {}, "That entry is a layer template."),
    ],
)
def test_parameters_that_do_not_fit_are_invalid_input(primitive: str, given: dict[str, object], message: str) -> None:
    with pytest.raises(Refused) as refused:
        complete_parameters(primitive, given)
    assert (refused.value.code, refused.value.details["kind"]) == ("invalid_input", "value")
    assert refused.value.message.startswith(message)


@pytest.mark.requirement("002-14")
def test_a_primitive_that_is_not_in_the_vocabulary_is_not_found() -> None:
    with pytest.raises(Refused) as refused:
        complete_parameters("glow", {})
    assert refused.value.code == "not_found"


@pytest.mark.requirement("002-14")
@pytest.mark.parametrize(
    ("name", "code"), [("glow", "not_found"), ("look_silver", "invalid_input"), ("exposure", "invalid_input")]
)
def test_a_template_must_exist_and_be_for_its_layer(name: str, code: str) -> None:
    with pytest.raises(Refused) as refused:
        require_template(name, "L1")
    assert refused.value.code == code


def test_defaults_are_written_out_and_whole_numbers_become_numbers() -> None:
    assert complete_parameters("white_balance", {"temperature": 1}) == {"temperature": 1.0, "tint": 0.0}
    assert repr(complete_parameters("exposure", {"ev": 1})["ev"]) == "1.0"


def test_the_digest_follows_the_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest()
    assert digest() == before
    monkeypatch.delitem(TEMPLATES, "look_silver")
    assert digest() != before
