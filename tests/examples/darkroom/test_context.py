"""Taste, notes and gaps: nothing is written before it is confirmed, and then exactly once."""

import pytest

from darkroom.context import Context
from darkroom.refusal import Refused
from darkroom.studio import Studio


def code_of(context: Context, subject: str, proposal_id: str) -> str:
    with pytest.raises(Refused) as refused:
        context.confirm(subject, proposal_id)  # type: ignore[arg-type]  # "taste" or "notes"
    return refused.value.code


def test_a_proposal_changes_nothing_until_it_is_confirmed(studio: Studio) -> None:
    proposal_id = studio.context.propose("taste", {"category": "colour", "text": "Warm, never orange."})
    assert studio.context.taste() == []
    entry = studio.context.confirm("taste", proposal_id)
    assert entry == {"proposal_id": proposal_id, "category": "colour", "text": "Warm, never orange."}
    assert studio.context.taste() == [entry]


def test_a_proposal_is_confirmed_once(studio: Studio) -> None:
    proposal_id = studio.context.propose("taste", {"category": "colour", "text": "Warm."})
    studio.context.confirm("taste", proposal_id)
    assert code_of(studio.context, "taste", proposal_id) == "state_error"
    assert len(studio.context.taste()) == 1


def test_a_proposal_is_confirmed_as_what_it_is(studio: Studio) -> None:
    proposal_id = studio.context.propose("taste", {"category": "colour", "text": "Warm."})
    assert code_of(studio.context, "notes", proposal_id) == "not_found"
    assert code_of(studio.context, "taste", "0" * 16) == "not_found"
    assert studio.context.taste() == []


def test_the_same_words_twice_are_two_proposals(studio: Studio) -> None:
    entry = {"category": "colour", "text": "Warm."}
    first, second = (studio.context.propose("taste", entry) for _ in range(2))
    assert first != second
    assert [studio.context.confirm("taste", name)["text"] for name in (second, first)] == ["Warm.", "Warm."]


def test_proposals_outlive_the_process(studio: Studio) -> None:
    proposal_id = studio.context.propose("notes", {"image_id": "chart", "text": "Line one\nline two \ud83d"})
    later = Context(studio.workspace.root)
    later.confirm("notes", proposal_id)
    assert later.notes("chart") == [
        {"proposal_id": proposal_id, "image_id": "chart", "text": "Line one\nline two \ud83d"}
    ]
    assert later.notes("lamp") == []


def test_gaps_are_counted(studio: Studio) -> None:
    assert [studio.context.log_gap({"wanted": wanted}) for wanted in ("dehaze", "clarity")] == [1, 2]
    assert studio.context.gaps() == [{"wanted": "dehaze"}, {"wanted": "clarity"}]
