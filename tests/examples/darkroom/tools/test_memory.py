"""The tools for taste, notes and everything else that is read before an edit."""

import pytest

from tests.examples.darkroom.desk import Desk


@pytest.mark.requirement("002-13")
def test_read_context_is_empty_at_first(desk: Desk) -> None:
    vocabulary = desk.call("list_vocabulary")
    assert desk.call("read_context") == {
        "taste": [],
        "notes": [],
        "recent_gaps": [],
        "vocabulary": {"digest": vocabulary["digest"], "entry_count": len(vocabulary["entries"])},
    }
    assert desk.code("read_context", image_id="nobody") == "not_found"


@pytest.mark.requirement("002-13")
def test_read_context_has_the_last_ten_gaps(desk: Desk) -> None:
    for number in range(12):
        desk.call("log_vocabulary_gap", wanted=f"Gap {number}.")
    gaps = desk.call("read_context")["recent_gaps"]
    assert [gap["wanted"] for gap in gaps] == [f"Gap {number}." for number in range(2, 12)]


@pytest.mark.requirement("002-13")
def test_propose_taste_update_writes_nothing(desk: Desk) -> None:
    desk.call("propose_taste_update", category="colour", text="Warm, never orange.")
    assert desk.call("read_context")["taste"] == []
    assert desk.code("propose_taste_update", category="smell", text="x") == "invalid_input"
    assert desk.code("propose_taste_update", category="tone", text="") == "invalid_input"


@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_confirm_taste_update_writes_once(desk: Desk) -> None:
    proposal = desk.call("propose_taste_update", category="colour", text="Warm, never orange.")
    entry = {"proposal_id": proposal["proposal_id"], "category": "colour", "text": "Warm, never orange."}
    assert desk.code("confirm_notes_update", **proposal) == "not_found"
    assert desk.call("confirm_taste_update", **proposal) == entry
    assert desk.code("confirm_taste_update", **proposal) == "state_error"
    assert desk.code("confirm_taste_update", proposal_id="0" * 16) == "not_found"
    assert desk.code("confirm_taste_update", proposal_id="../taste") == "invalid_input"
    assert desk.call("read_context")["taste"] == [entry]


@pytest.mark.requirement("002-13")
def test_propose_notes_update_writes_nothing(desk: Desk) -> None:
    desk.call("ingest", path="lamp.jpg")
    desk.call("propose_notes_update", image_id="lamp", text="Keep the dark.")
    assert desk.call("read_context", image_id="lamp")["notes"] == []
    assert desk.code("propose_notes_update", image_id="nobody", text="x") == "not_found"


@pytest.mark.requirement("002-13")
@pytest.mark.requirement("002-14")
def test_confirm_notes_update_writes_once_and_for_that_picture(desk: Desk) -> None:
    for name in ("lamp.jpg", "chart.png"):
        desk.call("ingest", path=name)
    proposal = desk.call("propose_notes_update", image_id="lamp", text="Keep the dark.")
    note = {"proposal_id": proposal["proposal_id"], "image_id": "lamp", "text": "Keep the dark."}
    assert desk.code("confirm_taste_update", **proposal) == "not_found"
    assert desk.call("confirm_notes_update", **proposal) == note
    assert desk.code("confirm_notes_update", **proposal) == "state_error"
    assert desk.call("read_context", image_id="lamp")["notes"] == [note]
    assert desk.call("read_context", image_id="chart")["notes"] == []
