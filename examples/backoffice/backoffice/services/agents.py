"""The rules for agents: a name is used once, and who still has work does not retire."""

import sqlite3
from collections.abc import Sequence

from backoffice.domain.agents import Agent, AgentStatus, Workload
from backoffice.domain.errors import Conflict, NotFound
from backoffice.domain.tasks import TaskStatus
from backoffice.persistence import agents as agent_table
from backoffice.persistence import tasks as task_table
from backoffice.persistence.database import Database
from backoffice.services.clock import Now


class AgentService:
    def __init__(self, db: Database, *, now: Now) -> None:
        self._db = db
        self._now = now

    async def page(
        self, *, status: AgentStatus | None = None, skill: str | None = None, offset: int, limit: int
    ) -> tuple[list[Agent], int]:
        return await self._db.read(
            lambda db: agent_table.page(db, status=status, skill=skill, offset=offset, limit=limit)
        )

    async def get(self, agent_id: str) -> Agent:
        """Raises: NotFound."""
        return await self._db.read(lambda db: existing_agent(db, agent_id))

    async def workload(self, agent_id: str) -> Workload:
        """Raises: NotFound."""

        def look(db: sqlite3.Connection) -> Workload:
            existing_agent(db, agent_id)
            counts = task_table.count_by_status(db, agent_id)
            return Workload(agent_id, *(counts.get(status, 0) for status in TaskStatus))

        return await self._db.read(look)

    async def register(self, agent_id: str, *, role: str, skills: Sequence[str]) -> Agent:
        """Raises: Conflict."""

        def work(db: sqlite3.Connection) -> Agent:
            if agent_table.find(db, agent_id) is not None:
                raise Conflict("An agent with this id is registered already. Choose another id.")
            agent = Agent(agent_id, role, tuple(dict.fromkeys(skills)), AgentStatus.ACTIVE, self._now())
            agent_table.insert(db, agent)
            return agent

        return await self._db.write(work)

    async def set_status(self, agent_id: str, status: AgentStatus) -> Agent:
        """Pause or resume. Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Agent:
            if existing_agent(db, agent_id).status is AgentStatus.RETIRED:
                raise Conflict("The agent has retired and does not come back. Register another one.")
            agent_table.set_status(db, agent_id, status)
            return existing_agent(db, agent_id)

        return await self._db.write(work)

    async def retire(self, agent_id: str) -> Agent:
        """For good. Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Agent:
            if existing_agent(db, agent_id).status is AgentStatus.RETIRED:
                raise Conflict("The agent has retired already. Nothing is left to do.")
            if task_table.count_by_status(db, agent_id).get(TaskStatus.IN_PROGRESS):
                raise Conflict("The agent still has tasks in progress. Complete them or assign them to others.")
            agent_table.set_status(db, agent_id, AgentStatus.RETIRED)
            return existing_agent(db, agent_id)

        return await self._db.write(work)


def existing_agent(db: sqlite3.Connection, agent_id: str) -> Agent:
    """Raises: NotFound."""
    agent = agent_table.find(db, agent_id)
    if agent is None:
        raise NotFound("agent")
    return agent
