"""How surely records are kept: what a reply waits for, and what becomes of calls while nothing can be written."""

from enum import StrEnum

# Half a million refused calls, or more than a million that went well, before anything is removed; and a disk of any
# size has room for it.
KEEP_BYTES = 1024**3
# A person who debugs an agent reads twenty of one kind in a minute, and learns nothing from the next.
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
