"""Approvals: spending that somebody asked for and somebody else decides on, once."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class ApprovalStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Approval:
    id: int
    title: str
    account: str
    amount_cents: int
    status: ApprovalStatus
    requested_by: str
    requested_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    comment: str
