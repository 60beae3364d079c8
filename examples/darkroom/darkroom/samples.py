"""Pictures to begin with, computed rather than kept: a landscape, a colour chart, a portrait of light.

python -m darkroom.samples FOLDER
"""

import sys
from io import BytesIO
from pathlib import Path

import numpy as np

from darkroom.files import write_whole
from darkroom.pixels.light import Pixels
from darkroom.pixels.pipeline import to_picture

WIDTH, HEIGHT = 480, 320
_FORMATS = {".jpg": "JPEG", ".png": "PNG"}


def write_samples(folder: Path) -> list[Path]:
    """Write the pictures that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for name, make in (("harbour.jpg", harbour), ("chart.png", chart), ("lamp.jpg", lamp)):
        path = folder / name
        if not path.exists():
            body = BytesIO()
            to_picture(make()).save(body, _FORMATS[path.suffix], quality=92)  # PNG takes no quality and does not mind
            write_whole(path, body.getvalue())
            made.append(path)
    return made


def harbour() -> Pixels:
    """A dull evening: grey-blue sky, a low sun, hills, and water that mirrors both."""
    down, across = _grid()
    sky = _blend(down * 2, (0.38, 0.45, 0.58), (0.72, 0.62, 0.52))
    sun = np.exp(-((across - 0.7) ** 2 + (down - 0.38) ** 2) / 0.004)[..., np.newaxis]
    view = sky + sun * np.array([0.3, 0.22, 0.05])
    hills = 0.42 + 0.06 * np.sin(across * 9) + 0.03 * np.sin(across * 23 + 1)
    view = np.where((down > hills)[..., np.newaxis], np.array([0.16, 0.2, 0.18]), view)
    ripples = 0.04 * np.sin(down * 190 + np.sin(across * 12) * 2)[..., np.newaxis]
    water = view[::-1] * 0.7 + ripples
    return np.where((down > 0.55)[..., np.newaxis], water, view)


def chart() -> Pixels:
    """Twenty-four fields: six greys, then hues in three strengths."""
    down, across = _grid()
    row, column = np.floor(down * 4), np.floor(across * 6)
    greys = np.repeat((0.08 + column * 0.17)[..., np.newaxis], 3, axis=2)
    turn = column[..., np.newaxis] / 6 * 2 * np.pi + np.array([0, -2 * np.pi / 3, 2 * np.pi / 3])
    hues = 0.5 + 0.14 * row[..., np.newaxis] * np.cos(turn)
    return np.where((row == 0)[..., np.newaxis], greys, hues)


def lamp() -> Pixels:
    """A warm light in a dark room, most of the picture near black."""
    down, across = _grid()
    distance = np.hypot((across - 0.35) * 1.5, down - 0.4)
    glow = np.exp(-distance * 4)[..., np.newaxis]
    lit: Pixels = 0.03 + glow * np.array([1.0, 0.78, 0.45]) * 0.95
    return lit


def _grid() -> tuple[Pixels, Pixels]:
    down, across = np.mgrid[0:HEIGHT, 0:WIDTH]
    return down / HEIGHT, across / WIDTH


def _blend(share: Pixels, top: tuple[float, ...], bottom: tuple[float, ...]) -> Pixels:
    share = np.clip(share, 0, 1)[..., np.newaxis]
    return np.array(top) * (1 - share) + np.array(bottom) * share


if __name__ == "__main__":
    write_samples(Path(sys.argv[1]))
