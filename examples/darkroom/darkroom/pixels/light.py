"""Light as numbers: screen values, linear light, brightness."""

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Pixels: TypeAlias = npt.NDArray[np.float64]

LUMA: Final = np.array([0.2126, 0.7152, 0.0722])  # how much each channel weighs in brightness (Rec. 709)


def to_linear(pixels: Pixels) -> Pixels:
    """Screen values (sRGB) to amounts of light."""
    shown = np.maximum(pixels, 0.0)
    return np.where(shown <= 0.04045, shown / 12.92, ((shown + 0.055) / 1.055) ** 2.4)


def to_screen(light: Pixels) -> Pixels:
    """Amounts of light to screen values (sRGB)."""
    light = np.maximum(light, 0.0)
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


def luma(pixels: Pixels) -> Pixels:
    """The brightness of each pixel, of shape (height, width, 1)."""
    brightness: Pixels = (pixels @ LUMA)[..., np.newaxis]
    return brightness
