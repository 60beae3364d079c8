"""Tools for what is remembered beside pictures. Taste and notes are proposed first and written when confirmed."""

from typing import Annotated, Literal

from pydantic import Field

from darkroom.arguments import ImageId, Text
from darkroom.studio import Studio
from darkroom.told import Count, Sha256, Told
from darkroom.tools.words import Gap
from darkroom.vocabulary import digest, entries
from handfast.toolkit import Args, Call, Toolbox

RECENT_GAPS = 10

Category = Literal["colour", "tone", "composition", "process"]
ProposalId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$", description="As the proposal was answered with.")]


class ReadContext(Args):
    """A picture, if its notes are wanted."""

    image_id: ImageId | None = None


class TasteEntry(Told):
    """One thing the photographer likes or does not."""

    proposal_id: str
    category: Category
    text: str


class Note(Told):
    """One remark on a picture."""

    proposal_id: str
    image_id: str
    text: str


class VocabularyDigest(Told):
    """Which vocabulary this is."""

    digest: Sha256
    entry_count: Count


class ToldContext(Told):
    """All that is worth knowing before an edit."""

    taste: tuple[TasteEntry, ...]
    notes: tuple[Note, ...]
    """On the picture that was named."""
    recent_gaps: tuple[Gap, ...]
    vocabulary: VocabularyDigest


def read_context(args: ReadContext, call: Call) -> ToldContext:
    """Read what is known before an edit: taste, notes on a picture, recent gaps, and which vocabulary there is."""
    studio: Studio = call.app
    notes: list[dict[str, str]] = []
    if args.image_id is not None:
        studio.workspace.require_picture(args.image_id)
        notes = studio.context.notes(args.image_id)
    return ToldContext(
        taste=tuple(TasteEntry.model_validate(entry) for entry in studio.context.taste()),
        notes=tuple(Note.model_validate(entry) for entry in notes),
        recent_gaps=tuple(Gap.model_validate(entry) for entry in studio.context.gaps()[-RECENT_GAPS:]),
        vocabulary=VocabularyDigest(digest=digest(), entry_count=len(entries())),
    )


class ProposeTaste(Args):
    """What was learnt."""

    category: Category
    text: Annotated[Text, Field(description="One preference, in a sentence.")]


class Proposed(Told):
    """A proposal; nothing is written yet."""

    proposal_id: str


def propose_taste_update(args: ProposeTaste, call: Call) -> Proposed:
    """Propose something to remember about the photographer's taste. Nothing is written until it is confirmed."""
    studio: Studio = call.app
    return Proposed(proposal_id=studio.context.propose("taste", args.model_dump()))


class Confirm(Args):
    """The proposal to write."""

    proposal_id: ProposalId


def confirm_taste_update(args: Confirm, call: Call) -> TasteEntry:
    """Write a proposed taste update, after the photographer agreed. Each proposal can be confirmed once."""
    studio: Studio = call.app
    return TasteEntry.model_validate(studio.context.confirm("taste", args.proposal_id))


class ProposeNotes(Args):
    """A remark on a picture."""

    image_id: ImageId
    text: Annotated[Text, Field(description="The remark.")]


def propose_notes_update(args: ProposeNotes, call: Call) -> Proposed:
    """Propose a note on a picture. Nothing is written until it is confirmed."""
    studio: Studio = call.app
    studio.workspace.require_picture(args.image_id)
    return Proposed(proposal_id=studio.context.propose("notes", args.model_dump()))


def confirm_notes_update(args: Confirm, call: Call) -> Note:
    """Write a proposed note, after the photographer agreed. Each proposal can be confirmed once."""
    studio: Studio = call.app
    return Note.model_validate(studio.context.confirm("notes", args.proposal_id))


def add_to(tools: Toolbox) -> None:
    tools.read(read_context)
    tools.write(propose_taste_update)
    tools.write(confirm_taste_update)
    tools.write(propose_notes_update)
    tools.write(confirm_notes_update)
