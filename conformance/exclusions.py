"""Losses that are accepted, each with its reason: the committed list in exclusions.toml."""

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, get_args

Upstream = Literal["http", "stdio"]
UPSTREAMS: tuple[Upstream, ...] = get_args(Upstream)
FILE = Path(__file__).with_name("exclusions.toml")


@dataclass(frozen=True, slots=True)
class Exclusion:
    revision: str
    upstream: Upstream
    check: str
    section: str  # of the specification, as an address
    reason: str


def read_exclusions(path: Path = FILE) -> list[Exclusion]:
    """Raises: ValueError for an entry with a key too many or too few, or a value that is no text."""
    entries = tomllib.loads(path.read_text("utf-8")).get("exclusion", [])
    return [_exclusion(number, entry) for number, entry in enumerate(entries, 1)]


def _exclusion(number: int, entry: dict[str, object]) -> Exclusion:
    wanted = {field.name for field in fields(Exclusion)}
    if set(entry) != wanted or not all(isinstance(value, str) and value for value in entry.values()):
        raise ValueError(f"exclusion {number} must have exactly these texts: {', '.join(sorted(wanted))}")
    if entry["upstream"] not in UPSTREAMS:
        raise ValueError(f"exclusion {number}: upstream must be one of {', '.join(UPSTREAMS)}")
    return Exclusion(**entry)  # type: ignore[arg-type]  # each was just checked
