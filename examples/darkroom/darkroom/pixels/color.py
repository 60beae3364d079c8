"""Primitives that change what colour pixels have."""

import colorsys

import numpy as np

from darkroom.pixels.light import LUMA, Pixels, luma, to_linear, to_screen


def saturation(pixels: Pixels, *, amount: float) -> Pixels:
    grey = luma(pixels)
    return grey + (pixels - grey) * (1.0 + amount)


def white_balance(pixels: Pixels, *, temperature: float, tint: float) -> Pixels:
    gains = np.array([2.0 ** (temperature / 2), 2.0 ** (-tint / 2), 2.0 ** (-temperature / 2)])
    return to_screen(to_linear(pixels) * (gains / (gains @ LUMA)))  # the brightness of grey stays


def hue(pixels: Pixels, *, degrees: float) -> Pixels:
    """Turn the colour around the grey axis, and give each pixel its brightness back."""
    angle = np.deg2rad(degrees)
    axis = np.full(3, 1 / np.sqrt(3))
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    turn = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    turned = pixels @ turn.T
    shifted: Pixels = turned + (luma(pixels) - luma(turned))
    return shifted


def black_and_white(pixels: Pixels, *, red: float, green: float, blue: float) -> Pixels:
    mix = np.array([red, green, blue])
    grey = pixels @ (mix / mix.sum())
    return np.repeat(grey[..., np.newaxis], 3, axis=2)


def split_tone(pixels: Pixels, *, shadow_hue: float, highlight_hue: float, strength: float) -> Pixels:
    brightness = np.clip(luma(pixels), 0.0, 1.0)
    tint = (1.0 - brightness) * _colour(shadow_hue) + brightness * _colour(highlight_hue)
    toned: Pixels = pixels + strength * (tint - luma(tint)) * 4.0 * brightness * (1.0 - brightness)
    return toned


def _colour(degrees: float) -> Pixels:
    return np.array(colorsys.hsv_to_rgb(degrees / 360.0 % 1.0, 1.0, 1.0))
