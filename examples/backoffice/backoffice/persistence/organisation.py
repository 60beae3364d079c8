"""The tables of teams and of who is in them."""

import sqlite3
from datetime import datetime

from backoffice.domain.organisation import Member, MemberRole, Team
from backoffice.persistence.columns import moment_text, read_moment
from backoffice.persistence.pages import read_page

TABLES = """
CREATE TABLE IF NOT EXISTS teams (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- a number is never given out twice
    name TEXT NOT NULL UNIQUE,
    purpose TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS team_members (
    team_id INTEGER NOT NULL REFERENCES teams (id),
    agent TEXT NOT NULL REFERENCES agents (id),
    role TEXT NOT NULL,
    joined_at TEXT NOT NULL,
    PRIMARY KEY (team_id, agent)
);
"""

_TEAMS = """
SELECT teams.*, (SELECT count(*) FROM team_members WHERE team_id = teams.id) AS member_count
FROM teams
"""


def page(db: sqlite3.Connection, *, offset: int, limit: int) -> tuple[list[Team], int]:
    return read_page(db, f"{_TEAMS} ORDER BY id", {}, offset=offset, limit=limit, read=_team)


def find(db: sqlite3.Connection, team_id: int) -> Team | None:
    row = db.execute(f"{_TEAMS} WHERE id = ?", (team_id,)).fetchone()
    return None if row is None else _team(row)


def has_name(db: sqlite3.Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM teams WHERE name = ?", (name,)).fetchone() is not None


def insert(db: sqlite3.Connection, *, name: str, purpose: str, at: datetime) -> int:
    values = (name, purpose, moment_text(at))
    cursor = db.execute("INSERT INTO teams (name, purpose, created_at) VALUES (?, ?, ?)", values)
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def rename(db: sqlite3.Connection, team_id: int, name: str) -> None:
    db.execute("UPDATE teams SET name = ? WHERE id = ?", (name, team_id))


def delete(db: sqlite3.Connection, team_id: int) -> None:
    db.execute("DELETE FROM team_members WHERE team_id = ?", (team_id,))
    db.execute("DELETE FROM teams WHERE id = ?", (team_id,))


def members(db: sqlite3.Connection, team_id: int, *, offset: int, limit: int) -> tuple[list[Member], int]:
    query = "SELECT * FROM team_members WHERE team_id = :team_id ORDER BY joined_at, agent"
    return read_page(db, query, {"team_id": team_id}, offset=offset, limit=limit, read=_member)


def find_member(db: sqlite3.Connection, team_id: int, agent: str) -> Member | None:
    query = "SELECT * FROM team_members WHERE team_id = ? AND agent = ?"
    row = db.execute(query, (team_id, agent)).fetchone()
    return None if row is None else _member(row)


def has_lead(db: sqlite3.Connection, team_id: int) -> bool:
    query = "SELECT 1 FROM team_members WHERE team_id = ? AND role = ?"
    return db.execute(query, (team_id, MemberRole.LEAD)).fetchone() is not None


def add_member(db: sqlite3.Connection, member: Member) -> None:
    values = (member.team_id, member.agent, member.role, moment_text(member.joined_at))
    db.execute("INSERT INTO team_members (team_id, agent, role, joined_at) VALUES (?, ?, ?, ?)", values)


def remove_member(db: sqlite3.Connection, team_id: int, agent: str) -> None:
    db.execute("DELETE FROM team_members WHERE team_id = ? AND agent = ?", (team_id, agent))


def _team(row: sqlite3.Row) -> Team:
    return Team(row["id"], row["name"], row["purpose"], row["member_count"], read_moment(row, "created_at"))


def _member(row: sqlite3.Row) -> Member:
    return Member(row["team_id"], row["agent"], MemberRole(row["role"]), read_moment(row, "joined_at"))
