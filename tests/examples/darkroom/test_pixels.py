"""What each primitive does to a picture: rendered by the real renderer, decoded, and looked at."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from darkroom.parameters import PRIMITIVES
from darkroom.prints import Wanted, develop
from darkroom.stack import Module, Stack
from darkroom.studio import Studio, ingest, open_studio
from darkroom.vocabulary import complete_parameters

Seen = npt.NDArray[np.int64]
Look = Callable[..., Seen]
Edit = tuple[str, dict[str, object]]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Studio:
    """A studio with two pictures, for everything that is rendered here."""
    studio = open_studio(tmp_path_factory.mktemp("pixels"))
    for name in ("chart.png", "harbour.jpg"):
        (studio.workspace.inbox / name).write_bytes((samples / name).read_bytes())
        asyncio.run(ingest(studio, name, image_id=None, baseline=True))
    return studio


@pytest.fixture(scope="module")
def look(shared: Studio) -> Look:
    """Gives the decoded pixels of a picture with edits; the pictures that others are held against are rendered once."""
    plain: dict[str, Seen] = {}

    def rendered(*edits: Edit, picture: str = "chart", enabled: bool = True) -> Seen:
        if edits:
            return render(edits, picture, enabled=enabled)
        if picture not in plain:
            plain[picture] = render((), picture, enabled=enabled)
            plain[picture].setflags(write=False)
        return plain[picture]

    def render(edits: tuple[Edit, ...], picture: str, *, enabled: bool) -> Seen:
        modules = [
            Module(f"m{place}", primitive, "L3", enabled, complete_parameters(primitive, given), None)
            for place, (primitive, given) in enumerate(edits)
        ]
        stack = Stack(shared.workspace.require_picture(picture).sha256, tuple(modules))
        asyncio.run(develop(shared, [stack], Wanted("look.png", "png", 90, None)))
        return read(shared.workspace.root / "look.png")

    return rendered


def read(path: Path) -> Seen:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB")).astype(np.int64)


def spread(seen: Seen) -> float:
    """How far the channels of a pixel are apart: its colour."""
    return float((seen.max(axis=2) - seen.min(axis=2)).mean())


def edges(seen: Seen) -> float:
    """How much neighbours differ: its sharpness."""
    return float(np.abs(np.diff(seen, axis=1)).mean() + np.abs(np.diff(seen, axis=0)).mean())


def corner(seen: Seen) -> float:
    return float(seen[:16, :16].mean())


def test_without_edits_the_picture_is_what_it_was(look: Look, samples: Path) -> None:
    assert np.array_equal(look(), read(samples / "chart.png"))


def test_a_disabled_module_changes_nothing(look: Look) -> None:
    assert np.array_equal(look(("exposure", {"ev": 2}), enabled=False), look())


def test_one_stop_doubles_the_light(look: Look) -> None:
    dark, plain = look(("exposure", {"ev": -1})), look()
    bright = look(("exposure", {"ev": 1}))
    assert dark.mean() < plain.mean() < bright.mean()

    def light(value: float) -> float:
        return float(((value / 255 + 0.055) / 1.055) ** 2.4)

    grey = plain[10, 100, 0]  # the second grey field
    assert light(bright[10, 100, 0]) / light(grey) == pytest.approx(2, rel=0.02)
    assert light(dark[10, 100, 0]) / light(grey) == pytest.approx(0.5, rel=0.03)


def test_contrast_moves_tones_away_from_the_middle(look: Look) -> None:
    plain, firm, soft = look(), look(("contrast", {"amount": 0.5})), look(("contrast", {"amount": -0.5}))
    assert soft.std() < plain.std() < firm.std()
    assert (look(("contrast", {"amount": -1})) == 128).all()


def test_saturation_takes_colour_away_and_gives_it(look: Look) -> None:
    plain, none, more = look(), look(("saturation", {"amount": -1})), look(("saturation", {"amount": 0.5}))
    assert spread(none) == 0
    assert spread(plain) < spread(more)


def test_white_balance_moves_red_against_blue_and_green_against_both(look: Look) -> None:
    plain = look().mean(axis=(0, 1))
    warm, cool = (look(("white_balance", {"temperature": value})).mean(axis=(0, 1)) for value in (0.5, -0.5))
    assert warm[0] - warm[2] > plain[0] - plain[2] > cool[0] - cool[2]
    magenta = look(("white_balance", {"temperature": 0, "tint": 0.5})).mean(axis=(0, 1))
    assert magenta[1] < plain[1]


def test_gamma_bends_the_middle_and_keeps_both_ends(look: Look) -> None:
    bright = look(("levels", {"black": 0.1, "white": 0.9}), ("gamma", {"gamma": 2}))
    before = look(("levels", {"black": 0.1, "white": 0.9}))
    assert bright.mean() > before.mean()
    assert (bright[before == 0] == 0).all()
    assert (bright[before == 255] == 255).all()
    assert look(("gamma", {"gamma": 0.5})).mean() < look().mean()


def test_levels_reach_black_and_white(look: Look) -> None:
    plain, full = look(), look(("levels", {"black": 0.2, "white": 0.8}))
    assert (full[plain <= 51].max(), full[plain >= 204].min()) == (0, 255)


def test_a_curve_maps_each_tone_as_it_says(look: Look) -> None:
    plain, turned = look(), look(("curve", {"points": [[0, 1], [1, 0]]}))
    assert np.array_equal(turned, 255 - plain)


def test_shadows_and_highlights_move_apart(look: Look) -> None:
    plain = look()
    dark, bright = plain.mean(axis=2) < 60, plain.mean(axis=2) > 200
    lifted = look(("shadows_highlights", {"shadows": 0.6, "highlights": -0.6}))
    assert lifted[dark].mean() > plain[dark].mean()
    assert lifted[bright].mean() < plain[bright].mean()


def test_a_hue_turned_by_a_third_hands_red_to_green(look: Look) -> None:
    red = look()[300, 40]  # the strongest field of the first hue
    assert red.argmax() == 0
    turned = look(("hue", {"degrees": 120}))
    assert turned[300, 40].argmax() == 1
    assert np.array_equal(turned[10], look()[10])  # greys have no hue


def test_black_and_white_is_the_mix_it_was_asked_for(look: Look) -> None:
    plain = look()
    assert np.array_equal(look(("black_and_white", {"red": 1, "green": 0, "blue": 0})), plain[..., [0, 0, 0]])
    assert spread(look(("black_and_white", {}))) == 0


def test_split_tone_tints_shadows_and_highlights_differently(look: Look) -> None:
    grey: Edit = ("black_and_white", {})
    toned = look(grey, ("split_tone", {"shadow_hue": 240, "highlight_hue": 60, "strength": 0.5}))
    brightness = look(grey)[..., 0]
    blueness = toned[..., 2] - toned[..., 0]
    assert blueness[(brightness > 30) & (brightness < 90)].mean() > 0
    assert blueness[(brightness > 165) & (brightness < 230)].mean() < 0


def test_a_crop_keeps_exactly_its_rectangle(look: Look) -> None:
    cropped = look(("crop", {"left": 0.25, "top": 0.5, "width": 0.5, "height": 0.25}))
    assert np.array_equal(cropped, look()[160:240, 120:360])
    assert look(("crop", {"left": 0.999, "top": 0.999, "width": 0.001, "height": 0.001})).shape == (1, 1, 3)


def test_a_quarter_turn_is_exact_and_another_turn_grows_the_picture(look: Look) -> None:
    assert np.array_equal(look(("rotate", {"degrees": 90})), np.rot90(look()))
    assert np.array_equal(look(("rotate", {"degrees": -90})), np.rot90(look(), -1))
    tilted = look(("rotate", {"degrees": 10}))
    assert tilted.shape[0] > 320
    assert tilted.shape[1] > 480
    assert tilted[0, 0].tolist() == [0, 0, 0]


@pytest.mark.parametrize(("axis", "number"), [("horizontal", 1), ("vertical", 0)])
def test_a_flip_is_a_mirror(look: Look, axis: str, number: int) -> None:
    assert np.array_equal(look(("flip", {"axis": axis})), np.flip(look(), number))


def test_sharpening_and_blurring_move_edges_apart(look: Look) -> None:
    plain = look(picture="harbour")
    blurred = look(("blur", {"radius": 3}), picture="harbour")
    sharp = look(("sharpen", {"strength": 1.5}), picture="harbour")
    assert edges(blurred) < edges(plain) < edges(sharp)
    assert blurred.mean() == pytest.approx(plain.mean(), abs=0.5)


def test_a_vignette_reaches_the_corners_and_leaves_the_middle(look: Look) -> None:
    plain = look(picture="harbour")
    dark, bright = (look(("vignette", {"strength": value}), picture="harbour") for value in (0.8, -0.4))
    assert corner(dark) < corner(plain) < corner(bright)
    middle = (slice(150, 170), slice(230, 250))
    assert np.array_equal(dark[middle], plain[middle])


def test_grain_is_the_same_for_the_same_seed_only(look: Look) -> None:
    first, again, other = (look(("grain", {"strength": 0.5, "seed": seed})) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert edges(first) > edges(look())


def test_edits_are_rendered_in_their_order(look: Look) -> None:
    grey: Edit = ("black_and_white", {})
    tone: Edit = ("split_tone", {"shadow_hue": 240, "highlight_hue": 60})
    assert spread(look(tone, grey)) == 0
    assert spread(look(grey, tone)) > 0


@pytest.mark.parametrize("primitive", PRIMITIVES)
def test_the_ends_of_every_range_can_be_rendered(primitive: str, shared: Studio) -> None:
    """The most extreme parameters a model lets through, all at once, give a picture and no failure."""
    declared = PRIMITIVES[primitive].model_json_schema()["properties"]
    extremes = [{name: _end(name, value, end) for name, value in declared.items()} for end in ("minimum", "maximum")]
    modules = [
        Module(f"m{place}", primitive, "L3", True, complete_parameters(primitive, given), None)
        for place, given in enumerate(extremes)
        if primitive != "black_and_white" or place
    ]
    stack = Stack(shared.workspace.require_picture("chart").sha256, tuple(modules))
    made = asyncio.run(develop(shared, [stack], Wanted("look.png", "png", 90, None)))
    assert read(shared.workspace.root / made.print.path).shape == (made.print.height, made.print.width, 3)


def _end(name: str, declared: dict[str, object], end: str) -> object:
    if "enum" in declared:
        return declared["enum"][0]  # type: ignore[index]  # a JSON Schema's list
    if declared["type"] == "array":
        return [[0, 0], [1, 1]]
    if name in ("left", "top"):
        return 0 if end == "maximum" else 0.5
    if name in ("width", "height"):
        return 1 if end == "maximum" else 0.001
    return declared[end]
