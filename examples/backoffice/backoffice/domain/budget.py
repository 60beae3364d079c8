"""Budgets: accounts that hold cents, and the ledger that says where they went."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class EntryKind(StrEnum):
    OPENING = "opening"
    SPENDING = "spending"
    REFUND = "refund"
    ADJUSTMENT = "adjustment"


@dataclass(frozen=True, slots=True)
class Account:
    id: str
    title: str
    balance_cents: int
    is_closed: bool
    opened_at: datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger. What leaves the account is negative."""

    id: int
    account: str
    kind: EntryKind
    amount_cents: int
    purpose: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Summary:
    """What happened on an account between two moments."""

    account: str
    since: datetime
    until: datetime
    entries: int
    spent_cents: int
    received_cents: int
