"""The history of one picture: snapshots in a chain, each under its hash, and where the head is."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from darkroom.files import exclusive
from darkroom.objects import ObjectStore
from darkroom.refs import BASELINE, HEAD, Head, Refs
from darkroom.refusal import Code, Refused
from darkroom.stack import Stack, stack_from

_REF = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:~(?P<back>\d{1,4}))?")
_HASH = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of a picture. Nothing in it depends on when or where it was made, so neither does its hash."""

    hash: str
    parent: str | None
    stack: str
    label: str


class History:
    """What happened to one picture."""

    def __init__(self, folder: Path, objects: ObjectStore, *, image_id: str, picture: str) -> None:
        self._objects = objects
        self._image_id = image_id
        self._picture = picture
        self._lock = folder / ".lock"
        self.refs = Refs(folder)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the history still from reading the head to moving it."""
        with exclusive(self._lock):
            yield

    def head(self) -> Head:
        """Where the head is.

        Raises:
            Refused: versioning_error when it, or the branch it is on, is gone: that must not pass for a new picture.
        """
        head = self.refs.head()
        if head is None or (head.snapshot is None and self.refs.tag(BASELINE) is not None):
            raise Refused(
                Code.VERSIONING_ERROR,
                "The head of the history, or the branch it is on, is gone. Restore the workspace from a backup.",
                reason="lost_head",
            )
        return head

    def require_head(self) -> str:
        """The snapshot under the head.

        Raises:
            Refused: state_error before the first snapshot.
        """
        snapshot = self.head().snapshot
        if snapshot is None:
            raise Refused(Code.STATE_ERROR, "The picture has no baseline yet. Take its first snapshot with `snapshot`.")
        return snapshot

    def require_baseline(self) -> str:
        self.require_head()
        baseline = self.refs.tag(BASELINE)
        if baseline is None:
            raise Refused(
                Code.STATE_ERROR, "No snapshot of the picture is tagged as baseline. Tag one with `tag` first."
            )
        return baseline

    def read(self, name: str) -> Snapshot:
        document = self._objects.get(name)
        parent = document["parent"]
        return Snapshot(
            hash=name,
            parent=None if parent is None else str(parent),
            stack=str(document["stack"]),
            label=str(document["label"]),
        )

    def stack(self, snapshot: str) -> Stack:
        return stack_from(self._objects.get(self.read(snapshot).stack))

    def current_stack(self) -> Stack:
        """What the head shows; before the first snapshot, the picture as it came."""
        snapshot = self.head().snapshot
        return Stack(self._picture) if snapshot is None else self.stack(snapshot)

    def resolve(self, ref: str) -> str:
        """The snapshot a caller means by HEAD, a branch, a tag, a hash or its beginning, each with an optional ~N.

        Raises:
            Refused: not_found when nothing has that name; versioning_error when the history itself is broken.
        """
        match = _REF.fullmatch(ref)
        if match is None:
            raise _unknown_ref()
        snapshot = self._named(match["name"])
        for _ in range(int(match["back"] or 0)):
            parent = self.read(snapshot).parent
            if parent is None:
                raise _unknown_ref()
            snapshot = parent
        self.read(snapshot)
        return snapshot

    def _named(self, name: str) -> str:
        if name == HEAD:
            return self.require_head()
        named = self.refs.branch(name) or self.refs.tag(name)
        if named is not None:
            return named
        found = [full for full in self._objects.names_starting_with(name) if self._is_ours(full)]
        if _HASH.fullmatch(name) is None or not found:
            raise _unknown_ref()
        if len(found) > 1:
            raise Refused(Code.INVALID_INPUT, "Several snapshots begin with that. Send more of the hash.", kind="value")
        return found[0]

    def _is_ours(self, name: str) -> bool:
        """Whether a stored object is a snapshot of this picture: the store holds other pictures and whole files."""
        if self._objects.path(name).stat().st_size > 4096:  # a snapshot has four short values; a picture is larger
            return False
        try:
            document = self._objects.get(name)
        except ValueError:
            return False
        return document.get("kind") == "snapshot" and document.get("image") == self._image_id

    def append(self, stack: Stack, label: str) -> Snapshot:
        """Take a snapshot and move the branch to it.

        Raises:
            Refused: versioning_error when the head is detached, where a snapshot would soon be lost.
        """
        head = self.head()
        if head.branch is None:
            raise Refused(
                Code.VERSIONING_ERROR,
                "The head is detached, so no branch can take a snapshot. Check out a branch, or make one here.",
                reason="detached_head",
            )
        document = {
            "kind": "snapshot",
            "image": self._image_id,
            "parent": head.snapshot,
            "stack": self._objects.put(stack.to_document()),
            "label": label,
        }
        name = self._objects.put(document)
        self.refs.move_branch(head.branch, name)
        if head.snapshot is None and self.refs.tag(BASELINE) is None:
            self.refs.create_tag(BASELINE, name)
        return self.read(name)

    def checkout(self, ref: str) -> Head:
        """Go on from a branch, or look at any other snapshot with the head detached."""
        with self.changing():
            snapshot = self.resolve(ref)
            if self.refs.branch(ref) is not None:
                self.refs.attach(ref)
            elif ref != HEAD:
                self.refs.detach(snapshot)
            return self.head()

    def branch(self, name: str, ref: str) -> str:
        """Make a branch at a snapshot, and stay where the head is."""
        with self.changing():
            snapshot = self.resolve(ref)
            self.refs.create_branch(name, snapshot)
        return snapshot

    def tag(self, name: str, ref: str) -> str:
        """Give a snapshot a name for good."""
        with self.changing():
            snapshot = self.resolve(ref)
            self.refs.create_tag(name, snapshot)
        return snapshot

    def ancestry(self, snapshot: str) -> Iterator[Snapshot]:
        """A snapshot and all before it, newest first."""
        name: str | None = snapshot
        while name is not None:
            current = self.read(name)
            yield current
            name = current.parent


def _unknown_ref() -> Refused:
    return Refused(Code.NOT_FOUND, "No branch, tag or snapshot has that name. `log` lists what there is.")
