"""The names of one picture's snapshots: branches, tags, and the head that says where work goes on."""

import re
from dataclasses import dataclass
from pathlib import Path

from darkroom.files import write_whole
from darkroom.refusal import Code, Refused

MAIN = "main"
HEAD = "HEAD"
BASELINE = "baseline"  # the tag of the first snapshot, which `reset` goes back to
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_LOOKS_LIKE_A_HASH = re.compile(r"[0-9a-f]{7,64}")
_ATTACHED = "ref: "


@dataclass(frozen=True, slots=True)
class Head:
    """On a branch, or detached at a snapshot. A branch without a snapshot is one before its first."""

    branch: str | None
    snapshot: str | None


class Refs:
    """Branches and tags share one set of names, so that a name always means one thing."""

    def __init__(self, folder: Path) -> None:
        self._head = folder / HEAD
        self._branches = folder / "refs" / "branches"
        self._tags = folder / "refs" / "tags"

    def head(self) -> Head | None:
        text = _read(self._head)
        if text is None:
            return None
        if text.startswith(_ATTACHED):
            branch = text.removeprefix(_ATTACHED)
            return Head(branch, self.branch(branch))
        return Head(None, text)

    def attach(self, branch: str) -> None:
        write_whole(self._head, f"{_ATTACHED}{branch}\n".encode("ascii"))

    def detach(self, snapshot: str) -> None:
        write_whole(self._head, f"{snapshot}\n".encode("ascii"))

    def branch(self, name: str) -> str | None:
        return _read(self._branches / name)

    def tag(self, name: str) -> str | None:
        return _read(self._tags / name)

    def move_branch(self, name: str, snapshot: str) -> None:
        write_whole(self._branches / name, f"{snapshot}\n".encode("ascii"))

    def create_branch(self, name: str, snapshot: str) -> None:
        self._require_free(name)
        self.move_branch(name, snapshot)

    def create_tag(self, name: str, snapshot: str) -> None:
        self._require_free(name)
        write_whole(self._tags / name, f"{snapshot}\n".encode("ascii"))

    def names_of(self, snapshot: str) -> tuple[str, ...]:
        """What points at a snapshot: branches first, then tags."""
        return tuple(
            path.name
            for folder in (self._branches, self._tags)
            for path in sorted(folder.glob("[!.]*"))
            if _read(path) == snapshot
        )

    def _require_free(self, name: str) -> None:
        if re.fullmatch(NAME_PATTERN, name) is None or name == HEAD or _LOOKS_LIKE_A_HASH.fullmatch(name):
            raise Refused(
                Code.INVALID_INPUT,
                "That name is reserved or could be read as a hash. Choose a word of letters, digits, '.', '_' or '-'.",
                kind="value",
            )
        if self.branch(name) is not None or self.tag(name) is not None:
            raise Refused(
                Code.VERSIONING_ERROR, "A branch or tag of that name exists. Choose another name.", reason="ref_exists"
            )


def _read(path: Path) -> str | None:
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        return None
