"""Agents: those who work on tasks."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class AgentStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class Agent:
    id: str
    role: str
    skills: tuple[str, ...]
    status: AgentStatus
    registered_at: datetime


@dataclass(frozen=True, slots=True)
class Workload:
    """How much an agent has to do."""

    agent: str
    open: int
    in_progress: int
    done: int
