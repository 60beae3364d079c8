"""The object store: every object under the SHA-256 of its bytes."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from hashlib import file_digest
from pathlib import Path

from darkroom.canonical import canonical, sha256_hex
from darkroom.files import write_whole
from darkroom.refusal import Code, Refused

MIN_PREFIX = 7  # shorter ones would soon be ambiguous
_FOLDER = 2  # characters of the hash that name the folder, so that none grows large


class ObjectStore:
    """Documents and pictures that never change once written."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, name: str) -> Path:
        return self._root / name[:_FOLDER] / name[_FOLDER:]

    def has(self, name: str) -> bool:
        return self.path(name).is_file()

    def put(self, document: Mapping[str, object]) -> str:
        text = canonical(document)
        name = sha256_hex(text)
        if not self.has(name):
            write_whole(self.path(name), text)
        return name

    def get(self, name: str) -> dict[str, object]:
        """A document, checked against its name.

        Raises:
            Refused: versioning_error when it is missing or damaged.
            ValueError: it is a file, not a document.
        """
        try:
            text = self.path(name).read_bytes()
        except FileNotFoundError:
            raise _missing(name) from None
        if sha256_hex(text) != name:
            raise _damaged(name)
        document = json.loads(text)
        if not isinstance(document, dict):
            raise ValueError("a stored file, not a document")
        return document

    def put_file(self, source: Path) -> str:
        """A copy of a file, whatever its size; it is hashed as it is copied, not as it may be later."""
        self._root.mkdir(parents=True, exist_ok=True)
        handle, new = tempfile.mkstemp(dir=self._root, prefix=".new-")
        try:
            with os.fdopen(handle, "w+b") as copy, source.open("rb") as original:
                shutil.copyfileobj(original, copy)
                copy.flush()
                os.fsync(copy.fileno())
                copy.seek(0)
                name = file_digest(copy, "sha256").hexdigest()
            self.path(name).parent.mkdir(exist_ok=True)
            os.replace(new, self.path(name))
        finally:
            Path(new).unlink(missing_ok=True)
        return name

    def require_file(self, name: str) -> Path:
        """The path of a stored file, after a look at all of its bytes."""
        try:
            with self.path(name).open("rb") as stored:
                is_whole = file_digest(stored, "sha256").hexdigest() == name
        except FileNotFoundError:
            raise _missing(name) from None
        if not is_whole:
            raise _damaged(name)
        return self.path(name)

    def names_starting_with(self, prefix: str) -> list[str]:
        """Every stored name that begins so; nothing for a prefix too short to mean one object."""
        if len(prefix) < MIN_PREFIX:
            return []
        folder = self._root / prefix[:_FOLDER]
        found = (folder.name + path.name for path in folder.glob(f"{prefix[_FOLDER:]}*"))
        return sorted(found)


def _missing(name: str) -> Refused:
    return Refused(
        Code.VERSIONING_ERROR,
        "The history names an object that is not in the store. Restore the workspace from a backup.",
        object=name,
    )


def _damaged(name: str) -> Refused:
    return Refused(
        Code.VERSIONING_ERROR,
        "An object of the history no longer fits its hash. Restore the workspace from a backup.",
        object=name,
    )
