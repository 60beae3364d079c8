"""The primitives and the parameters each of them takes, with their bounds."""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class PrimitiveParameters(BaseModel):
    """The parameters of one primitive. The docstring of each is its line in the vocabulary."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


Signed = Annotated[float, Field(ge=-1, le=1)]
Share = Annotated[float, Field(ge=0, le=1)]
Degrees = Annotated[float, Field(ge=0, le=360)]


class Exposure(PrimitiveParameters):
    """Brighten or darken the light itself, in stops."""

    ev: Annotated[float, Field(ge=-4, le=4)]


class Contrast(PrimitiveParameters):
    """Spread tones away from middle grey, or pull them towards it."""

    amount: Signed


class Saturation(PrimitiveParameters):
    """Strengthen or weaken colours; -1 leaves none."""

    amount: Signed


class WhiteBalance(PrimitiveParameters):
    """Warm (+) or cool (-), and magenta (+) or green (-)."""

    temperature: Signed
    tint: Signed = 0.0


class Gamma(PrimitiveParameters):
    """Bend midtones: above 1 is brighter, black and white stay."""

    gamma: Annotated[float, Field(ge=0.2, le=5)]


class Levels(PrimitiveParameters):
    """Say which input tone becomes black and which becomes white."""

    black: Annotated[float, Field(ge=0, le=0.45)] = 0.0
    white: Annotated[float, Field(ge=0.55, le=1)] = 1.0


Point = Annotated[list[Share], Field(min_length=2, max_length=2)]


class Curve(PrimitiveParameters):
    """A tone curve through points [in, out], in rising order."""

    points: Annotated[list[Point], Field(min_length=2, max_length=16)]

    @model_validator(mode="after")
    def rises(self) -> "Curve":
        places = [point[0] for point in self.points]
        if any(right <= left for left, right in pairwise(places)):
            raise ValueError("the points of the curve must have rising inputs")
        return self


class ShadowsHighlights(PrimitiveParameters):
    """Lift or lower the dark and the bright tones on their own."""

    shadows: Signed = 0.0
    highlights: Signed = 0.0


class Hue(PrimitiveParameters):
    """Turn every colour around the wheel, brightness kept."""

    degrees: Annotated[float, Field(ge=-180, le=180)]


class BlackAndWhite(PrimitiveParameters):
    """One tone per pixel, mixed from the three channels as a coloured filter would."""

    red: Share = 0.2126
    green: Share = 0.7152
    blue: Share = 0.0722

    @model_validator(mode="after")
    def lets_light_through(self) -> "BlackAndWhite":
        if self.red + self.green + self.blue == 0:
            raise ValueError("at least one of red, green and blue must be above 0")
        return self


class SplitTone(PrimitiveParameters):
    """Tint shadows with one hue and highlights with another."""

    shadow_hue: Degrees
    highlight_hue: Degrees
    strength: Share = 0.25


class Crop(PrimitiveParameters):
    """Keep a rectangle, in shares of the width and height."""

    left: Annotated[float, Field(ge=0, lt=1)] = 0.0
    top: Annotated[float, Field(ge=0, lt=1)] = 0.0
    width: Annotated[float, Field(gt=0, le=1)] = 1.0
    height: Annotated[float, Field(gt=0, le=1)] = 1.0

    @model_validator(mode="after")
    def lies_within(self) -> "Crop":
        if self.left + self.width > 1 or self.top + self.height > 1:
            raise ValueError("left + width and top + height must each be at most 1")
        return self


class Rotate(PrimitiveParameters):
    """Turn counter-clockwise; quarter turns are exact, others grow the picture and leave black corners."""

    degrees: Annotated[float, Field(ge=-180, le=180)]


class Flip(PrimitiveParameters):
    """Mirror left to right (horizontal) or top to bottom (vertical)."""

    axis: Literal["horizontal", "vertical"]


class Sharpen(PrimitiveParameters):
    """Strengthen edges by an unsharp mask."""

    strength: Annotated[float, Field(ge=0, le=3)]
    radius: Annotated[float, Field(ge=0.3, le=25)] = 1.0


class Blur(PrimitiveParameters):
    """Soften with a Gaussian of that radius in pixels."""

    radius: Annotated[float, Field(ge=0.3, le=25)]


class Vignette(PrimitiveParameters):
    """Darken the corners, or with a negative strength brighten them."""

    strength: Signed
    softness: Annotated[float, Field(ge=0.1, le=1)] = 0.5


class Grain(PrimitiveParameters):
    """Film grain. The same seed gives the same grain."""

    strength: Share
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0


PRIMITIVES: dict[str, type[PrimitiveParameters]] = {
    "exposure": Exposure,
    "contrast": Contrast,
    "saturation": Saturation,
    "white_balance": WhiteBalance,
    "gamma": Gamma,
    "levels": Levels,
    "curve": Curve,
    "shadows_highlights": ShadowsHighlights,
    "hue": Hue,
    "black_and_white": BlackAndWhite,
    "split_tone": SplitTone,
    "crop": Crop,
    "rotate": Rotate,
    "flip": Flip,
    "sharpen": Sharpen,
    "blur": Blur,
    "vignette": Vignette,
    "grain": Grain,
}
