"""Tools that show a picture: as a file of the workspace, and as an image for the agent to see."""

from base64 import b64encode
from typing import Annotated

from mcp.types import ImageContent
from pydantic import Field

from darkroom import prints
from darkroom.arguments import ImageId, Ref
from darkroom.prints import Developed, Format, Print
from darkroom.refs import BASELINE, HEAD
from darkroom.told import Mean, Sha256, Told
from handfast.toolkit import Args, Call, Reply, Toolbox

MAX_SHOWN = 4 * 1024 * 1024  # bytes of a picture that still go into an answer; beyond that there is the file

Edge = Annotated[int, Field(ge=16, le=2048, description="The longer side in pixels, at most; never enlarged.")]
FileFormat = Annotated[Format, Field(description="The kind of file.")]


class RenderPreview(Args):
    """Which state, and how large."""

    image_id: ImageId
    ref: Ref = HEAD
    max_edge: Edge = 512
    format: FileFormat = "jpeg"


class Rendered(Told):
    """A state as a picture. Brightness and saturation are means from 0 to 1, for those who cannot look."""

    snapshot: Sha256
    file: Print
    shown: bool
    """Whether the picture is in this answer, too; one that is too large is not."""
    brightness: Mean
    saturation: Mean


async def render_preview(args: RenderPreview, call: Call) -> Reply[Rendered]:
    """Render a small picture of one state and show it. It changes nothing; the file can be made again at any time."""
    snapshot, made = await prints.preview(
        call.app, args.image_id, ref=args.ref, max_edge=args.max_edge, file_format=args.format
    )
    return _shown(snapshot, made)


class Compare(Args):
    """Two states, the first on the left."""

    image_id: ImageId
    left: Ref = BASELINE
    right: Ref = HEAD
    max_edge: Edge = 384
    format: FileFormat = "jpeg"


class Compared(Told):
    """Two states side by side."""

    snapshots: list[Sha256]
    file: Print
    shown: bool
    brightness: list[Mean]
    saturation: list[Mean]
    difference: Mean | None
    """The mean difference of the pixels from 0 to 1; null where the sizes differ."""


async def compare(args: Compare, call: Call) -> Reply[Compared]:
    """Show two states of a picture side by side, and say in numbers how they differ. It changes nothing."""
    snapshots, made = await prints.comparison(
        call.app, args.image_id, refs=(args.left, args.right), max_edge=args.max_edge, file_format=args.format
    )
    compared = Compared(
        snapshots=snapshots,
        file=made.print,
        shown=_fits(made),
        brightness=made.measured.brightness,
        saturation=made.measured.saturation,
        difference=made.measured.difference,
    )
    return Reply(compared, *_image(made))


class ExportFinal(Args):
    """Which state, and as what."""

    image_id: ImageId
    ref: Ref = HEAD
    format: FileFormat = "jpeg"
    quality: Annotated[int, Field(ge=1, le=100, description="Of a JPEG; PNG loses nothing.")] = 92


async def export_final(args: ExportFinal, call: Call) -> Reply[Rendered]:
    """Render one state at full size into the folder `exports`, under a name that belongs to that state alone."""
    snapshot, made = await prints.export(
        call.app, args.image_id, ref=args.ref, quality=args.quality, file_format=args.format
    )
    return _shown(snapshot, made)


def _shown(snapshot: str, made: Developed) -> Reply[Rendered]:
    rendered = Rendered(
        snapshot=snapshot,
        file=made.print,
        shown=_fits(made),
        brightness=made.measured.brightness[0],
        saturation=made.measured.saturation[0],
    )
    return Reply(rendered, *_image(made))


def _fits(made: Developed) -> bool:
    return made.print.bytes <= MAX_SHOWN


def _image(made: Developed) -> list[ImageContent]:
    if not _fits(made):
        return []
    return [ImageContent(data=b64encode(made.body).decode("ascii"), mime_type=made.print.mime_type)]


def add_to(tools: Toolbox) -> None:
    tools.read(render_preview)
    tools.read(compare)
    tools.write(is_idempotent=True)(export_final)
