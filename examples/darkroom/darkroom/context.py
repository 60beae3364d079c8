"""What the darkroom remembers beside pictures: the photographer's taste, notes on a picture, gaps in the vocabulary.

Taste and notes change in two steps. A proposal writes nothing but itself; its confirmation, once, adds the entry.
"""

from pathlib import Path
from typing import Literal, TypeAlias

from darkroom.canonical import canonical, sha256_hex
from darkroom.files import exclusive
from darkroom.journal import Journal
from darkroom.refusal import Code, Refused

Subject: TypeAlias = Literal["taste", "notes"]


class Context:
    """The journals of one workspace."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = root / "context" / ".lock"
        self._proposals = Journal(root / "context" / "proposals.jsonl")
        self._gaps = Journal(root / "context" / "gaps.jsonl")
        self._taste = Journal(root / "context" / "taste.jsonl")

    def taste(self) -> list[dict[str, str]]:
        return self._taste.entries()

    def notes(self, image_id: str) -> list[dict[str, str]]:
        return self._notes(image_id).entries()

    def gaps(self) -> list[dict[str, str]]:
        return self._gaps.entries()

    def log_gap(self, entry: dict[str, str]) -> int:
        with exclusive(self._lock):
            return self._gaps.append(entry)

    def propose(self, subject: Subject, entry: dict[str, str]) -> str:
        """Keep a proposal; its id follows from what it says and how many came before it."""
        with exclusive(self._lock):
            place = len(self._proposals.entries())
            proposal_id = sha256_hex(canonical([place, subject, entry]))[:16]
            self._proposals.append({"proposal_id": proposal_id, "subject": subject, **entry})
        return proposal_id

    def confirm(self, subject: Subject, proposal_id: str) -> dict[str, str]:
        """Write what was proposed. The entry names its proposal, so one write both adds it and uses it up.

        Raises:
            Refused: not_found when there is no such proposal; state_error when it was confirmed before.
        """
        with exclusive(self._lock):
            entry = self._require_proposal(subject, proposal_id)
            journal = self._taste if subject == "taste" else self._notes(entry["image_id"])
            if any(line["proposal_id"] == proposal_id for line in journal.entries()):
                raise Refused(Code.STATE_ERROR, "That proposal was confirmed before. Propose a new update to add more.")
            journal.append(entry)
        return entry

    def _require_proposal(self, subject: Subject, proposal_id: str) -> dict[str, str]:
        for line in self._proposals.entries():
            if (line["proposal_id"], line["subject"]) == (proposal_id, subject):
                return {key: value for key, value in line.items() if key != "subject"}
        raise Refused(Code.NOT_FOUND, f"There is no {subject} proposal with that id. Propose the update first.")

    def _notes(self, image_id: str) -> Journal:
        return Journal(self._root / "images" / image_id / "notes.jsonl")
