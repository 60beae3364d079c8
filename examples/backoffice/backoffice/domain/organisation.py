"""The organisation: teams and who is in them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class MemberRole(StrEnum):
    LEAD = "lead"
    MEMBER = "member"


@dataclass(frozen=True, slots=True)
class Team:
    id: int
    name: str
    purpose: str
    member_count: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Member:
    team_id: int
    agent: str
    role: MemberRole
    joined_at: datetime
