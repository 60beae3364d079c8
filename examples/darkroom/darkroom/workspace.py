"""The workspace folder: which pictures are waiting in the inbox, and which have been taken in."""

import json
import os
import re
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final

from darkroom.canonical import canonical
from darkroom.files import write_whole
from darkroom.history import History
from darkroom.objects import ObjectStore
from darkroom.refs import MAIN, Refs
from darkroom.refusal import Code, Refused

IMAGE_ID_PATTERN: Final = r"^[a-z0-9][a-z0-9_-]{0,63}$"
EXTENSIONS: Final = (".jpg", ".jpeg", ".png", ".tif", ".tiff", ".webp")


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture that was taken in; its bytes are in the object store under `sha256`."""

    image_id: str
    sha256: str
    format: str
    width: int
    height: int


class Workspace:
    """A folder that holds everything. Nothing that a caller sends leads out of it."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.objects = ObjectStore(self.root / "objects")
        self._images = self.root / "images"
        for folder in (self.root / "inbox", self._images):
            folder.mkdir(parents=True, exist_ok=True)
        self.inbox = (self.root / "inbox").resolve()  # the operator may have put a link there

    def require_in_inbox(self, name: str) -> Path:
        """A picture file below the inbox, by its relative path.

        Raises:
            Refused: invalid_input for a path that is not plain and relative, or not a picture's; not_found otherwise.
        """
        path = PurePosixPath(name)
        is_plain = not (path.is_absolute() or PureWindowsPath(name).anchor or "\\" in name or "\0" in name)
        if not is_plain or not path.parts or ".." in path.parts:
            raise Refused(
                Code.INVALID_INPUT,
                "The path must be relative to the inbox, without '..'. Send such a path.",
                kind="value",
            )
        if path.suffix.lower() not in EXTENSIONS:
            raise Refused(
                Code.INVALID_INPUT, f"The file's name must end in one of {', '.join(EXTENSIONS)}.", kind="value"
            )
        found = Path(os.path.realpath(self.inbox / path))
        if not found.is_relative_to(self.inbox) or not found.is_file():
            raise Refused(Code.NOT_FOUND, "The inbox has no such picture. Put the file there first.")
        return found

    def require_free(self, image_id: str) -> None:
        if (self._images / image_id).exists():
            raise _taken()

    def add(self, picture: Picture) -> History:
        """Make a picture's folder, whole or not at all."""
        new = Path(tempfile.mkdtemp(dir=self._images, prefix=".new-"))
        try:
            write_whole(new / "picture.json", canonical(asdict(picture)))
            Refs(new).attach(MAIN)
            os.rename(new, self._images / picture.image_id)
        except OSError as problem:
            shutil.rmtree(new)
            if (self._images / picture.image_id).exists():
                raise _taken() from None
            raise problem
        return self.history(picture.image_id)

    def folder(self, image_id: str) -> Path:
        return self._images / image_id

    def require_picture(self, image_id: str) -> Picture:
        try:
            if re.fullmatch(IMAGE_ID_PATTERN, image_id) is None:
                raise FileNotFoundError
            text = (self.folder(image_id) / "picture.json").read_bytes()
        except FileNotFoundError:
            raise Refused(Code.NOT_FOUND, "There is no picture with that id. Take it in with `ingest` first.") from None
        return Picture(**json.loads(text))

    def history(self, image_id: str) -> History:
        """The history of a picture that exists."""
        picture = self.require_picture(image_id)
        return History(self.folder(image_id), self.objects, image_id=image_id, picture=picture.sha256)


def derived_id(file_name: str) -> str:
    """An id out of a file's name: lower case, and what an id may not hold becomes '-'."""
    plain = re.sub(r"[^a-z0-9_-]+", "-", PurePosixPath(file_name).stem.lower()).strip("-_")
    return plain[:64] or "picture"


def _taken() -> Refused:
    return Refused(Code.STATE_ERROR, "A picture with that id exists. Choose another image_id.", reason="id_taken")
