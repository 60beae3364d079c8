"""The rules for teams: a name is used once, an agent is in a team once, and there is one lead at most."""

import sqlite3

from backoffice.domain.agents import AgentStatus
from backoffice.domain.errors import Conflict, NotFound
from backoffice.domain.organisation import Member, MemberRole, Team
from backoffice.persistence import organisation as team_table
from backoffice.persistence.database import Database
from backoffice.services.agents import existing_agent
from backoffice.services.clock import Now


class OrganisationService:
    def __init__(self, db: Database, *, now: Now) -> None:
        self._db = db
        self._now = now

    async def page(self, *, offset: int, limit: int) -> tuple[list[Team], int]:
        return await self._db.read(lambda db: team_table.page(db, offset=offset, limit=limit))

    async def get(self, team_id: int) -> Team:
        """Raises: NotFound."""
        return await self._db.read(lambda db: _existing(db, team_id))

    async def members(self, team_id: int, *, offset: int, limit: int) -> tuple[list[Member], int]:
        """Raises: NotFound."""

        def look(db: sqlite3.Connection) -> tuple[list[Member], int]:
            _existing(db, team_id)
            return team_table.members(db, team_id, offset=offset, limit=limit)

        return await self._db.read(look)

    async def create(self, *, name: str, purpose: str = "") -> Team:
        """Raises: Conflict."""

        def work(db: sqlite3.Connection) -> Team:
            _require_free_name(db, name)
            return _existing(db, team_table.insert(db, name=name, purpose=purpose, at=self._now()))

        return await self._db.write(work)

    async def rename(self, team_id: int, name: str) -> Team:
        """Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Team:
            if _existing(db, team_id).name != name:
                _require_free_name(db, name)
            team_table.rename(db, team_id, name)
            return _existing(db, team_id)

        return await self._db.write(work)

    async def add_member(self, team_id: int, agent: str, *, role: MemberRole = MemberRole.MEMBER) -> Member:
        """Raises: NotFound, Conflict."""

        def work(db: sqlite3.Connection) -> Member:
            _existing(db, team_id)
            if existing_agent(db, agent).status is AgentStatus.RETIRED:
                raise Conflict("The agent has retired. Add another one.")
            if team_table.find_member(db, team_id, agent) is not None:
                raise Conflict("The agent is in this team already. Nothing is left to do.")
            if role is MemberRole.LEAD and team_table.has_lead(db, team_id):
                raise Conflict("The team has a lead already. Remove it first, or add a member.")
            member = Member(team_id, agent, role, self._now())
            team_table.add_member(db, member)
            return member

        return await self._db.write(work)

    async def remove_member(self, team_id: int, agent: str) -> Team:
        """Raises: NotFound."""

        def work(db: sqlite3.Connection) -> Team:
            if team_table.find_member(db, team_id, agent) is None:
                raise NotFound("member of this team")
            team_table.remove_member(db, team_id, agent)
            return _existing(db, team_id)

        return await self._db.write(work)

    async def dissolve(self, team_id: int) -> Team:
        """Take a team away, with its memberships. Answers with the team as it was. Raises: NotFound."""

        def work(db: sqlite3.Connection) -> Team:
            team = _existing(db, team_id)
            team_table.delete(db, team_id)
            return team

        return await self._db.write(work)


def _existing(db: sqlite3.Connection, team_id: int) -> Team:
    team = team_table.find(db, team_id)
    if team is None:
        raise NotFound("team")
    return team


def _require_free_name(db: sqlite3.Connection, name: str) -> None:
    if team_table.has_name(db, name):
        raise Conflict("A team of this name exists already. Choose another name.")
