"""Tools for the history of a picture: snapshots, branches, tags, and what changed between them."""

from itertools import islice
from typing import Annotated, Literal

from pydantic import Field

from darkroom import edits
from darkroom.arguments import ImageId, Ref, RefName
from darkroom.refs import BASELINE, HEAD
from darkroom.stack import changes
from darkroom.state import StateSummary, summarize_state
from darkroom.told import Count, Sha256, Told
from darkroom.tools.edits import ToldModule, history_of, told
from handfast.toolkit import Args, Call, Toolbox


class TakeSnapshot(Args):
    """What to call the current state."""

    image_id: ImageId
    label: Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S", description="What this state is.")]


class ToldSnapshot(Told):
    """One state in the history."""

    hash: Sha256
    parent: Sha256 | None
    label: str
    refs: tuple[str, ...]
    """The branches and tags that point here."""


def snapshot(args: TakeSnapshot, call: Call) -> ToldSnapshot:
    """Mark the current state with a label. The first snapshot of a picture without one becomes its baseline."""
    history = history_of(args.image_id, call)
    taken = edits.take_snapshot(history, args.label)
    return ToldSnapshot(hash=taken.hash, parent=taken.parent, label=taken.label, refs=history.refs.names_of(taken.hash))


class Checkout(Args):
    """Where to go."""

    image_id: ImageId
    ref: Ref


class CheckedOut(Told):
    """Where the head is now."""

    branch: str | None
    """Null: the head is detached, so this state can be looked at and not edited."""
    state_after: StateSummary


def checkout(args: Checkout, call: Call) -> CheckedOut:
    """Go to a branch and work on there, or to any other snapshot and look."""
    history = history_of(args.image_id, call)
    head = history.checkout(args.ref)
    return CheckedOut(branch=head.branch, state_after=summarize_state(history))


class NameSnapshot(Args):
    """A new name, and the snapshot it is for."""

    image_id: ImageId
    name: RefName
    ref: Ref = HEAD


class NamedSnapshot(Told):
    """The name and what it points at."""

    name: str
    snapshot: Sha256


def branch(args: NameSnapshot, call: Call) -> NamedSnapshot:
    """Make a branch at a snapshot. The head stays where it is; `checkout` goes to the branch."""
    return NamedSnapshot(name=args.name, snapshot=history_of(args.image_id, call).branch(args.name, args.ref))


def tag(args: NameSnapshot, call: Call) -> NamedSnapshot:
    """Give a snapshot a name that stays with it."""
    return NamedSnapshot(name=args.name, snapshot=history_of(args.image_id, call).tag(args.name, args.ref))


class ReadLog(Args):
    """From where, and how far back."""

    image_id: ImageId
    ref: Ref = HEAD
    limit: Annotated[int, Field(ge=1, le=200)] = 50


class ToldLog(Told):
    """Snapshots, newest first."""

    snapshots: tuple[ToldSnapshot, ...]
    total: Count
    """How many there are from that ref back to the baseline."""


def log(args: ReadLog, call: Call) -> ToldLog:
    """List the snapshots that led to a state, newest first."""
    history = history_of(args.image_id, call)
    start = history.resolve(args.ref)
    shown = tuple(
        ToldSnapshot(hash=each.hash, parent=each.parent, label=each.label, refs=history.refs.names_of(each.hash))
        for each in islice(history.ancestry(start), args.limit)
    )
    return ToldLog(snapshots=shown, total=sum(1 for _ in history.ancestry(start)))


class Diff(Args):
    """Two states."""

    image_id: ImageId
    left: Ref = BASELINE
    right: Ref = HEAD


class ToldChange(Told):
    """What became of one module."""

    module_id: str
    change: Literal["added", "removed", "changed"]
    before: ToldModule | None
    after: ToldModule | None


class ToldDiff(Told):
    """What leads from the left state to the right one."""

    left: Sha256
    right: Sha256
    changes: tuple[ToldChange, ...]


def diff(args: Diff, call: Call) -> ToldDiff:
    """List the modules that differ between two states; from baseline to HEAD that is every edit."""
    history = history_of(args.image_id, call)
    left, right = history.resolve(args.left), history.resolve(args.right)
    found = tuple(
        ToldChange(
            module_id=each.module_id,
            change=each.change,
            before=None if each.before is None else told(each.before),
            after=None if each.after is None else told(each.after),
        )
        for each in changes(history.stack(left), history.stack(right))
    )
    return ToldDiff(left=left, right=right, changes=found)


def add_to(tools: Toolbox) -> None:
    tools.write(snapshot)
    tools.write(is_idempotent=True)(checkout)
    tools.write(branch)
    tools.write(tag)
    tools.read(log)
    tools.read(diff)
