"""A finding as data: how grave, what is wrong, what to do, where, and an id that never changes its meaning."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How grave a finding is, gravest last."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    def is_at_least(self, other: "Level") -> bool:
        order = list(Level)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, in a source file or in the definition of a tool."""

    id: str
    level: Level
    message: str
    hint: str
    file: str = ""  # as it was named, with "/" between its parts
    line: int = 0  # 0: the file as a whole
    origin: str = ""  # the server or toolbox that listed the tool, where that was no file
    tool: str = ""
    path: str = ""  # within the tool's definition: inputSchema/properties/due

    @property
    def place(self) -> str:
        """Where to look, such as `src/app.py:12` or `contacts: create_contact/inputSchema`."""
        listed = self.file or self.origin
        if self.line:
            return f"{listed}:{self.line}"
        inside = "/".join(part for part in (self.tool, self.path) if part)
        return f"{listed}: {inside}" if inside else listed


def in_order(findings: list[Finding]) -> list[Finding]:
    """Each finding once, in an order that depends on nothing but what was found."""
    return sorted(set(findings), key=_order)


def _order(finding: Finding) -> tuple[str, int, str, str, str, str]:
    return (
        finding.file or finding.origin,
        finding.line,
        finding.tool,
        finding.path,
        finding.id,
        finding.message,
    )
