"""The table of agents."""

import sqlite3

from backoffice.domain.agents import Agent, AgentStatus
from backoffice.persistence.columns import list_text, moment_text, read_list, read_moment
from backoffice.persistence.pages import read_page

TABLES = """
CREATE TABLE IF NOT EXISTS agents (
    id TEXT PRIMARY KEY,
    role TEXT NOT NULL,
    skills TEXT NOT NULL,
    status TEXT NOT NULL,
    registered_at TEXT NOT NULL
);
"""

_PAGE = """
SELECT * FROM agents
WHERE (:status IS NULL OR status = :status)
    AND (:skill IS NULL OR EXISTS (SELECT 1 FROM json_each(agents.skills) WHERE value = :skill))
ORDER BY id
"""


def page(
    db: sqlite3.Connection, *, status: AgentStatus | None, skill: str | None, offset: int, limit: int
) -> tuple[list[Agent], int]:
    return read_page(db, _PAGE, {"status": status, "skill": skill}, offset=offset, limit=limit, read=_agent)


def find(db: sqlite3.Connection, agent_id: str) -> Agent | None:
    row = db.execute("SELECT * FROM agents WHERE id = ?", (agent_id,)).fetchone()
    return None if row is None else _agent(row)


def insert(db: sqlite3.Connection, agent: Agent) -> None:
    db.execute(
        "INSERT INTO agents (id, role, skills, status, registered_at) VALUES (?, ?, ?, ?, ?)",
        (agent.id, agent.role, list_text(agent.skills), agent.status, moment_text(agent.registered_at)),
    )


def set_status(db: sqlite3.Connection, agent_id: str, status: AgentStatus) -> None:
    db.execute("UPDATE agents SET status = ? WHERE id = ?", (status, agent_id))


def _agent(row: sqlite3.Row) -> Agent:
    return Agent(
        id=row["id"],
        role=row["role"],
        skills=read_list(row, "skills"),
        status=AgentStatus(row["status"]),
        registered_at=read_moment(row, "registered_at"),
    )
