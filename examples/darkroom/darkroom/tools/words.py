"""Tools for the vocabulary: what there is to say, and what is missing from it."""

from typing import Annotated

from pydantic import Field

from darkroom.arguments import ImageId, Text
from darkroom.stack import Layer
from darkroom.studio import Studio
from darkroom.told import Count, Sha256, Told
from darkroom.vocabulary import Entry, digest, entries
from handfast.toolkit import Args, Call, Toolbox


class ListVocabulary(Args):
    """One layer, or all."""

    layer: Annotated[Layer | None, Field(description="Only the entries for this layer.")] = None


class Vocabulary(Told):
    """What can be said to a picture."""

    digest: Sha256
    """Changes when the vocabulary does."""
    entries: tuple[Entry, ...]


def list_vocabulary(args: ListVocabulary) -> Vocabulary:
    """List the edits there are: templates for the layers L1 and L2, and primitives (L3) with their parameters."""
    return Vocabulary(digest=digest(), entries=entries(args.layer))


class LogVocabularyGap(Args):
    """Something that could not be said."""

    wanted: Annotated[Text, Field(description="What the picture needed, in plain words.")]
    workaround: Annotated[Text | None, Field(description="What was done instead.")] = None
    image_id: ImageId | None = None


class Gap(Told):
    """A gap that was logged."""

    wanted: str
    workaround: str | None = None
    image_id: str | None = None


class LoggedGap(Told):
    """How many gaps there are by now."""

    number: Count
    """The place of this gap in the log, from 1."""


def log_vocabulary_gap(args: LogVocabularyGap, call: Call) -> LoggedGap:
    """Note an edit that the vocabulary has no word for, so that it can get one."""
    studio: Studio = call.app
    if args.image_id is not None:
        studio.workspace.require_picture(args.image_id)
    return LoggedGap(number=studio.context.log_gap(args.model_dump(exclude_none=True)))


def add_to(tools: Toolbox) -> None:
    tools.read(list_vocabulary)
    tools.write(log_vocabulary_gap)
