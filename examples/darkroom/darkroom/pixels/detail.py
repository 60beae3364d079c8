"""Primitives that look at a pixel's neighbours, or at its place in the picture."""

import numpy as np

from darkroom.pixels.light import Pixels


def blur(pixels: Pixels, *, radius: float) -> Pixels:
    """A Gaussian, rows and columns in turn; the edge is mirrored, so that it stays as bright as it is."""
    return _blur_along(_blur_along(pixels, radius, axis=0), radius, axis=1)


def sharpen(pixels: Pixels, *, strength: float, radius: float) -> Pixels:
    return pixels + strength * (pixels - blur(pixels, radius=radius))


def vignette(pixels: Pixels, *, strength: float, softness: float) -> Pixels:
    rows, columns = pixels.shape[:2]
    down = (np.arange(rows) + 0.5) / rows * 2 - 1
    across = (np.arange(columns) + 0.5) / columns * 2 - 1
    distance = np.sqrt((down[:, np.newaxis] ** 2 + across[np.newaxis] ** 2) / 2)  # 0 in the middle, 1 in a corner
    fall = np.clip((distance - (1 - softness)) / softness, 0, 1) ** 2
    shaded: Pixels = pixels * (1 - strength * fall)[..., np.newaxis]
    return shaded


def grain(pixels: Pixels, *, strength: float, seed: int) -> Pixels:
    noise = np.random.Generator(np.random.PCG64(seed)).standard_normal(pixels.shape[:2])
    return pixels + (strength * 0.15 * noise)[..., np.newaxis]  # at full strength it is plain to see, not a snowstorm


def _blur_along(pixels: Pixels, radius: float, *, axis: int) -> Pixels:
    reach = max(1, round(3 * radius))  # beyond three radii a Gaussian adds less than one of 255 steps
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / radius) ** 2)
    padding = [(0, 0)] * pixels.ndim
    padding[axis] = (reach, reach)
    padded = np.pad(pixels, padding, mode="symmetric")
    length = pixels.shape[axis]
    blurred = np.zeros_like(pixels)
    for place, weight in enumerate(weights / weights.sum()):
        blurred += weight * padded.take(range(place, place + length), axis=axis)
    return blurred
