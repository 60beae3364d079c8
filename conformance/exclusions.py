"""Losses that are accepted, each with its reason: the committed list in exclusions.toml."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, get_args

Upstream = Literal["http", "stdio"]
UPSTREAMS: tuple[Upstream, ...] = get_args(Upstream)
_FLAGS = ("bridge", "varies")
FILE = Path(__file__).with_name("exclusions.toml")


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A check that may be lost."""

    revision: str
    upstream: Upstream
    check: str
    section: str  # of the specification, as an address
    reason: str
    bridge: bool = False  # in front of a server of the other era, and nowhere else
    varies: bool = False  # lost or not by how fast the machine is, so that its being kept says nothing


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Client scenarios that are about something a gateway is not there for; they run only when they are named."""

    revision: str
    scenarios: str  # a pattern
    section: str
    reason: str

    def covers(self, revision: str, scenario: str) -> bool:
        return self.revision == revision and fnmatchcase(scenario, self.scenarios)


def read_exclusions(path: Path = FILE) -> list[Exclusion]:
    """Raises: ValueError for an entry with a key too many or too few, or a value that is no text."""
    entries = tomllib.loads(path.read_text("utf-8")).get("exclusion", [])
    return [_exclusion(number, dict(entry)) for number, entry in enumerate(entries, 1)]


def read_left_out(path: Path = FILE) -> list[LeftOut]:
    """Raises: ValueError, as above."""
    entries = tomllib.loads(path.read_text("utf-8")).get("left_out", [])
    for number, entry in enumerate(entries, 1):
        _require_texts(f"left_out {number}", entry, {field.name for field in fields(LeftOut)})
    return [LeftOut(**entry) for entry in entries]


def _exclusion(number: int, entry: dict[str, object]) -> Exclusion:
    flags = {name: entry.pop(name) for name in _FLAGS if name in entry}
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise ValueError(f"exclusion {number}: {name} must be true or false")
    _require_texts(f"exclusion {number}", entry, {field.name for field in fields(Exclusion)} - set(_FLAGS))
    if entry["upstream"] not in UPSTREAMS:
        raise ValueError(f"exclusion {number}: upstream must be one of {', '.join(UPSTREAMS)}")
    return Exclusion(**entry, **flags)  # type: ignore[arg-type]  # each was just checked


def _require_texts(name: str, entry: Mapping[str, object], wanted: set[str]) -> None:
    if set(entry) != wanted or not all(isinstance(value, str) and value for value in entry.values()):
        raise ValueError(f"{name} must have exactly these texts: {', '.join(sorted(wanted))}")
