"""Durability of records: what a reply waits for, and what happens to calls while records cannot be written."""

from enum import StrEnum

# Holds half a million refused calls, or more than a million successful ones, before records are removed; and any disk
# has room for it.
KEEP_BYTES = 1024**3
# Refusals of one kind kept in full: a person who debugs an agent learns nothing more from the twenty-first.
WHOLE_REFUSALS = 20


class Durability(StrEnum):
    """Which records must be on disk before a reply leaves."""

    DECISIONS = "decisions"
    ALL = "all"
    NONE = "none"


class OnFailure(StrEnum):
    """What happens to calls while records cannot be written."""

    REFUSE = "refuse"
    CONTINUE = "continue"
