"""How surely records are kept: what a reply waits for, and what becomes of calls while nothing can be written."""

from enum import StrEnum


class Durability(StrEnum):
    """Which records must be on disk before a reply leaves."""

    DECISIONS = "decisions"
    ALL = "all"
    NONE = "none"


class OnFailure(StrEnum):
    """What happens to calls while records cannot be written."""

    REFUSE = "refuse"
    CONTINUE = "continue"
