"""Primitives that change where pixels are."""

import numpy as np
from PIL import Image

from darkroom.pixels.light import Pixels


def crop(pixels: Pixels, *, left: float, top: float, width: float, height: float) -> Pixels:
    rows, columns = pixels.shape[:2]
    first_row, first_column = min(round(top * rows), rows - 1), min(round(left * columns), columns - 1)
    last_row = max(round((top + height) * rows), first_row + 1)
    last_column = max(round((left + width) * columns), first_column + 1)
    return pixels[first_row:last_row, first_column:last_column]


def rotate(pixels: Pixels, *, degrees: float) -> Pixels:
    if degrees % 90 == 0:
        return np.rot90(pixels, round(degrees / 90))
    channels = [
        Image.fromarray(pixels[..., channel].astype(np.float32)).rotate(
            degrees, resample=Image.Resampling.BICUBIC, expand=True
        )
        for channel in range(3)
    ]
    return np.stack([np.asarray(channel, dtype=np.float64) for channel in channels], axis=2)


def flip(pixels: Pixels, *, axis: str) -> Pixels:
    return pixels[:, ::-1] if axis == "horizontal" else pixels[::-1]
