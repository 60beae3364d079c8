"""Entries that are only ever added: taste, notes, gaps in the vocabulary, proposals."""

import json
from pathlib import Path

from darkroom.canonical import canonical
from darkroom.files import write_whole


class Journal:
    """A file with one JSON object per line. It is replaced as a whole, so no line is ever torn."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def entries(self) -> list[dict[str, str]]:
        try:
            text = self._path.read_text("ascii")
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text.splitlines()]

    def append(self, entry: dict[str, str]) -> int:
        """Add an entry; its number, counted from 1."""
        entries = [*self.entries(), entry]
        write_whole(self._path, b"".join(canonical(line) + b"\n" for line in entries))
        return len(entries)
