"""Primitives that change how bright pixels are."""

import numpy as np

from darkroom.pixels.light import Pixels, luma, to_linear, to_screen


def exposure(pixels: Pixels, *, ev: float) -> Pixels:
    return to_screen(to_linear(pixels) * 2.0**ev)


def contrast(pixels: Pixels, *, amount: float) -> Pixels:
    return 0.5 + (pixels - 0.5) * (1.0 + amount)


def gamma(pixels: Pixels, *, gamma: float) -> Pixels:
    bent: Pixels = np.maximum(pixels, 0.0) ** (1.0 / gamma)
    return bent


def levels(pixels: Pixels, *, black: float, white: float) -> Pixels:
    return (pixels - black) / (white - black)


def curve(pixels: Pixels, *, points: list[list[float]]) -> Pixels:
    inputs, outputs = zip(*points, strict=True)
    mapped: Pixels = np.interp(pixels, inputs, outputs)
    return mapped


def shadows_highlights(pixels: Pixels, *, shadows: float, highlights: float) -> Pixels:
    brightness = np.clip(luma(pixels), 0.0, 1.0)
    # Each reaches a third of the scale and fades out towards the other end.
    moved: Pixels = pixels + (shadows * (1.0 - brightness) ** 3 + highlights * brightness**3) / 3.0
    return moved
