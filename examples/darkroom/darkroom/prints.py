"""Rendered pictures: previews, exports, and two states side by side."""

import asyncio
import hashlib
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from darkroom.history import History
from darkroom.stack import Stack
from darkroom.studio import Studio
from darkroom.told import Count, Sha256, Told

Format: TypeAlias = Literal["jpeg", "png"]

MIME_TYPES: Final[dict[Format, str]] = {"jpeg": "image/jpeg", "png": "image/png"}
PREVIEW_QUALITY: Final = 85
_SHOWN_HASH: Final = 12  # characters of a snapshot's hash in a file's name


class Print(Told):
    """A picture file that exists."""

    path: str
    """Below the workspace."""
    mime_type: str
    width: Count
    height: Count
    bytes: Count
    sha256: Sha256


@dataclass(frozen=True, slots=True)
class Measured:
    """What can be said about rendered pictures in numbers from 0 to 1, one per picture."""

    brightness: list[float]
    saturation: list[float]
    difference: float | None  # none for a single picture, and where sizes differ


@dataclass(frozen=True, slots=True)
class Developed:
    """A print, its bytes, and what was measured on the way."""

    print: Print
    body: bytes
    measured: Measured


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a print is to come out."""

    path: str
    format: Format
    quality: int
    max_edge: int | None


async def develop(studio: Studio, stacks: list[Stack], wanted: Wanted) -> Developed:
    """Render one state, or two side by side, into a file of the workspace.

    Raises:
        Refused: darktable_error when the renderer fails; versioning_error when the picture is missing or damaged.
    """
    workspace = studio.workspace
    picture = await asyncio.to_thread(workspace.objects.require_file, stacks[0].picture)
    target = workspace.root / wanted.path
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as folder:
        new = Path(folder) / target.name
        answer = await studio.renderer.ask(_request(picture, stacks, wanted, output=new))
        body = new.read_bytes()
        new.replace(target)
    return _developed(answer, body, wanted)


def _request(picture: Path, stacks: list[Stack], wanted: Wanted, *, output: Path) -> dict[str, object]:
    return {
        "ask": "render",
        "picture": str(picture),
        "recipes": [[asdict(module) for module in stack.modules] for stack in stacks],
        "output": str(output),
        "format": wanted.format,
        "quality": wanted.quality,
        "max_edge": wanted.max_edge,
    }


def _developed(answer: dict[str, Any], body: bytes, wanted: Wanted) -> Developed:  # Any: our own renderer's JSON
    made = Print(
        path=wanted.path,
        mime_type=MIME_TYPES[wanted.format],
        width=answer["width"],
        height=answer["height"],
        bytes=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
    )
    return Developed(made, body, Measured(answer["brightness"], answer["saturation"], answer["difference"]))


async def preview(
    studio: Studio, image_id: str, *, ref: str, max_edge: int, file_format: Format
) -> tuple[str, Developed]:
    """A small picture of one state, and the hash of that state."""
    history = studio.workspace.history(image_id)
    snapshot = history.resolve(ref)
    path = f"images/{image_id}/previews/{snapshot[:_SHOWN_HASH]}-{max_edge}.{file_format}"
    wanted = Wanted(path, file_format, PREVIEW_QUALITY, max_edge)
    return snapshot, await develop(studio, [history.stack(snapshot)], wanted)


async def comparison(
    studio: Studio, image_id: str, *, refs: tuple[str, str], max_edge: int, file_format: Format
) -> tuple[list[str], Developed]:
    """Two states side by side, the first on the left, and their hashes."""
    history = studio.workspace.history(image_id)
    snapshots = [history.resolve(ref) for ref in refs]
    names = "-".join(snapshot[:_SHOWN_HASH] for snapshot in snapshots)
    path = f"images/{image_id}/previews/{names}-{max_edge}.{file_format}"
    wanted = Wanted(path, file_format, PREVIEW_QUALITY, max_edge)
    return snapshots, await develop(studio, [history.stack(snapshot) for snapshot in snapshots], wanted)


async def export(
    studio: Studio, image_id: str, *, ref: str, quality: int, file_format: Format
) -> tuple[str, Developed]:
    """One state at full size. The name follows from what is in it, so no export is ever overwritten by another."""
    history: History = studio.workspace.history(image_id)
    snapshot = history.resolve(ref)
    shown = f"-q{quality}" if file_format == "jpeg" else ""
    path = f"exports/{image_id}-{snapshot[:_SHOWN_HASH]}{shown}.{file_format}"
    return snapshot, await develop(studio, [history.stack(snapshot)], Wanted(path, file_format, quality, None))
