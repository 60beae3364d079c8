"""What one server holds: the workspace, its memory and its renderer. Every tool is handed this."""

import asyncio
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from darkroom.context import Context
from darkroom.history import History
from darkroom.refusal import Code, Refused
from darkroom.rendering import Renderer
from darkroom.workspace import Picture, Workspace, derived_id


@dataclass(frozen=True, slots=True)
class Studio:
    """One workspace at work."""

    workspace: Workspace
    context: Context
    renderer: Renderer


def open_studio(root: Path, *, renderer: Renderer | None = None) -> Studio:
    workspace = Workspace(root)
    return Studio(workspace, Context(workspace.root), renderer or Renderer())


async def ingest(studio: Studio, path: str, *, image_id: str | None, baseline: bool) -> tuple[Picture, History]:
    """Take a picture in from the inbox, and unless told otherwise make its baseline snapshot.

    Raises:
        Refused: invalid_input or not_found for the path, state_error for an id that is taken, darktable_error for a
            file that the renderer cannot read.
    """
    workspace = studio.workspace
    source = workspace.require_in_inbox(path)
    name = image_id or derived_id(path)
    workspace.require_free(name)
    sha256 = await asyncio.to_thread(workspace.objects.put_file, source)
    seen = await studio.renderer.ask({"ask": "probe", "picture": str(workspace.objects.path(sha256))})
    picture = Picture(name, sha256, str(seen["format"]).lower(), _whole(seen["width"]), _whole(seen["height"]))
    history = workspace.add(picture)
    if baseline:
        with history.changing():
            history.append(history.current_stack(), f"ingest {PurePosixPath(path).name}")
    return picture, history


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise Refused(Code.DARKTABLE_ERROR, "The renderer did not say how large the picture is. Call again.", stderr="")
    return value
