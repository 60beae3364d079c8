"""Problems of settings, in one line each: where, what, and what was probably meant."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from json import dumps

Where = tuple[str, ...]

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_LONGEST_SHOWN = 64
# As many as a person mends in one go. Wording one takes up to a millisecond, in which a gateway answers nothing.
_MOST_WORDED = 10


class SettingsError(Exception):
    """Settings that are refused as a whole; one problem per line, none of them with a secret in it."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class Rank(IntEnum):
    """The order of problems: a misspelt key comes first, because it often causes the others."""

    KEY = 0
    VALUE = 1
    MISSING = 2


@dataclass(slots=True)
class Findings:
    """Collects the first problems, so that an operator mends most files in one go.

    `add` and `note` raise SettingsError once there are enough problems.
    """

    source: str = ""
    found: list[tuple[Rank, str]] = field(default_factory=list)

    def add(self, where: Where, what: str, *, rank: Rank = Rank.VALUE) -> None:
        """Notes a problem at a key of the file."""
        place = f"{render_path(where)} " if where else ""
        self.note(f"{self.source}: {place}{what}", rank=rank)

    def note(self, problem: str, *, rank: Rank = Rank.VALUE) -> None:
        """Notes a problem that lies outside the file, or comes with its place."""
        self.found.append((rank, problem))
        if len(self.found) == _MOST_WORDED:
            self.found.append((max(Rank), f"{self.source}: there may be more; mend these first"))
            self.require_none()

    def require_none(self) -> None:
        """Raises: SettingsError when anything was found."""
        if self.found:
            raise SettingsError(text for _, text in sorted(self.found, key=lambda entry: entry[0]))


def render_path(where: Where) -> str:
    """Renders `mcpServers.files.handfast`; a part that a dot would not separate is put in brackets."""
    shown = ""
    for part in where:
        if _PLAIN_NAME.match(part):
            shown += f".{part}" if shown else part
            continue
        shown += f"[{quoted(part)}]"
    return shown


def quoted(text: str) -> str:
    """Renders any text as one short line."""
    return dumps(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…", ensure_ascii=True)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant, or None when nothing is near."""
    wanted = _folded(name)
    if not wanted or len(wanted) > _LONGEST_SHOWN:
        return None
    near: list[tuple[int, str]] = []
    for candidate in known:
        folded = _folded(candidate)
        reach = _reach(folded)
        if abs(len(wanted) - len(folded)) <= reach and (slips := _distance(wanted, folded)) <= reach:
            near.append((slips, candidate))
    return min(near, key=lambda entry: entry[0])[1] if near else None


def _folded(name: str) -> str:
    """Makes `maxBytes`, `max-bytes` and `MAX_BYTES` the same name."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _reach(name: str) -> int:
    """How many slips still count as the same name; short names have many neighbours."""
    return 1 if len(name) <= 4 else 2 if len(name) <= 9 else 3


def _distance(left: str, right: str) -> int:
    """Edits between two names, where two swapped neighbours count once (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1]
