"""From a picture file and its modules to finished pixels."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from PIL import Image, ImageOps

from darkroom.pixels import color, detail, shape, tone
from darkroom.pixels.light import Pixels, luma

Primitive: TypeAlias = Callable[..., Pixels]  # each takes the pixels and the parameters that its model names

PRIMITIVES: Final[dict[str, Primitive]] = {
    function.__name__: function
    for function in (
        tone.exposure,
        tone.contrast,
        tone.gamma,
        tone.levels,
        tone.curve,
        tone.shadows_highlights,
        color.saturation,
        color.white_balance,
        color.hue,
        color.black_and_white,
        color.split_tone,
        shape.crop,
        shape.rotate,
        shape.flip,
        detail.sharpen,
        detail.blur,
        detail.vignette,
        detail.grain,
    )
}


def read_pixels(picture: Image.Image) -> Pixels:
    """A decoded picture the right way up; what it says about its camera stays behind."""
    upright = ImageOps.exif_transpose(picture)
    return np.asarray(upright.convert("RGB"), dtype=np.float64) / 255.0


def apply(pixels: Pixels, primitive: str, parameters: dict[str, Any]) -> Pixels:  # Any: numbers, text, lists
    return PRIMITIVES[primitive](pixels, **parameters)


def to_picture(pixels: Pixels) -> Image.Image:
    steps = np.rint(np.clip(pixels, 0.0, 1.0) * 255.0).astype(np.uint8)
    return Image.fromarray(np.ascontiguousarray(steps))


def brightness_of(picture: Image.Image) -> float:
    """The mean brightness, 0 to 1, of what is seen."""
    return round(float(luma(_seen(picture)).mean()), 6)


def saturation_of(picture: Image.Image) -> float:
    """The mean distance between a pixel's strongest and weakest channel, 0 to 1."""
    seen = _seen(picture)
    return round(float((seen.max(axis=2) - seen.min(axis=2)).mean()), 6)


def difference_of(left: Image.Image, right: Image.Image) -> float | None:
    """The mean difference of two pictures, 0 to 1; none where their sizes differ."""
    if left.size != right.size:
        return None
    return round(float(np.abs(_seen(left) - _seen(right)).mean()), 6)


def _seen(picture: Image.Image) -> Pixels:
    return np.asarray(picture, dtype=np.float64) / 255.0
