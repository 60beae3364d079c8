"""Transcript: the requests and whole answers of a session, in order, as lines of JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from handfast.toolkit.testing.session import Mode
from handfast.toolkit.writing.actor import Actor

FORMAT = 1
LIST_TOOLS: Literal["tools/list"] = "tools/list"
CALL_TOOL: Literal["tools/call"] = "tools/call"


@dataclass(frozen=True, slots=True)
class Turn:
    """One request and its answer: `{"result": …}`, or `{"error": …}` for a protocol error."""

    method: str
    params: Mapping[str, Any]  # Any: JSON, in the order in which it was sent
    answer: Mapping[str, Any]  # Any: JSON, without values that differ between runs

    @property
    def name(self) -> str:
        """The tool, or the method if there is none."""
        return str(self.params.get("name", self.method))


@dataclass(frozen=True, slots=True)
class Transcript:
    """The messages of one session, with its actor and its era."""

    server: str
    turns: tuple[Turn, ...]
    mode: Mode = "2026-07-28"
    actor: Actor | None = None

    def save(self, path: str | Path) -> None:
        """Writes the transcript; the same session gives the same bytes."""
        lines = [_line(self._head()), *(_line(_written(turn)) for turn in self.turns)]
        Path(path).write_text("".join(lines), "utf-8", newline="\n")

    @classmethod
    def load(cls, path: str | Path) -> "Transcript":
        """Reads a transcript. Raises: ValueError, for a file that is not a transcript; OSError."""
        texts = Path(path).read_text("utf-8").removesuffix("\n").split("\n")
        try:
            head, *turns = [json.loads(text) for text in texts]
            if head["transcript"] != FORMAT:
                raise ValueError
            actor = Actor(**head["actor"]) if head["actor"] else None
            return cls(head["server"], tuple(map(_read, turns)), head["mode"], actor)
        except (ValueError, KeyError, TypeError, IndexError):
            raise ValueError(f"{Path(path).name} is not a transcript of this version; record it again.") from None

    def _head(self) -> dict[str, Any]:  # Any: JSON
        actor = None if self.actor is None else {"id": self.actor.id, "name": self.actor.name}
        return {"transcript": FORMAT, "server": self.server, "mode": self.mode, "actor": actor}


def _written(turn: Turn) -> dict[str, Any]:  # Any: JSON
    """A turn as JSON. Arguments keep their order, which some answers repeat; answers are sorted, for diffs."""
    return {"method": turn.method, "params": dict(turn.params), **_sorted(dict(turn.answer))}


def _read(line: dict[str, Any]) -> Turn:  # Any: JSON
    answer: dict[str, Any] = {key: line[key] for key in ("result", "error") if key in line}
    if len(answer) != 1:
        raise ValueError
    return Turn(line["method"], line["params"], answer)


def _sorted(value: Any) -> Any:  # Any: JSON
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(inner) for inner in value] if isinstance(value, list) else value


def _line(value: Mapping[str, Any]) -> str:  # Any: JSON
    text = json.dumps(value, ensure_ascii=False)
    # A lone surrogate cannot be encoded; as an escape it can be stored, and sent again.
    return f"{text if text.isascii() or _is_text(text) else json.dumps(value)}\n"


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
