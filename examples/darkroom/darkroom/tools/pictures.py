"""The tool that takes a picture in."""

from typing import Annotated

from pydantic import Field

from darkroom import studio
from darkroom.told import Count, Sha256, Told
from darkroom.workspace import IMAGE_ID_PATTERN
from handfast.toolkit import Args, Call, Toolbox


class Ingest(Args):
    """A file of the inbox."""

    path: Annotated[
        str, Field(min_length=1, max_length=255, description="Relative to the inbox, such as `harbour.jpg`.")
    ]
    image_id: Annotated[
        str | None,
        Field(pattern=IMAGE_ID_PATTERN, description="A name to call it by; made from the file's name unless sent."),
    ] = None
    baseline: Annotated[
        bool, Field(description="False takes no snapshot; the first `snapshot` then becomes the baseline.")
    ] = True


class Ingested(Told):
    """The picture as it was taken in."""

    image_id: str
    sha256: Sha256
    """Of the file's bytes."""
    format: str
    width: Count
    height: Count
    head_hash: Sha256 | None
    """The baseline, or null if none was taken."""


async def ingest(args: Ingest, call: Call) -> Ingested:
    """Take a picture in from the inbox: its bytes are copied and never changed, and its history begins."""
    picture, history = await studio.ingest(call.app, args.path, image_id=args.image_id, baseline=args.baseline)
    return Ingested(
        image_id=picture.image_id,
        sha256=picture.sha256,
        format=picture.format,
        width=picture.width,
        height=picture.height,
        head_hash=history.head().snapshot,
    )


def add_to(tools: Toolbox) -> None:
    tools.write(ingest)
