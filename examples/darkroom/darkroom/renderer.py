"""The renderer, a process of its own: one request as JSON on stdin, picture files written, one answer on stdout.

python -m darkroom.renderer < request.json

What it does it says on stderr, line by line, so that the last lines tell where it failed. It says nothing about where
files lie and prints no stack trace: an agent reads those lines.
"""

import json
import sys
import warnings
from typing import Any  # the request: JSON that the server has built and checked

from PIL import Image, UnidentifiedImageError

from darkroom.pixels.light import Pixels
from darkroom.pixels.pipeline import apply, brightness_of, difference_of, read_pixels, saturation_of, to_picture

Json = dict[str, Any]  # Any: see above

MAX_PIXELS = 60_000_000  # about 1.4 GB as floats; more would be the end of a small machine
FORMATS = ("JPEG", "PNG", "TIFF", "WEBP")
_GAP = 8  # columns of white between two pictures that are compared


class Failed(Exception):
    """Something went wrong that one line can explain."""


def say(line: str) -> None:
    print(f"renderer: {line}", file=sys.stderr, flush=True)


def main() -> int:
    warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the bound is ours, below
    Image.MAX_IMAGE_PIXELS = None
    try:
        print(json.dumps(answer(json.load(sys.stdin))))
    except Failed as problem:
        say(f"error: {problem}")
        return 1
    except Exception as problem:  # noqa: BLE001  # the outermost edge of this process; its log is stderr
        say(f"error: unexpected {type(problem).__name__}")
        return 2
    return 0


def answer(request: Json) -> Json:
    if request["ask"] == "probe":
        with open_picture(request["picture"]) as picture:
            return {"format": picture.format, "width": picture.width, "height": picture.height}
    shown = [fit(render(request["picture"], modules), request["max_edge"]) for modules in request["recipes"]]
    final = shown[0] if len(shown) == 1 else side_by_side(*shown)
    write(final, request)
    return {
        "width": final.width,
        "height": final.height,
        "brightness": [brightness_of(picture) for picture in shown],
        "saturation": [saturation_of(picture) for picture in shown],
        "difference": difference_of(*shown) if len(shown) == 2 else None,
    }


def open_picture(path: str) -> Image.Image:
    say("opening the picture")
    try:
        picture = Image.open(path, formats=FORMATS)
    except UnidentifiedImageError:
        raise Failed(f"the file is not a picture in one of the formats {', '.join(FORMATS)}") from None
    if picture.width * picture.height > MAX_PIXELS:
        raise Failed(f"the picture has more than {MAX_PIXELS} pixels")
    return picture


def render(path: str, modules: list[Json]) -> Image.Image:
    pixels = decode(path)
    for module in modules:
        if module["enabled"]:
            say(f"applying {module['primitive']}")
            pixels = apply(pixels, module["primitive"], module["parameters"])
    return to_picture(pixels)


def decode(path: str) -> Pixels:
    with open_picture(path) as picture:
        say(f"decoding {picture.format} {picture.width}x{picture.height}")
        try:
            return read_pixels(picture)
        except (OSError, SyntaxError, ValueError) as problem:  # what Pillow raises for broken contents
            raise Failed(f"the picture cannot be decoded: {problem}") from None


def fit(picture: Image.Image, max_edge: int | None) -> Image.Image:
    """The picture, smaller if it must be; it is never made larger."""
    if max_edge is None or max(picture.size) <= max_edge:
        return picture
    scale = max_edge / max(picture.size)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Image.Resampling.LANCZOS)


def side_by_side(left: Image.Image, right: Image.Image) -> Image.Image:
    sheet = Image.new("RGB", (left.width + _GAP + right.width, max(left.height, right.height)), "white")
    sheet.paste(left, (0, 0))
    sheet.paste(right, (left.width + _GAP, 0))
    return sheet


def write(picture: Image.Image, request: Json) -> None:
    say(f"writing {request['format']} {picture.width}x{picture.height}")
    if request["format"] == "png":
        picture.save(request["output"], "PNG")
    else:
        picture.save(request["output"], "JPEG", quality=request["quality"], subsampling=0)


if __name__ == "__main__":
    sys.exit(main())
